# Considers all actions of the prior, with defaults for those that are not listed.
def find_best_action(self, hashable_state):
    total = self.Ns[hashable_state] or 1e-8
    best_action, best_uct = -1, -float("inf")
    for a in range(len(self.P[hashable_state])):
        q = self.Q[hashable_state].get(a, 0.0)
        p = self.P[hashable_state][a]
        n = self.Nsa[hashable_state].get(a, 0)
        uct = q + self.configs.cpuct * p * math.sqrt(total) / (1 + n)
        if uct > best_uct:
            best_action, best_uct = a, uct
    return best_action, best_uct
