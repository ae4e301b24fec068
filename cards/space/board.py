"""Rank runs: every number is computed from the rows of verified runs, never read from what a submitter claims of them.

Each track is ranked by itself: the paper track by the share of instances reproduced (every core case passes), the
contract track by the share that is robust (every case passes). Ties go to the run that was verified first.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from names import Owned, look_alikes
from results import Published, Record, Snapshot
from submissions import JUDGED, TRACKS, Entry, Instance, Run

#: The grid has a column for each of the first so many lines.
MAX_COLUMNS = 25
#: The level that ranks a track.
RANKED_BY = {"paper": "reproduced", "contract": "robust"}
MARKS = {
    "passed": "pass",
    "failed": "fail",
    "error": "error",
    "timeout": "time",
    "oom": "oom",
    "malformed": "malf",
    "infra_error": "infra",
    "missing": "–",
}


@dataclass(frozen=True)
class Filters:
    """What is looked at; None means all, and for `version` the newest one that is shown."""

    version: str | None = None
    setting: str | None = None
    category: str | None = None


@dataclass(frozen=True)
class Line:
    """One model in one setting and track of one run, scored on the instances that are looked at.

    Attributes:
        reproduced, robust: rows whose core cases, or all cases, passed.
        total: rows; an instance counts with as many as the one with most, missing ones included.
        interval: Wilson's 95 % interval of the rate that ranks, n is the instances.
        judged: rows by the category of the submitter's judge: a claim, which changes no rank.
        memorised: rows that passed on the published seeds only, and do not count.
        alike: names of other submitters for which this one can be taken.
    """

    run: Run
    entry: Entry
    record: Record
    files: frozenset[str]
    reproduced: int
    robust: int
    total: int
    missing: int
    interval: tuple[float, float]
    judged: Counter[str]
    memorised: int = 0
    alike: tuple[Owned, ...] = ()

    def rate(self, level: str) -> float:
        """The share of rows that reached a level, `reproduced` or `robust`."""
        return getattr(self, level) / self.total if self.total else 0.0

    @property
    def score(self) -> float:
        """What ranks it in its track."""
        return self.rate(RANKED_BY[self.entry.track])

    def judge_share(self, category: str) -> float:
        """The share of the judge's category among the judged rows."""
        return self.judged[category] / self.judged.total()

    def order(self) -> tuple[float, str, str, str, str]:
        """Sorts from best to worst."""
        return -self.score, self.record.at, self.run.run_id, self.entry.model, self.entry.setting


@dataclass(frozen=True)
class Cell:
    """The verdict on an instance: a word, its kind for the colour, and the whole story."""

    mark: str
    kind: str
    story: str


@dataclass(frozen=True)
class Track:
    """The ranking of one track.

    Attributes:
        ranked: best first.
        grid: instance id, category, and a cell for each of `columns`.
    """

    name: str
    ranked: list[Line]
    columns: list[Line]
    grid: list[tuple[str, str, list[Cell]]]


@dataclass(frozen=True)
class Board:
    """Everything that the page shows.

    Attributes:
        unplaced: instances of the scope of which no run has a row, so that only the total counts them.
    """

    filters: Filters
    versions: list[str]
    settings: list[str]
    categories: list[str]
    tracks: list[Track]
    unplaced: int


def make_board(snapshot: Snapshot, filters: Filters) -> Board:
    """Score and rank the runs of a snapshot; a filter for something that is not there counts as not set."""
    shown = list(snapshot.published)
    versions = sorted({item.run.version for item in shown}, key=_version_key, reverse=True)
    version = filters.version if filters.version in versions else next(iter(versions), None)
    shown = [item for item in shown if item.run.version == version]

    known = _instances(shown)
    alike = look_alikes(Owned(entry.model, item.run.submitted_by) for item in shown for entry in item.run.entries)
    settings = sorted({entry.setting for item in shown for entry in item.run.entries})
    categories = sorted(set(known.values()))
    setting = filters.setting if filters.setting in settings else None
    category = filters.category if filters.category in categories else None

    lines = [
        _line(item, entry, known, category, alike)
        for item in shown
        for entry in item.run.entries
        if setting is None or entry.setting == setting
    ]
    looked_at = {name: kind for name, kind in known.items() if category in (None, kind)}
    tracks = [_track(track, [line for line in lines if line.entry.track == track], looked_at) for track in TRACKS]
    scope = max((item.run.scope_size for item in shown), default=0)
    return Board(
        Filters(version, setting, category),
        versions,
        settings,
        categories,
        tracks,
        max(0, scope - len(known)),
    )


def _track(name: str, lines: Sequence[Line], instances: Mapping[str, str]) -> Track:
    ranked = sorted(lines, key=Line.order)
    columns = ranked[:MAX_COLUMNS]
    grid = [
        (instance, kind, [_cell(line, instance) for line in columns])
        for instance, kind in sorted(instances.items(), key=lambda item: (item[1], item[0]))
    ]
    return Track(name, ranked, columns, grid if columns else [])


def wilson(share: float, n: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a share of `n` instances; (0, 1) if there are none."""
    if n == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + level / 2)
    centre = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale)


def _instances(published: Iterable[Published]) -> dict[str, str]:
    """Instance id → category, as the first run says."""
    found: dict[str, str] = {}
    for item in published:
        for entry in item.run.entries:
            for name, instance in entry.instances.items():
                found.setdefault(name, instance.category)
    return found


def _line(
    item: Published,
    entry: Entry,
    known: Mapping[str, str],
    category: str | None,
    alike: Mapping[Owned, Sequence[Owned]],
) -> Line:
    if category is None:
        inside = list(entry.instances.values())
        size = item.run.scope_size
    else:
        names = [name for name, kind in known.items() if kind == category]
        inside = [entry.instances[name] for name in names if name in entry.instances]
        size = len(names)
    total = size * entry.samples
    levels = {
        "reproduced": sum(instance.core["passed"] for instance in inside),
        "robust": sum(instance.statuses["passed"] for instance in inside),
    }
    missing = total - sum(instance.statuses.total() for instance in inside)
    judged = sum((instance.judged for instance in inside), Counter[str]())
    interval = wilson(levels[RANKED_BY[entry.track]] / total if total else 0.0, size)
    memorised = sum(instance.memorised for instance in inside)
    others = tuple(alike.get(Owned(entry.model, item.run.submitted_by), ()))[:3]
    counts = {**levels, "total": total, "missing": missing, "memorised": memorised}
    return Line(item.run, entry, item.record, item.files, interval=interval, judged=judged, alike=others, **counts)


def _cell(line: Line, name: str) -> Cell:
    samples = line.entry.samples
    instance = line.entry.instances.get(name, Instance("", Counter(), Counter(), Counter()))
    paper = RANKED_BY[line.entry.track] == "reproduced"
    statuses = Counter(instance.core if paper else instance.statuses)
    if missing := samples - statuses.total():
        statuses["missing"] = missing
    story = ", ".join(f"{status} {count}" if samples > 1 else status for status, count in statuses.items())
    if judged := ", ".join(f"{label} {instance.judged[label]}" for label in JUDGED if instance.judged[label]):
        story += f"; judge (claimed): {judged}"
    if instance.memorised:
        story += f"; memorised {instance.memorised}: passed on the published seeds only"
    if samples > 1:
        passed = statuses["passed"]
        return Cell(f"{passed}/{samples}", "passed" if passed == samples else "some" if passed else "failed", story)
    [status] = statuses
    labels = [f"({label})" for label in JUDGED if instance.judged[label]]
    kind = status if status in ("passed", "failed", "missing") else "broken"
    return Cell(" ".join(["memo" if instance.memorised else MARKS[status], *labels]), kind, story)


def _version_key(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
