# The search descends by recursion and climbs back edge by edge; sums are kept where the reference moves a mean.
import numpy as np


class MCTS:
    def _init_node(self, state):
        key = state.sys_act_key()
        moves = [move for move, allowed in enumerate(self.player.get_valid_moves(state)) if allowed]
        policy, value = self.player.predict(state)
        mass = sum(policy[move] for move in moves)
        self.P[key] = np.zeros(len(policy))
        for move in moves:
            self.P[key][move] = policy[move] / mass if mass > 0 else 1 / len(moves)
        self.valid_moves[key] = moves
        self.Nsa[key] = {move: 0 for move in moves}
        self.Q[key] = {move: self.configs.Q_0 for move in moves}
        self.Ns[key] = 0
        return value

    def _update(self, node, action, value):
        total = self.Nsa[node][action] * self.Q[node][action] + value
        self.Nsa[node][action] += 1
        self.Ns[node] += 1
        self.Q[node][action] = total / self.Nsa[node][action]


class OpenLoopMCTS:
    def search(self, state):
        climbed = []

        def descend(here):
            result = self.game.get_dialog_ended(here)
            if result != 0:
                return result
            key = here.sys_act_key()
            if key not in self.Ns:
                return self._init_node(here)
            action = self.find_best_action(key)[0]
            there = self._sample_transition(here, action)
            climbed.append((key, action, there))
            return descend(there)

        value = descend(state)
        received = list(edge_values(value, len(climbed)))
        while climbed:
            key, action, there = climbed.pop()
            share = received.pop()
            said = there.history[-2].utterance
            of_node = self.realization_values.setdefault(there.sys_act_key(), {})
            of_node.setdefault(said, []).append(share)
            self._update(key, action, share)
        return value
