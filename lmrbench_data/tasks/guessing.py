"""Choices that answers settle, beside the shares that need no paper: guessing and reciting."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple


class SettledChoice(NamedTuple):
    """An altered or open choice of a row, as one answer decided it."""

    is_settled: bool
    """Whether the answer implements the true option."""
    options: int
    """The number of options, the published one included."""
    is_published: bool
    """Whether the true option is the published one."""

    @classmethod
    def of(cls, choice: Mapping[str, Any]) -> "SettledChoice":
        """Return a choice of a result row."""
        return cls(choice["reading"] == "stated", choice["options"], choice["published"])


def chance(choices: Sequence[SettledChoice]) -> float:
    """Return the expected share of choices that a guess among the options settles."""
    return _mean(1 / choice.options for choice in choices)


def reciting(choices: Sequence[SettledChoice]) -> float:
    """Return the share of choices that the published method settles."""
    return _mean(choice.is_published for choice in choices)


def corrected(choices: Sequence[SettledChoice]) -> float | None:
    """Return the share of settled choices, corrected by the larger one of `chance` and `reciting`.

    0 is what needs no paper, 1 is all; None if nothing is left to settle.
    """
    base = max(chance(choices), reciting(choices))
    if not choices or base == 1:
        return None
    settled = _mean(choice.is_settled for choice in choices)
    return (settled - base) / (1 - base)


def by_truth(choices: Sequence[SettledChoice]) -> dict[bool, tuple[int, int]]:
    """Return settled and all choices by whether the true option is the published one."""
    counts = {}
    for truth in (True, False):
        settled = [item.is_settled for item in choices if item.is_published == truth]
        counts[truth] = (sum(settled), len(settled))
    return counts


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else 0.0
