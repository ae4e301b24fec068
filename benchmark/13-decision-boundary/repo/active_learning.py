"""Active learning in context: a model's own uncertainty decides which examples are added to its prompt."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from data_utils import Split
from get_llm_decision_boundary import predict
from icl_model import Learner, PromptedAttention
from uncertainty import select_points, uncertainty


@dataclass(frozen=True)
class ActiveConfig:
    """How examples are added.

    Attributes:
        rounds: how often examples are added.
        per_round: examples of a round, k in the paper.
        spacing: delta in the paper, in units of the features.
    """

    rounds: int = 4
    per_round: int = 8
    spacing: float = 8.0


def active_learning(
    model: Learner | PromptedAttention,
    split: Split,
    pool: np.ndarray,
    oracle: Callable[[np.ndarray], np.ndarray],
    config: ActiveConfig,
) -> Split:
    """Grow the context of a task by the paper's active learning.

    Args:
        model: its predictions decide; `predict` reads them.
        split: the task with the context to start from. It stays as it is.
        pool: (p, d), points that may be labelled.
        oracle: gives labels, int64 (k,), to points (k, d).
        config: rounds, and what each adds.

    Returns:
        A split with the grown context: the examples to start from, then the added ones in the order in which they were
        chosen. The queries are those of `split`.
    """
    for _ in range(config.rounds):
        probabilities = predict(model, split, pool)
        uncertainties = uncertainty(np.stack([1 - probabilities, probabilities], axis=1))
        chosen = select_points(pool, uncertainties, config.per_round, config.spacing)
        split = split._replace(
            context_x=np.concatenate([split.context_x, pool[chosen]]),
            context_y=np.concatenate([split.context_y, oracle(pool[chosen])]),
        )
        pool = np.delete(pool, chosen, axis=0)
    return split


def nearest_example_oracle(features: np.ndarray, labels: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """An oracle that knows all samples (n, d) of a task and their labels (n,): it answers with that of the nearest."""

    def oracle(points: np.ndarray) -> np.ndarray:
        distances = np.linalg.norm(points[:, None] - features, axis=-1)
        return labels[distances.argmin(axis=1)].astype(np.int64)

    return oracle
