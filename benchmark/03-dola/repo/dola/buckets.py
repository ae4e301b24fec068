"""Buckets: the ranges of layers that dynamic decoding may choose from, and their quality on validation data."""

from collections.abc import Sequence

import torch
from torch import Tensor

from dola.model import EarlyExitLM
from dola.scoring import Question, question_quality


def layer_buckets(num_layers: int, count: int) -> list[list[int]]:
    """Candidates for the premature layer in each bucket of a model.

    Args:
        num_layers: N of the paper, the number of blocks.
        count: B of the paper, at least 1.

    Returns:
        `count` lists of layers, each in ascending order, the lowest bucket first. A list is empty where its range holds
        no candidate.
    """
    return [
        [layer for layer in range(0, num_layers, 2) if index * num_layers <= layer * count < (index + 1) * num_layers]
        for index in range(count)
    ]


def bucket_scores(
    model: EarlyExitLM,
    questions: Sequence[Question],
    buckets: Sequence[Sequence[int]],
    mature_layer: int,
    relative_top: float = 0.1,
) -> Tensor:
    """Validation score of each bucket, by which the bucket for a task is picked: the larger the better.

    Args:
        model: the model.
        questions: validation data, at least one question.
        buckets: candidates of each bucket, none of them empty.
        mature_layer, relative_top: as in `dola_greedy_decode`.

    Returns:
        (number of buckets,), in the dtype of the model's logits.
    """
    return torch.stack(
        [
            torch.stack(
                [question_quality(model, question, mature_layer, None, bucket, relative_top) for question in questions]
            ).mean()
            for bucket in buckets
        ]
    )
