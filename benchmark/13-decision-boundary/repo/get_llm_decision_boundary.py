"""Where a learner changes its mind: predictions for queries, and for a grid over the whole square."""

import numpy as np
from data_utils import Split, generate_context_prompt, generate_query_prompt
from icl_model import Learner, PromptedAttention


def grid_points(size: int) -> np.ndarray:
    """Points (size * size, 2) of a grid over the square from 0 to 100, the second coordinate running fastest."""
    ticks = np.linspace(0, 100, size)
    return np.stack(np.meshgrid(ticks, ticks, indexing="ij"), axis=-1).reshape(-1, 2)


def predict(model: Learner | PromptedAttention, split: Split, points: np.ndarray) -> np.ndarray:
    """Probability of class 1 at points (p, d), with the context of `split` as examples; a prompted model reads text."""
    if isinstance(model, PromptedAttention):
        context = generate_context_prompt(split.context_x, split.context_y)
        return model.label_probabilities(context, [generate_query_prompt(point) for point in points])
    return model.predict_proba(split.context_x, split.context_y, points)


def decision_map(model: Learner | PromptedAttention, split: Split, size: int) -> np.ndarray:
    """Probabilities of class 1 on a grid, (size, size); rows are values of the first feature."""
    return predict(model, split, grid_points(size)).reshape(size, size)


def split_tasks(count: int, train_share: float) -> tuple[range, range]:
    """Indices of training and test tasks; the first ones are for training."""
    boundary = round(count * train_share)
    return range(boundary), range(boundary, count)
