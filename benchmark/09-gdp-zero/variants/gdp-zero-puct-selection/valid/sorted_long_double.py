import numpy as np


def find_best_action(self, hashable_state: str) -> tuple[int, float]:
    visits = np.longdouble(self.Ns[hashable_state])
    if visits == 0:
        visits = np.longdouble("1e-8")
    bounds = []
    for place, action in enumerate(self.valid_moves[hashable_state]):
        explore = np.longdouble(self.P[hashable_state][action]) * self.configs.cpuct * np.sqrt(visits)
        bound = float(self.Q[hashable_state][action] + explore / (1 + self.Nsa[hashable_state][action]))
        if bound == bound and bound != float("-inf"):
            bounds.append((-bound, place, action))
    if not bounds:
        return -1, float("-inf")
    negative, _, action = sorted(bounds)[0]
    return action, -negative
