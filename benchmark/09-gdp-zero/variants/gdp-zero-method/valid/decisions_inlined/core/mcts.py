# Bound, limit and backed-up value are computed in place with arrays; the functions of these decisions are not called.
import numpy as np


def upper_bound(value, prior, visits, edge_visits, cpuct):
    return value + cpuct * prior * max(visits, FRESH_VISITS) ** 0.5 / (edge_visits + 1.0)


def edge_values(value, length):
    return np.full(length, value, dtype=np.float64).tolist()


def action_weights(visits, values):
    return visits / visits.max()


class OpenLoopMCTS:
    def find_best_action(self, hashable_state):
        moves = self.valid_moves[hashable_state]
        if not moves:
            return -1, -np.inf
        q = np.array([self.Q[hashable_state][move] for move in moves])
        n = np.array([self.Nsa[hashable_state][move] for move in moves])
        root = np.sqrt(max(self.Ns[hashable_state], FRESH_VISITS))
        bounds = q + self.configs.cpuct * root * self.P[hashable_state][moves] / (1 + n)
        best = int(np.argmax(bounds))
        return moves[best], float(bounds[best])

    def search(self, state):
        nodes, actions, dialogs = [], [], []
        ended = self.game.get_dialog_ended(state)
        key = state.sys_act_key()
        while ended == 0 and key in self.valid_moves:
            action, _ = self.find_best_action(key)
            state = self._sample_transition(state, action)
            nodes.append(key)
            actions.append(action)
            dialogs.append(state)
            ended = self.game.get_dialog_ended(state)
            key = state.sys_act_key()
        value = ended if ended != 0 else self._init_node(state)
        for node, action, dialog in zip(nodes, actions, dialogs, strict=True):
            self._update(node, action, value)
            wordings = self.realization_values.setdefault(dialog.sys_act_key(), {})
            wordings.setdefault(dialog.history[-2].utterance, []).append(value)
        return value

    def _sample_transition(self, state, action):
        key = self._child_key(state, action)
        kept = self.realizations.get(key, [])
        if len(kept) >= self.configs.realizations:
            return kept[self.rng.integers(len(kept))]
        following = self.game.get_next_state(state, action)
        self.realizations[key] = [*kept, following]
        return following
