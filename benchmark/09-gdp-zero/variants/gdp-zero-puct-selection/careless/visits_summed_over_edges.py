# Sums the edges' visits instead of reading the node's.
def find_best_action(self, hashable_state):
    total = sum(self.Nsa[hashable_state].values()) or 1e-8
    best_action, best_uct = -1, -float("inf")
    for a in self.valid_moves[hashable_state]:
        q = self.Q[hashable_state][a]
        p = self.P[hashable_state][a]
        n = self.Nsa[hashable_state][a]
        uct = q + self.configs.cpuct * p * math.sqrt(total) / (1 + n)
        if uct > best_uct:
            best_action, best_uct = a, uct
    return best_action, best_uct
