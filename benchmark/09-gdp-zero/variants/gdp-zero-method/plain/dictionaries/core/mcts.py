# Dictionaries of bounds, reversed backup.
import numpy as np

from core.realizations import realization_limit


def upper_bound(value, prior, visits, edge_visits, cpuct):
    return float(value + cpuct * prior * np.sqrt(visits or FRESH_VISITS) / (1 + edge_visits))


def edge_values(value, length):
    return [float(value)] * length


def action_weights(visits, values):
    return np.array(visits, dtype=float) / np.sum(visits)


class MCTS:
    def _init_node(self, state):
        node = state.sys_act_key()
        valid = np.asarray(self.player.get_valid_moves(state), dtype=bool)
        prior, value = self.player.predict(state)
        masked = np.where(valid, prior, 0.0)
        if masked.sum() <= 0:
            masked = valid.astype(float)
        self.P[node] = masked / masked.sum()
        self.valid_moves[node] = [action for action in range(len(valid)) if valid[action]]
        self.Ns[node] = 0
        self.Nsa[node] = {action: 0 for action in self.valid_moves[node]}
        self.Q[node] = {action: self.configs.Q_0 for action in self.valid_moves[node]}
        return float(value)

    def _update(self, node, action, value):
        n = self.Nsa[node][action]
        self.Q[node][action] = (self.Q[node][action] * n + value) / (n + 1)
        self.Nsa[node][action] = n + 1
        self.Ns[node] = self.Ns[node] + 1


class OpenLoopMCTS:
    def find_best_action(self, hashable_state):
        bounds = {
            action: upper_bound(
                self.Q[hashable_state][action],
                self.P[hashable_state][action],
                self.Ns[hashable_state],
                self.Nsa[hashable_state][action],
                self.configs.cpuct,
            )
            for action in self.valid_moves[hashable_state]
        }
        if not bounds:
            return -1, float("-inf")
        action = max(bounds, key=bounds.get)
        return action, bounds[action]

    def search(self, state):
        path = []
        current = state
        while True:
            ended = self.game.get_dialog_ended(current)
            if ended:
                value = ended
                break
            node = current.sys_act_key()
            if node not in self.Ns:
                value = self._init_node(current)
                break
            action, _ = self.find_best_action(node)
            current = self._sample_transition(current, action)
            path.append((node, action, current))
        values = edge_values(value, len(path))
        for index in reversed(range(len(path))):
            node, action, dialog = path[index]
            self._update(node, action, values[index])
            child = dialog.sys_act_key()
            utterance = dialog.history[-2].utterance
            if child not in self.realization_values:
                self.realization_values[child] = {}
            if utterance not in self.realization_values[child]:
                self.realization_values[child][utterance] = []
            self.realization_values[child][utterance].append(values[index])
        return value

    def _sample_transition(self, state, action):
        child = self._child_key(state, action)
        if child not in self.realizations:
            self.realizations[child] = []
        limit = realization_limit(self.Nsa[state.sys_act_key()][action], self.configs.realizations)
        if len(self.realizations[child]) < limit:
            self.realizations[child].append(self.game.get_next_state(state, action))
            return self.realizations[child][-1]
        index = int(self.rng.integers(len(self.realizations[child])))
        return self.realizations[child][index]
