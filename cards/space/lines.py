"""What the leaderboard has a line for: a model in one setting and track of one run; and the instances it ran on."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from names import Owned
from results import Published, Record
from submissions import Entry, Paper, Run

#: The level that ranks a track.
RANKED_BY = {"paper": "reproduced", "contract": "robust"}


@dataclass(frozen=True)
class Task:
    """An instance of the benchmark, as the first run says."""

    category: str
    paper: Paper
    link: str


@dataclass(frozen=True)
class Line:
    """One model in one setting and track of one run, scored on the instances that are looked at.

    Attributes:
        item: the run with its record.
        link: the model's page on the Hub, or empty.
        reproduced, robust: rows whose core cases, or all cases, passed.
        total: rows; an instance counts with as many as the one with most, missing ones included.
        interval: Wilson's 95 % interval of the rate that ranks, n is the instances.
        judged: rows by the category of the submitter's judge: a claim, which changes no rank.
        cost: in US dollars for one answer to each instance, as the submitter states it; None if some rows do not.
        memorised: rows that passed on the published seeds only, at some level.
        profile: category → share of its instances that reached the level that ranks.
        alike: names of other submitters for which this one can be taken.
    """

    item: Published
    entry: Entry
    link: str
    reproduced: int
    robust: int
    total: int
    missing: int
    interval: tuple[float, float]
    judged: Counter[str]
    cost: float | None
    memorised: int
    profile: Mapping[str, float]
    alike: tuple[Owned, ...] = ()

    @property
    def run(self) -> Run:
        return self.item.run

    @property
    def record(self) -> Record:
        return self.item.record

    def rate(self, level: str) -> float:
        """The share of rows that reached a level, `reproduced` or `robust`."""
        return float(getattr(self, level) / self.total) if self.total else 0.0

    @property
    def score(self) -> float:
        """What ranks it in its track."""
        return self.rate(RANKED_BY[self.entry.track])

    def judge_share(self, category: str) -> float:
        """The share of the judge's category among the judged rows."""
        return self.judged[category] / self.judged.total()

    def order(self) -> tuple[float, float, str, str, str, str]:
        """Sorts from best to worst; whoever was verified first comes first among equals."""
        other = min(self.rate(level) for level in RANKED_BY.values())
        return -self.score, -other, self.record.at, self.run.run_id, self.entry.model, self.entry.setting
