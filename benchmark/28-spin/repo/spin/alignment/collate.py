"""Pairs of a real and a generated answer to one prompt, and their padded batches."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

#: Label of a position that belongs to no answer (prompt or padding).
LABEL_PAD_TOKEN = -100
#: Input at padded positions. Any token serves, because nothing that counts depends on it.
INPUT_PAD_TOKEN = 0


@dataclass(frozen=True)
class AnswerPair:
    """Tokens of a prompt, of the answer in the data and of the answer that the opponent wrote."""

    prompt: list[int]
    real: list[int]
    generated: list[int]


@dataclass(frozen=True)
class AnswerBatch:
    """B prompts, each followed by its answer, padded on the right."""

    input_ids: Tensor  # (B, T) int64
    labels: Tensor  # (B, T) int64, LABEL_PAD_TOKEN on prompt and padding


def collate_answers(prompts: Sequence[list[int]], answers: Sequence[list[int]]) -> AnswerBatch:
    """Put answers behind their prompts, label and pad them."""
    input_ids, labels = [], []
    for prompt, answer in zip(prompts, answers, strict=True):
        input_ids.append(torch.tensor(prompt + answer))
        labels.append(torch.tensor([LABEL_PAD_TOKEN] * len(prompt) + answer))
    return AnswerBatch(
        input_ids=pad_sequence(input_ids, batch_first=True, padding_value=INPUT_PAD_TOKEN),
        labels=pad_sequence(labels, batch_first=True, padding_value=LABEL_PAD_TOKEN),
    )


def collate_pairs(pairs: Sequence[AnswerPair]) -> AnswerBatch:
    """Join B pairs into one batch of 2B rows, so that one forward pass scores all: the real answers stand first."""
    prompts = [pair.prompt for pair in pairs]
    return collate_answers(prompts * 2, [pair.real for pair in pairs] + [pair.generated for pair in pairs])


def iterate_batches(pairs: Sequence[AnswerPair], batch_size: int, rng: Random) -> Iterator[AnswerBatch]:
    """One epoch of shuffled batches, as `collate_pairs` makes them; the last one may be smaller."""
    shuffled = rng.sample(pairs, k=len(pairs))
    for start in range(0, len(shuffled), batch_size):
        yield collate_pairs(shuffled[start : start + batch_size])
