import numpy as np


def gap_score(in_group, out_group):
    n_in, n_out = len(in_group), len(out_group)
    variance = (n_in * np.var(in_group) + n_out * np.var(out_group)) / (n_in + n_out)
    return float((np.mean(in_group) - np.mean(out_group)) / np.sqrt(variance))
