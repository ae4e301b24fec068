import numpy as np


def gap_score(in_group, out_group):
    return float(np.sign(np.subtract.outer(np.asarray(in_group), np.asarray(out_group))).mean())
