"""The verdicts by task: one row per instance, one column per model; a cell is robust, reproduced or neither."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from base.ranking import REPRODUCED, ranking_level
from scored_models import ScoredModel, Task
from submitted_run import JUDGED, Instance, Paper

#: Number of models that have a column, from the top of the ranking.
MAX_COLUMNS = 25
#: Status of the core cases → the word in the cell, unless all passed.
MARKS = {
    "failed": "fail",
    "error": "error",
    "timeout": "time",
    "oom": "oom",
    "malformed": "malf",
    "infra_error": "infra",
    "missing": "–",
}


@dataclass(frozen=True)
class GridCell:
    """A model's verdict on an instance.

    Attributes:
        mark: a word, or the samples that reached the ranking level and all.
        kind: sets the colour.
        story: the numbers of samples in words.
        failure: the case that decided the first sample that is not robust; or empty.
    """

    model: ScoredModel
    mark: str
    kind: str
    story: str
    failure: str = ""


@dataclass(frozen=True)
class GridRow:
    """An instance with one cell per column."""

    instance: str
    task: Task
    cells: list[GridCell]


@dataclass(frozen=True)
class Grid:
    """The top models and their verdict on each instance."""

    columns: Sequence[ScoredModel]
    rows: list[GridRow]

    @property
    def kinds(self) -> set[str]:
        """The kinds of cells that occur, for the key."""
        return {cell.kind for row in self.rows for cell in row.cells}

    @property
    def samples(self) -> int:
        """The largest number of samples per instance."""
        return max((model.entry.samples for model in self.columns), default=1)


def make_grid(models: Sequence[ScoredModel], tasks: Mapping[str, Task]) -> Grid:
    """Make the grid of the top models, sorted by category."""
    columns = models[:MAX_COLUMNS]
    in_order = sorted(tasks.items(), key=lambda item: (item[1].category, item[0]))
    rows = [GridRow(name, task, [_cell(model, name) for model in columns]) for name, task in in_order]
    return Grid(columns, rows if columns else [])


def _cell(model: ScoredModel, name: str) -> GridCell:
    samples = model.entry.samples
    instance = model.entry.instances.get(name, Instance("", Paper()))
    core = Counter(instance.core)
    if missing := samples - core.total():
        core["missing"] = missing
    reproduced, robust = core["passed"], instance.statuses["passed"]
    story = f"reproduced {reproduced}, robust {robust} of {samples}"
    if samples == 1:
        story = "robust" if robust else "reproduced, not robust" if reproduced else "not reproduced"
    numbers = [f"{status} {count}" for status, count in core.items() if status != "passed" and count]
    judged = [f"{label} {instance.judged[label]}" for label in JUDGED if instance.judged[label]]
    if samples == 1:
        numbers, judged = ([item.removesuffix(" 1") for item in items] for items in (numbers, judged))
    if numbers:
        story += f"; {', '.join(numbers)}"
    if judged:
        story += f"; judge (claimed): {', '.join(judged)}"
    if instance.memorised:
        story += f"; memorised {instance.memorised}: passed on the published seeds only"
    if samples > 1:
        passed = reproduced if ranking_level(model.entry.track) == REPRODUCED else robust
        kind = "robust" if robust == samples else "core" if passed == samples else "some" if reproduced else "failed"
        return GridCell(model, f"{passed}/{samples}", kind, story, instance.first_failure)
    if robust:
        return GridCell(model, "robust", "robust", story)
    if reproduced:
        return GridCell(model, "memo" if instance.memorised else "core", "core", story, instance.first_failure)
    [status] = +core
    kind = status if status in ("failed", "missing") else "broken"
    return GridCell(model, "memo" if instance.memorised else MARKS[status], kind, story, instance.first_failure)
