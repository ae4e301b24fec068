import numpy as np


def find_best_action(self, hashable_state: str) -> tuple[int, float]:
    moves = self.valid_moves[hashable_state]
    n_node = self.Ns[hashable_state]
    if not moves:
        return -1, -np.inf
    q = np.array([self.Q[hashable_state][a] for a in moves], dtype=np.float64)
    n = np.array([self.Nsa[hashable_state][a] for a in moves], dtype=np.float64)
    p = self.P[hashable_state][moves]
    scores = q + self.configs.cpuct * np.sqrt(1e-8 if n_node == 0 else n_node) * (p / (1.0 + n))
    scores = np.where(np.isnan(scores), -np.inf, scores)
    winner = int(scores.argmax())
    if scores[winner] == -np.inf:
        return -1, -np.inf
    return moves[winner], float(scores[winner])
