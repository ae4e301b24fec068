"""Shares with Wilson's interval, how both are printed, the order of scores, and Cohen's kappa.

The module imports the standard library alone: the leaderboard Space gets a copy of it
(`cards/space`).
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal, get_args

REPRODUCED, ROBUST = "reproduced", "robust"
#: A model sees instruction, paper and repository; in the track `contract` also the contract.
Track = Literal["paper", "contract"]
PAPER, CONTRACT = TRACKS = get_args(Track)

Interval = tuple[float, float]


@dataclass(frozen=True)
class Share:
    """A part of a whole, with its 95% interval.

    Answers to one instance resemble each other. Where several are counted, `units` is the number of
    instances, and the interval is that of the same share of `units` independent answers.
    """

    part: int
    whole: int
    units: int | None = None
    """Independent units in the whole; None if each of its items is one."""

    @classmethod
    def of(cls, hits: Iterable[bool]) -> "Share":
        """Count hits among independent items."""
        items = list(hits)
        return cls(sum(items), len(items))

    @classmethod
    def clustered(cls, hits: Iterable[tuple[Hashable, bool]]) -> "Share":
        """Count hits among items, each given with the unit that it belongs to."""
        items = list(hits)
        units = {unit for unit, _ in items}
        return cls(sum(hit for _, hit in items), len(items), len(units))

    @property
    def value(self) -> float | None:
        """The share, from 0 to 1; None for an empty whole."""
        return self.part / self.whole if self.whole else None

    @property
    def interval(self) -> Interval:
        """Wilson's 95% interval, from 0 to 1."""
        if not self.whole:
            return wilson(0, 0)
        units = self.whole if self.units is None else self.units
        return wilson(self.part * units / self.whole, units)

    @property
    def percent(self) -> str:
        """The share in percent; a dash for an empty whole."""
        return percent(self.value)

    @property
    def fraction(self) -> str:
        """The share in percent and as a fraction: "66.7% (2/3)"."""
        return f"{self.percent} ({self.part}/{self.whole})" if self.whole else "-"

    @property
    def bounds(self) -> str:
        """The interval in percent: "21 - 94"."""
        return bounds(self.interval if self.whole else None)

    def as_dict(self) -> dict[str, Any]:
        """Part, whole, share and interval, for JSON; unrounded."""
        return {"part": self.part, "whole": self.whole, "share": self.value, "ci95": self.interval}


def wilson(passed: float, total: float) -> Interval:
    """Return Wilson's 95% interval of a share (Wilson 1927, Eq. 1), which holds for few items, too.

    Returns:
        Lower and upper bound; (0, 1) if `total` is 0.
    """
    if total == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.975)
    share = passed / total
    centre = share + z * z / (2 * total)
    half = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    return max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale)


def percent(share: float | None) -> str:
    """Print a share in percent, with one digit; a dash for None."""
    return "-" if share is None else f"{100 * share:.1f}%"


def bounds(interval: Interval | None) -> str:
    """Print an interval of shares in percent, without digits; a dash for None."""
    return "-" if interval is None else f"{100 * interval[0]:.0f} - {100 * interval[1]:.0f}"


def kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Return Cohen's kappa (Cohen 1960): the agreement of two raters beyond chance, from -1 to 1.

    Args:
        first, second: the labels that each rater gave to the same items.

    Returns:
        None where it is not defined: without items, or where both raters always give one and the
        same label.
    """
    if not first:
        return None
    observed = sum(a == b for a, b in zip(first, second, strict=True)) / len(first)
    counts = Counter(second)
    pairs = sum(number * counts[label] for label, number in Counter(first).items())
    chance = pairs / len(first) ** 2
    return (observed - chance) / (1 - chance) if chance < 1 - 1e-12 else None


def ranking_level(track: str) -> str:
    """Return the level that ranks a track: the paper track hides the contract that robust needs."""
    return REPRODUCED if track == PAPER else ROBUST


def ranking_key(track: str, reproduced: float, robust: float) -> tuple[float, float]:
    """Return a key that sorts the scores of a track from best to worst."""
    return (-reproduced, -robust) if ranking_level(track) == REPRODUCED else (-robust, -reproduced)
