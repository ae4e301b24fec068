"""Generated preference pairs: short film reviews from a small grammar, of which the more positive one is preferred."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

ASPECTS = ("plot", "acting", "music", "ending", "dialogue", "camerawork")
WORKS = ("film", "series", "sequel", "remake", "drama")
ADVERBS = ("really", "often", "mostly", "rather", "very")
JOINTS = ("and", "but", "yet")
POSITIVE = ("moving", "clever", "charming", "gripping", "lovely", "bright")
NEGATIVE = ("dull", "clumsy", "boring", "shallow", "tedious", "bleak")
CLOSINGS = ("so much for tonight", "that is all", "i saw it twice", "we talked about it for an hour")

#: Most clauses ("rather clever") that a review may have.
MAX_CLAUSES = 3


@dataclass(frozen=True)
class PreferencePair:
    """The start of a review with two continuations; `chosen` is the more positive one.

    All three are lists of words.
    """

    prompt: Sequence[str]
    chosen: Sequence[str]
    rejected: Sequence[str]


def vocabulary() -> list[str]:
    """Every word of the grammar, once, in a fixed order."""
    prompt_words = ["the", "of", "this", "is", *ASPECTS, *WORKS]
    closing_words = [word for closing in CLOSINGS for word in closing.split()]
    return list(dict.fromkeys([*prompt_words, *ADVERBS, *POSITIVE, *NEGATIVE, *JOINTS, *closing_words, ",", "."]))


def sentiment(words: Sequence[str]) -> int:
    """Number of positive words minus number of negative ones: the true reward of a review."""
    return sum((word in POSITIVE) - (word in NEGATIVE) for word in words)


def generate_pairs(count: int, rng: random.Random) -> list[PreferencePair]:
    """Draw `count` pairs; two continuations of one pair are drawn alike and never have the same sentiment."""
    return [_generate_pair(rng) for _ in range(count)]


def _generate_pair(rng: random.Random) -> PreferencePair:
    prompt = ["the", rng.choice(ASPECTS), "of", "this", rng.choice(WORKS), "is"]
    first = second = _generate_continuation(rng)
    while sentiment(first) == sentiment(second):
        second = _generate_continuation(rng)
    rejected, chosen = sorted((first, second), key=sentiment)
    return PreferencePair(prompt, chosen, rejected)


def _generate_continuation(rng: random.Random) -> list[str]:
    """One to three clauses, then in half of the cases a neutral closing, then a full stop."""
    words: list[str] = []
    for clause in range(rng.randint(1, MAX_CLAUSES)):
        if clause:
            words.append(rng.choice(JOINTS))
        words += [rng.choice(ADVERBS), rng.choice(POSITIVE + NEGATIVE)]
    if rng.random() < 0.5:
        words += [",", *rng.choice(CLOSINGS).split()]
    return [*words, "."]
