# Starts from the first action, so that an empty list gives no result of the right kind.
def find_best_action(self, hashable_state):
    total = self.Ns[hashable_state] or 1e-8
    best_action, best_uct = None, None
    for a in self.valid_moves[hashable_state]:
        q = self.Q[hashable_state][a]
        p = self.P[hashable_state][a]
        n = self.Nsa[hashable_state][a]
        uct = q + self.configs.cpuct * p * math.sqrt(total) / (1 + n)
        if best_uct is None or uct > best_uct:
            best_action, best_uct = a, uct
    return best_action, best_uct
