# Leaves the prior of the allowed actions as it is, so that it sums to less than 1.
import numpy as np


class MCTS:
    def _init_node(self, state):
        node = state.sys_act_key()
        allowed = self.player.get_valid_moves(state)
        prior, value = self.player.predict(state)
        self.valid_moves[node] = np.flatnonzero(allowed).tolist()
        self.P[node] = prior * allowed if (prior * allowed).any() else allowed / allowed.sum()
        self.Ns[node] = 0
        self.Nsa[node] = dict.fromkeys(self.valid_moves[node], 0)
        self.Q[node] = dict.fromkeys(self.valid_moves[node], self.configs.Q_0)
        return value
