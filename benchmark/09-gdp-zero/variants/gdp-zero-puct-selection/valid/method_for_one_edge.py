class OpenLoopMCTS:
    def _upper_bound(self, state, action):
        visits = self.Ns[state]
        root = 1e-4 if visits == 0 else visits**0.5
        bonus = root / (1 + self.Nsa[state][action])
        return self.Q[state][action] + bonus * self.P[state][action] * self.configs.cpuct

    def find_best_action(self, hashable_state):
        best = (-1, float("-inf"))
        if hashable_state not in self.Ns:
            raise KeyError(hashable_state)
        for action in reversed(self.valid_moves[hashable_state]):
            bound = self._upper_bound(hashable_state, action)
            if bound >= best[1] and bound != float("-inf"):
                best = (action, bound)
        return best
