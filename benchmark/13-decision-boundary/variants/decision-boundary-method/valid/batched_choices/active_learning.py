# Keeps indices of the open points instead of a shrinking pool.
import numpy as np


def active_learning(model, split, pool, oracle, config):
    open_points = list(range(len(pool)))
    xs, ys = [split.context_x], [split.context_y]
    for _ in range(config.rounds):
        present = Split(np.concatenate(xs), np.concatenate(ys), split.query_x, split.query_y)
        p = predict(model, present, pool[open_points])
        order = select_points(
            pool[open_points], uncertainty(np.column_stack([1 - p, p])), config.per_round, config.spacing
        )
        taken = [open_points[index] for index in order]
        xs.append(pool[taken])
        ys.append(oracle(pool[taken]))
        open_points = [index for index in open_points if index not in set(taken)]
    return Split(np.concatenate(xs), np.concatenate(ys), split.query_x, split.query_y)
