# Keeps the spacing from the examples in the context as well.
import numpy as np


def active_learning(model, split, pool, oracle, config):
    for _ in range(config.rounds):
        distances = np.linalg.norm(pool[:, None] - split.context_x, axis=-1).min(axis=1)
        pool = pool[distances >= config.spacing]
        if not len(pool):
            break
        probabilities = predict(model, split, pool)
        uncertainties = uncertainty(np.stack([1 - probabilities, probabilities], axis=1))
        chosen = select_points(pool, uncertainties, config.per_round, config.spacing)
        split = split._replace(
            context_x=np.concatenate([split.context_x, pool[chosen]]),
            context_y=np.concatenate([split.context_y, oracle(pool[chosen])]),
        )
        pool = np.delete(pool, chosen, axis=0)
    return split
