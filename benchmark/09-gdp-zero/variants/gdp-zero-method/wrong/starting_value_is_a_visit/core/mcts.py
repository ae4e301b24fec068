# Averages the starting value with the visits, as if it were one of them.
class MCTS:
    def _update(self, node, action, value):
        self.Ns[node] += 1
        self.Nsa[node][action] += 1
        self.Q[node][action] += (value - self.Q[node][action]) / (self.Nsa[node][action] + 1)
