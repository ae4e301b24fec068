"""Generated outputs of imaginary systems for generated references, with ratings made up along with them."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from bert_score.corpus import FRAMES, SLOTS, slots_of

#: What a rater takes off for a word that is another one of the same meaning, and for a wrong word.
SYNONYM_COST, ERROR_COST = 0.3, 2.0


@dataclass(frozen=True)
class Slotted:
    """A sentence as its frame and the words that fill it."""

    frame: str
    words: dict[str, str]

    def __str__(self) -> str:
        return self.frame.format(**self.words)


@dataclass(frozen=True)
class Outputs:
    """Outputs of S systems for N references.

    Attributes:
        candidates: S lists of N texts.
        ratings: (S, N), higher for better outputs.
    """

    candidates: list[list[str]]
    ratings: Tensor


def make_slotted(sentences: int, seed: int) -> list[Slotted]:
    """Random sentences on random frames."""
    rng = random.Random(seed)
    frames = [rng.choice(FRAMES) for _ in range(sentences)]
    return [Slotted(frame, {name: rng.choice(SLOTS[name]) for name in slots_of(frame)}) for frame in frames]


def paraphrase(sentence: Slotted, rng: random.Random) -> Slotted:
    """The same sentence with other words of the same meaning."""
    return Slotted(sentence.frame, {name: rng.choice(SLOTS[name]) for name in sentence.words})


def make_systems(references: Sequence[Slotted], error_rates: Sequence[float], seed: int) -> Outputs:
    """Let a system for each error rate write one candidate for each reference.

    A system replaces some words by others of the same meaning, and its share of errors by words of another slot.
    Candidates with the same words for the same reference have the same rating.
    """
    rng = random.Random(seed)
    outputs = [[_garble(reference, rate, rng) for reference in references] for rate in error_rates]
    ratings = [[_rate(*pair, seed) for pair in zip(references, row, strict=True)] for row in outputs]
    return Outputs([list(map(str, row)) for row in outputs], torch.tensor(ratings))


def _garble(reference: Slotted, error_rate: float, rng: random.Random) -> Slotted:
    """A candidate for a reference."""
    words = {}
    for name, word in reference.words.items():
        if rng.random() < error_rate:
            words[name] = rng.choice(SLOTS[rng.choice([other for other in SLOTS if other != name])])
        else:
            words[name] = rng.choice([word, rng.choice(SLOTS[name])])
    return Slotted(reference.frame, words)


def _rate(reference: Slotted, candidate: Slotted, seed: int) -> float:
    """Rating of a candidate by somebody who is not quite reliable."""
    rating = 5 + random.Random(f"{seed} {reference} {candidate}").gauss(0, 0.3)
    for name, word in candidate.words.items():
        if word != reference.words[name]:
            rating -= SYNONYM_COST if word in SLOTS[name] else ERROR_COST
    return rating
