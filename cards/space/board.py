"""Rank models: every number is computed from the rows of verified runs, never from a submitter's claims.

Each track has its own ranking (`ranking`). Equal scores share a rank. A model is ranked once, by its best run; equal
predictions are ranked once, whatever names they were submitted under.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from base.names import Owned, look_alikes
from base.ranking import RANKED_BY, ranking_level
from base.shares import Share
from grid import Grid, make_grid
from results_dataset import Published, Snapshot
from scored_models import ScoredModel, Task
from submitted_run import SubmittedModel

#: The configuration that is shown first.
DEFAULT_CONFIG = "function"


@dataclass(frozen=True)
class Filters:
    """The filters of the page; None means all, for `version` the newest, for `config` the default one."""

    config: str | None = None
    version: str | None = None
    setting: str | None = None
    category: str | None = None


@dataclass
class Ranked:
    """A model's place in a track.

    Attributes:
        rank: one more than the number of models with a better score.
        others: the model's other runs and settings.
        copies: models with the same predictions, verified later.
    """

    rank: int
    best: ScoredModel
    others: list[ScoredModel] = field(default_factory=list)
    copies: list[ScoredModel] = field(default_factory=list)


@dataclass(frozen=True)
class Track:
    """The ranking of one track, best first."""

    name: str
    level: str
    ranked: list[Ranked]
    grid: Grid


@dataclass(frozen=True)
class Board:
    """All that the page shows.

    Attributes:
        unplaced: number of instances that no run has a row for; they count in the total and in no category.
    """

    filters: Filters
    configs: list[str]
    versions: list[str]
    settings: list[str]
    categories: list[str]
    tracks: list[Track]
    unplaced: int


def make_board(snapshot: Snapshot, filters: Filters) -> Board:
    """Score and rank the runs of a snapshot; a filter that matches nothing there is ignored."""
    shown = list(snapshot.published)
    configs = sorted({item.run.config for item in shown}, key=lambda name: (name != DEFAULT_CONFIG, name))
    config = filters.config if filters.config in configs else next(iter(configs), None)
    shown = [item for item in shown if item.run.config == config]
    versions = sorted({item.run.version for item in shown}, key=_version_key, reverse=True)
    version = filters.version if filters.version in versions else next(iter(versions), None)
    shown = [item for item in shown if item.run.version == version]

    tasks = _tasks(snapshot, shown)
    alike = look_alikes(Owned(entry.model, item.run.submitted_by) for item in shown for entry in item.run.entries)
    settings = sorted({entry.setting for item in shown for entry in item.run.entries})
    categories = sorted({task.category for task in tasks.values()})
    setting = filters.setting if filters.setting in settings else None
    category = filters.category if filters.category in categories else None

    selected = {name: task for name, task in tasks.items() if category in (None, task.category)}
    models = [
        _score(snapshot, item, entry, selected, category, alike)
        for item in shown
        for entry in item.run.entries
        if setting is None or entry.setting == setting
    ]
    tracks = []
    for name in RANKED_BY:
        ranked = rank([model for model in models if model.entry.track == name])
        tracks.append(Track(name, ranking_level(name), ranked, make_grid([item.best for item in ranked], selected)))
    scope = max((item.run.scope_size for item in shown), default=0)
    chosen = Filters(config, version, setting, category)
    return Board(chosen, configs, versions, settings, categories, tracks, max(0, scope - len(tasks)))


def rank(scored: Iterable[ScoredModel]) -> list[Ranked]:
    """Rank the models of a track, one place each; later copies of the same predictions follow the first."""
    originals: dict[str, ScoredModel] = {}
    copies: dict[str, list[ScoredModel]] = {}
    for one in sorted(scored, key=lambda one: (one.record.at, *one.order())):
        first = originals.setdefault(one.entry.fingerprint, one)
        if first is not one:
            copies.setdefault(first.entry.model, []).append(one)
    models: dict[str, list[ScoredModel]] = {}
    for one in sorted(originals.values(), key=ScoredModel.order):
        models.setdefault(one.entry.model, []).append(one)
    scores = [found[0].score for found in models.values()]
    return [
        Ranked(1 + sum(score > best.score for score in scores), best, others, copies.get(name, []))
        for name, (best, *others) in models.items()
    ]


def _tasks(snapshot: Snapshot, published: Iterable[Published]) -> dict[str, Task]:
    found: dict[str, Task] = {}
    for item in published:
        for entry in item.run.entries:
            for name, instance in entry.instances.items():
                link = snapshot.task_link(item.run.dataset, item.run.config, name)
                found.setdefault(name, Task(instance.category, instance.paper, link))
    return found


def _score(
    snapshot: Snapshot,
    item: Published,
    entry: SubmittedModel,
    tasks: Mapping[str, Task],
    category: str | None,
    alike: Mapping[Owned, Sequence[Owned]],
) -> ScoredModel:
    inside = {name: entry.instances[name] for name in tasks if name in entry.instances}
    # An instance without a row in any run has no category: it counts while no category is chosen.
    size = item.run.scope_size if category is None else len(tasks)
    total = size * entry.samples
    level = ranking_level(entry.track)
    reached = {
        name: {"reproduced": instance.core["passed"], "robust": instance.statuses["passed"]}
        for name, instance in inside.items()
    }
    counts = {level: sum(found[level] for found in reached.values()) for level in RANKED_BY.values()}
    rows = sum(instance.statuses.total() for instance in inside.values())
    costs = [cost for instance in inside.values() for cost in instance.costs]
    choices = [numbers for instance in inside.values() for numbers in instance.choices]
    sizes = Counter(task.category for task in tasks.values())
    profile = {
        kind: sum(found[level] for name, found in reached.items() if tasks[name].category == kind)
        / (count * entry.samples)
        for kind, count in sorted(sizes.items())
    }
    return ScoredModel(
        item,
        entry,
        snapshot.model_link(item, entry.model),
        total=total,
        missing=total - rows,
        interval=Share(counts[level], total, size).interval,
        judged=sum((instance.judged for instance in inside.values()), Counter[str]()),
        cost=sum(costs) / entry.samples if costs and len(costs) == rows else None,
        choices=(sum(item[0] for item in choices), sum(item[1] for item in choices), sum(item[2] for item in choices)),
        memorised=sum(instance.memorised for instance in inside.values()),
        profile=profile,
        alike=tuple(alike.get(Owned(entry.model, item.run.submitted_by), ()))[:3],
        **counts,
    )


def _version_key(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
