"""Rank models: every number is computed from the rows of verified runs, never from what a submitter claims of them.

Each track is ranked by itself: the paper track by the share of instances reproduced (every core case passes), the
contract track by the share that is robust (every case passes). Equal scores share a rank. A model is ranked once, with
the best of its runs; so are equal predictions, under whatever names they were submitted.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

from grid import Grid, make_grid
from lines import RANKED_BY, Line, Task
from names import Owned, look_alikes
from results import Published, Snapshot
from submissions import TRACKS, Entry


@dataclass(frozen=True)
class Filters:
    """What is looked at; None means all, and for `version` the newest one that is shown."""

    version: str | None = None
    setting: str | None = None
    category: str | None = None


@dataclass
class Ranked:
    """A model's place in a track.

    Attributes:
        rank: one more than there are models with a better score.
        others: further runs and settings of the model.
        copies: lines with the same predictions, verified later.
    """

    rank: int
    best: Line
    others: list[Line] = field(default_factory=list)
    copies: list[Line] = field(default_factory=list)


@dataclass(frozen=True)
class Track:
    """The ranking of one track, best first."""

    name: str
    level: str
    ranked: list[Ranked]
    grid: Grid


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

    tasks = _tasks(snapshot, shown)
    alike = look_alikes(Owned(entry.model, item.run.submitted_by) for item in shown for entry in item.run.entries)
    settings = sorted({entry.setting for item in shown for entry in item.run.entries})
    categories = sorted({task.category for task in tasks.values()})
    setting = filters.setting if filters.setting in settings else None
    category = filters.category if filters.category in categories else None

    looked_at = {name: task for name, task in tasks.items() if category in (None, task.category)}
    lines = [
        _line(snapshot, item, entry, looked_at, category, alike)
        for item in shown
        for entry in item.run.entries
        if setting is None or entry.setting == setting
    ]
    tracks = []
    for name in TRACKS:
        ranked = rank([line for line in lines if line.entry.track == name])
        tracks.append(Track(name, RANKED_BY[name], ranked, make_grid([item.best for item in ranked], looked_at)))
    scope = max((item.run.scope_size for item in shown), default=0)
    chosen = Filters(version, setting, category)
    return Board(chosen, versions, settings, categories, tracks, max(0, scope - len(tasks)))


def rank(lines: Iterable[Line]) -> list[Ranked]:
    """The lines of a track, one place a model; later lines with the same predictions stand behind the first."""
    originals: dict[str, Line] = {}
    copies: dict[str, list[Line]] = {}
    for line in sorted(lines, key=lambda line: (line.record.at, *line.order())):
        first = originals.setdefault(line.entry.fingerprint, line)
        if first is not line:
            copies.setdefault(first.entry.model, []).append(line)
    models: dict[str, list[Line]] = {}
    for line in sorted(originals.values(), key=Line.order):
        models.setdefault(line.entry.model, []).append(line)
    scores = [found[0].score for found in models.values()]
    return [
        Ranked(1 + sum(score > best.score for score in scores), best, others, copies.get(name, []))
        for name, (best, *others) in models.items()
    ]


def wilson(share: float, n: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a share of `n` instances; (0, 1) if there are none."""
    if n == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + level / 2)
    centre = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale)


def _tasks(snapshot: Snapshot, published: Iterable[Published]) -> dict[str, Task]:
    found: dict[str, Task] = {}
    for item in published:
        for entry in item.run.entries:
            for name, instance in entry.instances.items():
                link = snapshot.task_link(item.run.dataset, name)
                found.setdefault(name, Task(instance.category, instance.paper, link))
    return found


def _line(
    snapshot: Snapshot,
    item: Published,
    entry: Entry,
    tasks: Mapping[str, Task],
    category: str | None,
    alike: Mapping[Owned, Sequence[Owned]],
) -> Line:
    inside = {name: entry.instances[name] for name in tasks if name in entry.instances}
    # What no run has a row for is in no category, and counts as long as none is chosen.
    size = item.run.scope_size if category is None else len(tasks)
    total = size * entry.samples
    level = RANKED_BY[entry.track]
    reached = {
        name: {"reproduced": instance.core["passed"], "robust": instance.statuses["passed"]}
        for name, instance in inside.items()
    }
    counts = {level: sum(found[level] for found in reached.values()) for level in RANKED_BY.values()}
    rows = sum(instance.statuses.total() for instance in inside.values())
    costs = [cost for instance in inside.values() for cost in instance.costs]
    sizes = Counter(task.category for task in tasks.values())
    profile = {
        kind: sum(found[level] for name, found in reached.items() if tasks[name].category == kind)
        / (count * entry.samples)
        for kind, count in sorted(sizes.items())
    }
    return Line(
        item,
        entry,
        snapshot.model_link(item, entry.model),
        total=total,
        missing=total - rows,
        interval=wilson(counts[level] / total if total else 0.0, size),
        judged=sum((instance.judged for instance in inside.values()), Counter[str]()),
        cost=sum(costs) / entry.samples if costs and len(costs) == rows else None,
        memorised=sum(instance.memorised for instance in inside.values()),
        profile=profile,
        alike=tuple(alike.get(Owned(entry.model, item.run.submitted_by), ()))[:3],
        **counts,
    )


def _version_key(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
