def find_best_action(self, hashable_state: str) -> tuple[int, float]:
    s = hashable_state
    n_s = max(self.Ns[s], FRESH_VISITS)
    bounds = {}
    for a, q in self.Q[s].items():
        bounds[a] = q + self.configs.cpuct * self.P[s][a] * math.sqrt(n_s) / (1 + self.Nsa[s][a])
    if not bounds:
        return -1, -math.inf
    best = sorted(bounds, key=bounds.get)[-1]
    return best, bounds[best]
