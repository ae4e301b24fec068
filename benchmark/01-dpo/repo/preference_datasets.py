"""Preference pairs: reading them, turning text into tokens and labels, and collating batches."""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from utils import pad_to_length

# Text is tokenised into its UTF-8 bytes. Two control characters, which text does not contain, serve as special tokens.
VOCABULARY_SIZE = 256
PAD_TOKEN = 0
END_TOKEN = 3

#: Label of a position that belongs to no response (prompt or padding).
IGNORE_LABEL = -100


@dataclass(frozen=True)
class PreferencePair:
    """A prompt with the response that people prefer (chosen) and the one that they do not (rejected)."""

    prompt: str
    chosen: str
    rejected: str


@dataclass(frozen=True)
class PreferenceBatch:
    """B pairs as tensors; chosen and rejected responses are padded separately, to lengths T_w and T_l."""

    chosen_input_ids: Tensor  # (B, T_w) int64
    chosen_labels: Tensor  # (B, T_w) int64, IGNORE_LABEL on prompt and padding
    rejected_input_ids: Tensor  # (B, T_l) int64
    rejected_labels: Tensor  # (B, T_l) int64, IGNORE_LABEL on prompt and padding


def load_pairs(path: Path) -> list[PreferencePair]:
    """Read one JSON object a line, with the keys `prompt`, `chosen` and `rejected`."""
    with path.open(encoding="utf-8") as lines:
        return [PreferencePair(**json.loads(line)) for line in lines]


def split_pairs(
    pairs: list[PreferencePair], held_out: int, seed: int
) -> tuple[list[PreferencePair], list[PreferencePair]]:
    """Shuffle and split into training pairs and `held_out` pairs for evaluation."""
    shuffled = random.Random(seed).sample(pairs, k=len(pairs))
    return shuffled[held_out:], shuffled[:held_out]


def tokenize_response(prompt: str, response: str) -> tuple[Tensor, Tensor]:
    """Tokenise a prompt and one response to it.

    Returns:
        input_ids: (T,) tokens of the prompt, the response and the end token.
        labels: (T,) the same tokens, with IGNORE_LABEL in place of the prompt.
    """
    prompt_tokens = list(f"Q: {prompt}\nA: ".encode())
    response_tokens = [*response.encode(), END_TOKEN]
    input_ids = torch.tensor(prompt_tokens + response_tokens)
    labels = torch.tensor([IGNORE_LABEL] * len(prompt_tokens) + response_tokens)
    return input_ids, labels


def collate(pairs: list[PreferencePair]) -> PreferenceBatch:
    """Tokenise and pad a list of pairs."""
    chosen = [tokenize_response(pair.prompt, pair.chosen) for pair in pairs]
    rejected = [tokenize_response(pair.prompt, pair.rejected) for pair in pairs]
    return PreferenceBatch(
        chosen_input_ids=_stack([input_ids for input_ids, _ in chosen], PAD_TOKEN),
        chosen_labels=_stack([labels for _, labels in chosen], IGNORE_LABEL),
        rejected_input_ids=_stack([input_ids for input_ids, _ in rejected], PAD_TOKEN),
        rejected_labels=_stack([labels for _, labels in rejected], IGNORE_LABEL),
    )


def iterate_batches(pairs: list[PreferencePair], batch_size: int, rng: random.Random) -> Iterator[PreferenceBatch]:
    """One epoch of shuffled batches; the last one may be smaller."""
    shuffled = rng.sample(pairs, k=len(pairs))
    for start in range(0, len(shuffled), batch_size):
        yield collate(shuffled[start : start + batch_size])


def _stack(sequences: list[Tensor], padding: int) -> Tensor:
    longest = max(sequence.size(0) for sequence in sequences)
    return torch.stack([pad_to_length(sequence, longest, padding) for sequence in sequences])
