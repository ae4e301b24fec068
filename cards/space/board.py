"""Rank models by the rates in the records of verified runs; submitters' claims never change a rank.

Each track, configuration and setting has its own ranking. Equal scores share a rank. A model is ranked by its latest
verified run, never by its best one; equal predictions are ranked once, whatever names they were submitted under.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

from base.record import Entry, Record, Score, Task
from results_dataset import Snapshot
from spread import rank_spreads

#: The configuration and the setting that are shown first.
DEFAULT_CONFIG, DEFAULT_SETTING = "function", "standard"
#: Track → the level that ranks it.
TRACKS = {"paper": "reproduced", "contract": "robust"}


@dataclass(frozen=True)
class Filters:
    """The filters of the page; None means the newest version, the default configuration and setting, and all rows."""

    config: str | None = None
    version: str | None = None
    setting: str | None = None
    difficulty: str | None = None
    category: str | None = None


@dataclass(frozen=True)
class Line:
    """One model in one setting and track of one run, with its rates on the instances that the filters leave."""

    record: Record
    entry: Entry
    score: Score

    @property
    def rate(self) -> float:
        """The rate that ranks the model in its track."""
        return self.score.rate(self.entry.level)

    def order(self) -> tuple[float, float, str, str, str, str]:
        """Return a key that sorts from best to worst; among equals the one verified first comes first."""
        both = self.score.rate("reproduced") + self.score.rate("robust")
        record, entry = self.record, self.entry
        return (
            -self.rate,
            self.rate - both,
            record.verified_at,
            record.run_id,
            entry.model,
            entry.setting,
        )


@dataclass
class Ranked:
    """A model's place in a track.

    Attributes:
        rank: one more than the number of models with a better score.
        latest: the run that counts: the one verified last.
        earlier: the model's earlier runs in this setting, newest first.
        copies: models with the same predictions, verified later.
        spread: the best and worst rank that paired tests leave open; None far down a long ranking.
    """

    rank: int
    latest: Line
    earlier: list[Line] = field(default_factory=list)
    copies: list[Line] = field(default_factory=list)
    spread: tuple[int, int] | None = None

    @property
    def other_submitters(self) -> list[str]:
        """Submitters of earlier runs under this name, other than the submitter of the latest."""
        return sorted(
            {line.record.submitted_by for line in self.earlier} - {self.latest.record.submitted_by}
        )


@dataclass(frozen=True)
class Track:
    """The ranking of one track, best first."""

    name: str
    level: str
    ranked: list[Ranked]


@dataclass(frozen=True)
class Board:
    """All that the page shows.

    Attributes:
        tasks: the instances that the filters leave, with the latest record that has each.
    """

    filters: Filters
    configs: list[str]
    versions: list[str]
    settings: list[str]
    difficulties: list[str]
    categories: list[str]
    tracks: list[Track]
    tasks: dict[str, tuple[Task, Record]]

    @property
    def address(self) -> str:
        """The filters that differ from the first view, as the query string that the page's address keeps."""
        first = Filters(
            *(next(iter(names), None) for names in (self.configs, self.versions, self.settings))
        )
        kept = {
            name: value
            for name, value in vars(self.filters).items()
            if value not in (None, vars(first)[name])
        }
        return urlencode(kept)


def make_board(snapshot: Snapshot, filters: Filters) -> Board:
    """Rank the runs of a snapshot; a filter that matches nothing there is ignored."""
    records: Sequence[Record] = snapshot.records
    configs = sorted(
        {item.config for item in records}, key=lambda name: (name != DEFAULT_CONFIG, name)
    )
    config = filters.config if filters.config in configs else next(iter(configs), None)
    records = [item for item in records if item.config == config]
    versions = sorted({item.benchmark_version for item in records}, key=_version_key, reverse=True)
    version = filters.version if filters.version in versions else next(iter(versions), None)
    records = sorted(
        (item for item in records if item.benchmark_version == version),
        key=lambda item: item.verified_at,
    )
    names = {entry.setting for item in records for entry in item.entries}
    settings = sorted(names, key=lambda name: (name != DEFAULT_SETTING, name))
    setting = filters.setting if filters.setting in settings else next(iter(settings), None)
    difficulties = sorted({entry.difficulty for item in records for entry in item.entries} - {""})
    difficulty = filters.difficulty if filters.difficulty in difficulties else None
    every = {name: (task, item) for item in records for name, task in item.tasks.items()}
    tasks = {name: item for name, item in every.items() if difficulty in (None, item[0].difficulty)}
    categories = sorted({task.category for task, _ in tasks.values()})
    category = filters.category if filters.category in categories else None
    selected = {name: item for name, item in tasks.items() if category in (None, item[0].category)}

    lines = [
        Line(item, entry, score)
        for item in records
        for entry in item.entries
        if (entry.setting, entry.difficulty) == (setting, difficulty or "")
        and (score := entry.overall if category is None else entry.categories.get(category))
        is not None
    ]
    tracks = []
    for name, level in TRACKS.items():
        ranked = rank([line for line in lines if line.entry.track == name])
        spreads = rank_spreads([item.latest.entry for item in ranked], list(selected))
        for item, spread in zip(ranked, spreads, strict=False):
            item.spread = min(spread[0], item.rank), max(spread[1], item.rank)
        tracks.append(Track(name, level, ranked))
    chosen = Filters(config, version, setting, difficulty, category)
    return Board(chosen, configs, versions, settings, difficulties, categories, tracks, selected)


def rank(lines: Iterable[Line]) -> list[Ranked]:
    """Rank the models of a track and setting, one place each, by their latest runs.

    Runs whose predictions equal those that another model had first are its copies.
    """
    firsts: dict[str, str] = {}
    copies: dict[str, list[Line]] = {}
    runs: dict[str, list[Line]] = {}
    for line in sorted(lines, key=lambda line: (line.record.verified_at, *line.order())):
        first = firsts.setdefault(line.entry.fingerprint, line.entry.model)
        (runs if first == line.entry.model else copies).setdefault(first, []).append(line)
    newest: Mapping[str, list[Line]] = {name: group[::-1] for name, group in runs.items()}
    ranking = sorted(newest.items(), key=lambda item: item[1][0].order())
    rates = [group[0].rate for group in newest.values()]
    return [
        Ranked(1 + sum(rate > latest.rate for rate in rates), latest, earlier, copies.get(name, []))
        for name, (latest, *earlier) in ranking
    ]


def _version_key(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
