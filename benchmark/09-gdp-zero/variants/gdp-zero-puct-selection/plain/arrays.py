def find_best_action(self, hashable_state):
    moves = np.array(self.valid_moves[hashable_state])
    q = np.array([self.Q[hashable_state][a] for a in moves])
    n = np.array([self.Nsa[hashable_state][a] for a in moves])
    p = self.P[hashable_state][moves]
    total = np.sqrt(self.Ns[hashable_state] + FRESH_VISITS)
    u = q + self.configs.cpuct * p * total / (1 + n)
    best = np.argmax(u)
    return moves[best], u[best]
