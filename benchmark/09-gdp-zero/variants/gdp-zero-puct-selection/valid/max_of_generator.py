import math


def find_best_action(self, hashable_state: str) -> tuple[int, float]:
    q, n, p = (table[hashable_state] for table in (self.Q, self.Nsa, self.P))
    weight = self.configs.cpuct * math.sqrt(max(self.Ns[hashable_state], 1e-8))
    scored = ((a, float(q[a] + weight * p[a] / (n[a] + 1))) for a in self.valid_moves[hashable_state])
    allowed = (pair for pair in scored if pair[1] > -math.inf)
    return max(allowed, key=lambda pair: pair[1], default=(-1, -math.inf))
