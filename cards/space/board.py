"""Rank models: every number is computed from the rows of verified runs, never from a submitter's claims.

Each track, configuration and setting has its own ranking. Equal scores share a rank. A model is ranked by its latest
verified run, never by its best one; equal predictions are ranked once, whatever names they were submitted under.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

from base.ranking import RANKED_BY, ranking_level
from base.shares import Share
from grid import Grid, make_grid
from results_dataset import Published, Snapshot
from scored_models import ScoredModel, Task
from spread import rank_spreads
from submitted_run import SubmittedModel

#: The configuration and the setting that are shown first.
DEFAULT_CONFIG, DEFAULT_SETTING = "function", "standard"


@dataclass(frozen=True)
class Filters:
    """The filters of the page; None means all categories, the newest version, the default configuration and setting."""

    config: str | None = None
    version: str | None = None
    setting: str | None = None
    category: str | None = None


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
    latest: ScoredModel
    earlier: list[ScoredModel] = field(default_factory=list)
    copies: list[ScoredModel] = field(default_factory=list)
    spread: tuple[int, int] | None = None

    @property
    def other_submitters(self) -> list[str]:
        """Submitters of earlier runs under this name, other than the submitter of the latest."""
        return sorted({one.run.submitted_by for one in self.earlier} - {self.latest.run.submitted_by})


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
        scope: number of instances of the benchmark.
        unplaced: number of instances that no run has a row for; they count in the total and in no category.
    """

    filters: Filters
    configs: list[str]
    versions: list[str]
    settings: list[str]
    categories: list[str]
    tracks: list[Track]
    scope: int
    unplaced: int

    @property
    def address(self) -> str:
        """The filters that differ from the first view, as the query string that the page's address keeps."""
        first = Filters(*(next(iter(names), None) for names in (self.configs, self.versions, self.settings)))
        kept = {name: value for name, value in vars(self.filters).items() if value not in (None, vars(first)[name])}
        return urlencode(kept)


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
    settings = sorted(
        {entry.setting for item in shown for entry in item.run.entries},
        key=lambda name: (name != DEFAULT_SETTING, name),
    )
    categories = sorted({task.category for task in tasks.values()})
    setting = filters.setting if filters.setting in settings else next(iter(settings), None)
    category = filters.category if filters.category in categories else None

    selected = {name: task for name, task in tasks.items() if category in (None, task.category)}
    models = [
        _score(snapshot, item, entry, selected, category)
        for item in shown
        for entry in item.run.entries
        if entry.setting == setting
    ]
    tracks = []
    for name in RANKED_BY:
        ranked = rank([model for model in models if model.entry.track == name])
        counted = [item.latest for item in ranked]
        for item, spread in zip(ranked, rank_spreads(counted, selected), strict=False):
            item.spread = min(spread[0], item.rank), max(spread[1], item.rank)
        tracks.append(Track(name, ranking_level(name), ranked, make_grid(counted, selected)))
    scope = max((item.run.scope_size for item in shown), default=0)
    chosen = Filters(config, version, setting, category)
    size = scope if category is None else len(selected)
    return Board(chosen, configs, versions, settings, categories, tracks, size, max(0, scope - len(tasks)))


def rank(scored: Iterable[ScoredModel]) -> list[Ranked]:
    """Rank the models of a track and setting, one place each, by their latest runs.

    Runs whose predictions equal those that another model had first are its copies.
    """
    firsts: dict[str, str] = {}
    copies: dict[str, list[ScoredModel]] = {}
    runs: dict[str, list[ScoredModel]] = {}
    for one in sorted(scored, key=lambda one: (one.record.at, *one.order())):
        first = firsts.setdefault(one.entry.fingerprint, one.entry.model)
        (runs if first == one.entry.model else copies).setdefault(first, []).append(one)
    newest = {name: found[::-1] for name, found in runs.items()}
    ranking = sorted(newest.items(), key=lambda item: item[1][0].order())
    scores = [found[0].score for found in newest.values()]
    return [
        Ranked(1 + sum(score > latest.score for score in scores), latest, earlier, copies.get(name, []))
        for name, (latest, *earlier) in ranking
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
        kind: (
            sum(found[level] for name, found in reached.items() if tasks[name].category == kind),
            count * entry.samples,
        )
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
        **counts,
    )


def _version_key(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
