import numpy as np


def active_learning(model, split, pool, oracle, config):
    for _ in range(config.rounds):
        p = predict(model, split, pool)
        h = uncertainty(np.stack([1 - p, p], 1))
        idx = select_points(pool, h, config.per_round, config.spacing)
        new = pool[idx]
        split = Split(
            np.vstack([split.context_x, new]), np.hstack([split.context_y, oracle(new)]), split.query_x, split.query_y
        )
        keep = np.ones(len(pool), bool)
        keep[idx] = False
        pool = pool[keep]
    return split
