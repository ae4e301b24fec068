import numpy as np


def get_delta(matrix: np.ndarray, group_option: str) -> float:
    names = GROUP_MAPPINGS[group_option]
    same = np.array([[group_of(a) == group_of(b) for b in names] for a in names], dtype=float)
    inside = (same * matrix).sum() / same.sum()
    outside = ((1 - same) * matrix).sum() / (1 - same).sum()
    return inside - outside
