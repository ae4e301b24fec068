"""A scored model: one model in one setting and track of one run, with its scores; and the task of each instance."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from base.ranking import ranking_key, ranking_level
from results_dataset import Published, Record
from submitted_run import Paper, SubmittedModel, SubmittedRun


@dataclass(frozen=True)
class Task:
    """An instance of the benchmark, as the first run describes it."""

    category: str
    paper: Paper
    link: str


@dataclass(frozen=True)
class ScoredModel:
    """A submitted model, scored on the instances that the filters leave.

    Attributes:
        item: the run with its record.
        link: the model's page on the Hub, or empty.
        reproduced, robust: number of rows whose core cases, or all cases, passed.
        total: number of rows, missing ones included; each instance counts as many as the one with the most samples.
        interval: Wilson's 95 % interval of the ranking rate; n is the number of instances.
        judged: rows by the submitter's judge category: a claim, which never changes a rank.
        cost: US dollars for one answer to each instance, as the submitter states; None if any row lacks it.
        memorised: rows that passed on the published seeds only, at either level.
        choices: altered and open choices over all samples, those as the paper has them, and what guessing gets.
        profile: category → rows that reached the ranking level, and all its rows.
    """

    item: Published
    entry: SubmittedModel
    link: str
    reproduced: int
    robust: int
    total: int
    missing: int
    interval: tuple[float, float]
    judged: Counter[str]
    cost: float | None
    memorised: int
    choices: tuple[int, int, float]
    profile: Mapping[str, tuple[int, int]]

    @property
    def run(self) -> SubmittedRun:
        return self.item.run

    @property
    def record(self) -> Record:
        return self.item.record

    def rate(self, level: str) -> float:
        """Return the share of rows that reached a level, `reproduced` or `robust`."""
        return float(getattr(self, level) / self.total) if self.total else 0.0

    @property
    def score(self) -> float:
        """The rate that ranks the model in its track."""
        return self.rate(ranking_level(self.entry.track))

    def judge_share(self, category: str) -> float:
        """Return the share of a judge category among the judged rows."""
        return self.judged[category] / self.judged.total()

    def order(self) -> tuple[float, float, str, str, str, str]:
        """Return a key that sorts from best to worst; among equals the one verified first comes first."""
        rates = ranking_key(self.entry.track, self.rate("reproduced"), self.rate("robust"))
        return *rates, self.record.at, self.run.run_id, self.entry.model, self.entry.setting
