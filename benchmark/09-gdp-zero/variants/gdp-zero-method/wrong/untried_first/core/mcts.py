# Tries every action once before bounds are compared, as UCB1 does.
class OpenLoopMCTS:
    def find_best_action(self, hashable_state):
        s = hashable_state
        bounds = {
            a: upper_bound(self.Q[s][a], self.P[s][a], self.Ns[s], self.Nsa[s][a], self.configs.cpuct)
            for a in self.valid_moves[s]
        }
        untried = [a for a in bounds if self.Nsa[s][a] == 0]
        best = max(untried or bounds, key=bounds.get, default=-1)
        return best, bounds.get(best, float("-inf"))
