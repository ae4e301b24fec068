# The whole search in few lines.
import math

import numpy as np

from core.realizations import realization_limit


def upper_bound(value, prior, visits, edge_visits, cpuct):
    n = visits if visits > 0 else FRESH_VISITS
    return value + cpuct * prior * math.sqrt(n) / (1 + edge_visits)


def edge_values(value, length):
    return [value for _ in range(length)]


def action_weights(visits, values):
    return visits.astype(float)


class MCTS:
    def _init_node(self, state):
        s = state.sys_act_key()
        mask = self.player.get_valid_moves(state)
        p, v = self.player.predict(state)
        p = p * mask
        p = p / p.sum() if p.sum() > 0 else mask / mask.sum()
        moves = [int(a) for a in np.where(mask)[0]]
        self.valid_moves[s] = moves
        self.P[s] = p
        self.Ns[s] = 0
        self.Nsa[s] = {a: 0 for a in moves}
        self.Q[s] = {a: self.configs.Q_0 for a in moves}
        return v

    def _update(self, node, action, value):
        n, q = self.Nsa[node][action], self.Q[node][action]
        self.Q[node][action] = q + (value - q) / (n + 1)
        self.Nsa[node][action] += 1
        self.Ns[node] += 1


class OpenLoopMCTS:
    def find_best_action(self, hashable_state):
        s = hashable_state
        best, best_u = -1, float("-inf")
        for a in self.valid_moves[s]:
            u = upper_bound(self.Q[s][a], self.P[s][a], self.Ns[s], self.Nsa[s][a], self.configs.cpuct)
            if u > best_u:
                best, best_u = a, u
        return best, best_u

    def search(self, state):
        path = []
        while True:
            v = self.game.get_dialog_ended(state)
            if v != 0:
                break
            s = state.sys_act_key()
            if s not in self.valid_moves:
                v = self._init_node(state)
                break
            a, _ = self.find_best_action(s)
            state = self._sample_transition(state, a)
            path.append((s, a, state))
        for (s, a, h), x in zip(path, edge_values(v, len(path))):
            self._update(s, a, x)
            said = [turn.utterance for turn in h.history if turn.role == h.SYS][-1]
            self.realization_values.setdefault(h.sys_act_key(), {}).setdefault(said, []).append(x)
        return v

    def _sample_transition(self, state, action):
        key = self._child_key(state, action)
        kept = self.realizations.setdefault(key, [])
        n = self.Nsa[state.sys_act_key()][action]
        if len(kept) < realization_limit(n, self.configs.realizations):
            new = self.game.get_next_state(state, action)
            kept.append(new)
            return new
        return kept[self.rng.integers(len(kept))]
