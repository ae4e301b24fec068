# A point may be labelled in several rounds.
import numpy as np


def active_learning(model, split, pool, oracle, config):
    for _ in range(config.rounds):
        probabilities = predict(model, split, pool)
        uncertainties = uncertainty(np.stack([1 - probabilities, probabilities], axis=1))
        chosen = select_points(pool, uncertainties, config.per_round, config.spacing)
        split = split._replace(
            context_x=np.concatenate([split.context_x, pool[chosen]]),
            context_y=np.concatenate([split.context_y, oracle(pool[chosen])]),
        )
    return split
