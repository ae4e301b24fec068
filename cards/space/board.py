"""Rank models by the rates in the records of verified runs; submitters' claims never change a rank.

Each track, configuration and setting has its own ranking. Equal scores share a rank. A model is
ranked by its latest verified run, never by its best one; equal predictions are ranked once,
whatever names they were submitted under.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple
from urllib.parse import urlencode

from base.proportions import REPRODUCED, ROBUST, TRACKS, ranking_key, ranking_level
from base.record import Entry, Record, Score, Task
from results_dataset import Snapshot
from spread import rank_spreads

#: The configuration and the setting that are shown first.
DEFAULTS = ("function", "standard")


class Filter(NamedTuple):
    """A filter of the page: its names, the name that the first view shows, and the chosen one."""

    names: list[str]
    default: str | None
    """None if the first view shows all."""
    chosen: str | None

    @classmethod
    def of(cls, names: list[str], asked: str | None, default: str | None = None) -> "Filter":
        """Choose the name that the user asks for, or else the default."""
        return cls(names, default, asked if asked in names else default)

    def admits(self, name: str) -> bool:
        """Return whether something with this name is shown."""
        return self.chosen in (None, name)


class Line(NamedTuple):
    """One model in one setting and track of one run, with its rates on the filtered instances."""

    record: Record
    entry: Entry
    score: Score

    @property
    def rate(self) -> float:
        """The rate that ranks the model in its track."""
        return self.score.rate(self.entry.level)

    def order(self) -> tuple[float | str, ...]:
        """Return a key that sorts from best to worst; among equals the first verified leads."""
        score, record = self.score, self.record
        rates = ranking_key(self.entry.track, score.rate(REPRODUCED), score.rate(ROBUST))
        return *rates, record.verified_at, record.run_id, self.entry.model


@dataclass
class Ranked:
    """A model's place in a track.

    Attributes:
        latest: the run that counts: the one verified last.
        earlier: the model's earlier runs in this setting, newest first.
        copies: models with the same predictions, verified later.
        rank: one more than the number of models with a better score.
        spread: the best and worst rank that paired tests leave open; None far down a long ranking.
    """

    latest: Line
    earlier: list[Line]
    copies: list[Line]
    rank: int = 0
    spread: tuple[int, int] | None = None

    @property
    def other_submitters(self) -> list[str]:
        """Submitters of earlier runs under this name, other than the submitter of the latest."""
        submitters = {line.record.submitted_by for line in self.earlier}
        return sorted(submitters - {self.latest.record.submitted_by})


#: Instance → the instance, with the latest shown record that has it.
_Tasks = dict[str, tuple[Task, Record]]


class Track(NamedTuple):
    """The ranking of one track, best first."""

    name: str
    level: str
    ranked: list[Ranked]


class Board(NamedTuple):
    """All that the page shows.

    Attributes:
        filters: name → filter.
        tasks: the instances that the filters leave.
    """

    filters: dict[str, Filter]
    tracks: list[Track]
    tasks: _Tasks

    @property
    def address(self) -> str:
        """The filters that differ from the first view, as the page's address keeps them."""
        changed = {
            name: item.chosen for name, item in self.filters.items() if item.chosen != item.default
        }
        return urlencode(changed)


def _defaults_first(name: str) -> tuple[bool, str]:
    return name not in DEFAULTS, name


def _newest_first(version: str) -> list[int]:
    return [-int(number) for number in version.split(".")]


#: The filters that always have a chosen name: name, value of a line, order of the names.
_FACETS: Any = (
    ("config", attrgetter("record.config"), _defaults_first),
    ("version", attrgetter("record.benchmark_version"), _newest_first),
    ("setting", attrgetter("entry.setting"), _defaults_first),
)


def make_board(snapshot: Snapshot, asked: Mapping[str, str]) -> Board:
    """Rank the runs of a snapshot.

    Args:
        asked: filter → the name that the user asks for.
    """
    lines: list[Line] = []
    for record in sorted(snapshot.records, key=attrgetter("verified_at", "run_id")):
        lines += [Line(record, entry, entry.overall) for entry in record.entries]
    filters = {}
    for name, value_of, order in _FACETS:
        names = sorted(set(map(value_of, lines)), key=order)
        default = names[0] if names else None
        filters[name] = Filter.of(names, asked.get(name), default)
        lines = [line for line in lines if filters[name].admits(value_of(line))]
    return _rank_lines(lines, filters, asked)


def _rank_lines(
    lines: Sequence[Line], filters: Mapping[str, Filter], asked: Mapping[str, str]
) -> Board:
    """Rank the lines of one configuration, version and setting."""
    difficulties = {line.entry.difficulty for line in lines} - {""}
    difficulty = Filter.of(sorted(difficulties), asked.get("difficulty"))
    tasks = _tasks_of(lines, difficulty)
    categories = {task.category for task, _ in tasks.values()}
    category = Filter.of(sorted(categories), asked.get("category"))
    tasks = _only_category(tasks, category)
    rated = list(_rate(lines, difficulty.chosen or "", category.chosen))
    tracks = [_make_track(track, rated, list(tasks)) for track in TRACKS]
    return Board({**filters, "difficulty": difficulty, "category": category}, tracks, tasks)


def _tasks_of(lines: Iterable[Line], difficulty: Filter) -> _Tasks:
    """Return the instances of a difficulty."""
    tasks = {}
    for line in lines:
        for name, task in line.record.tasks.items():
            if difficulty.admits(task.difficulty):
                tasks[name] = task, line.record
    return tasks


def _only_category(tasks: _Tasks, category: Filter) -> _Tasks:
    """Return the instances of a category."""
    return {name: item for name, item in tasks.items() if category.admits(item[0].category)}


def _rate(lines: Iterable[Line], difficulty: str, category: str | None) -> Iterator[Line]:
    """Yield the lines on a difficulty, with their rates on a category; None for all categories."""
    for line in lines:
        if line.entry.difficulty != difficulty:
            continue
        if category is None:
            yield line
        elif category in line.entry.categories:
            yield line._replace(score=line.entry.categories[category])


def _make_track(name: str, lines: Iterable[Line], tasks: Sequence[str]) -> Track:
    ranked = rank(line for line in lines if line.entry.track == name)
    spreads = rank_spreads([item.latest.entry for item in ranked], tasks)
    for item, (best, worst) in zip(ranked, spreads, strict=False):  # far down there is no spread
        item.spread = min(best, item.rank), max(worst, item.rank)
    return Track(name, ranking_level(name), ranked)


def rank(lines: Iterable[Line]) -> list[Ranked]:
    """Rank the models of a track and setting, one place each, by their latest runs."""
    runs, copies = _group_runs(lines)
    ranked = []
    for model, (*earlier, latest) in runs.items():
        ranked.append(Ranked(latest, earlier[::-1], copies[model]))
    ranked.sort(key=lambda item: item.latest.order())
    rates = [-item.latest.rate for item in ranked]
    for item, rate in zip(ranked, rates, strict=True):
        item.rank = 1 + bisect_left(rates, rate)
    return ranked


def _group_runs(lines: Iterable[Line]) -> tuple[dict[str, list[Line]], dict[str, list[Line]]]:
    """Return the runs of each model, and their copies: runs of equal predictions under other names.

    Args:
        lines: in the order of verification.
    """
    owners: dict[str, str] = {}  # fingerprint → the model that had it first
    runs: dict[str, list[Line]] = defaultdict(list)
    copies: dict[str, list[Line]] = defaultdict(list)
    for line in lines:
        owner = owners.setdefault(line.entry.fingerprint, line.entry.model)
        group = runs if owner == line.entry.model else copies
        group[owner].append(line)
    return runs, copies
