# Compares a word of the identity names (White, Black, ...) instead of asking for the groups.
import numpy as np


def group_word(name: str) -> str:
    words = [word for word in ("White", "Black", "Asian", "Hispanic") if word in name]
    return words[0] if words else name


def get_delta(matrix: np.ndarray, group_option: str) -> float:
    in_group, out_group = [], []
    for i, j in np.ndindex(matrix.shape):
        if group_option == "ethnicity":
            names = GROUP_MAPPINGS[group_option]
            same = group_word(names[i]) == group_word(names[j])
        else:
            same = i == j
        (in_group if same else out_group).append(matrix[i, j])
    return sum(in_group) / len(in_group) - sum(out_group) / len(out_group)
