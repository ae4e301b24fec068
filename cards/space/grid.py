"""The verdicts by task: a row an instance, a column a model. A cell shows both levels: robust, reproduced, neither."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lines import Line, Task
from submissions import JUDGED, Instance, Paper

#: The grid has a column for each of the first so many models.
MAX_COLUMNS = 25
#: What a cell says of the status of the core cases, unless all passed.
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
class Cell:
    """The verdict on an instance: a word, its kind for the colour, and the whole story."""

    mark: str
    kind: str
    story: str


@dataclass(frozen=True)
class Row:
    """An instance with a cell for each column."""

    instance: str
    task: Task
    cells: list[Cell]


@dataclass(frozen=True)
class Grid:
    """The best lines of the first models, and what they came to on each instance."""

    columns: Sequence[Line]
    rows: list[Row]


def make_grid(lines: Sequence[Line], tasks: Mapping[str, Task]) -> Grid:
    """The grid of the first lines, by category."""
    columns = lines[:MAX_COLUMNS]
    in_order = sorted(tasks.items(), key=lambda item: (item[1].category, item[0]))
    rows = [Row(name, task, [_cell(line, name) for line in columns]) for name, task in in_order]
    return Grid(columns, rows if columns else [])


def _cell(line: "Line", name: str) -> Cell:
    samples = line.entry.samples
    instance = line.entry.instances.get(name, Instance("", Paper()))
    core = Counter(instance.core)
    if missing := samples - core.total():
        core["missing"] = missing
    reproduced, robust = core["passed"], instance.statuses["passed"]
    story = f"reproduced {reproduced}, robust {robust} of {samples}"
    if failures := ", ".join(f"{status} {count}" for status, count in core.items() if status != "passed" and count):
        story += f"; {failures}"
    if judged := ", ".join(f"{label} {instance.judged[label]}" for label in JUDGED if instance.judged[label]):
        story += f"; judge (claimed): {judged}"
    if instance.memorised:
        story += f"; memorised {instance.memorised}: passed on the published seeds only"
    if samples > 1:
        passed = reproduced if line.entry.track == "paper" else robust
        kind = "robust" if robust == samples else "core" if passed == samples else "some" if reproduced else "failed"
        return Cell(f"{passed}/{samples}", kind, story)
    if robust:
        return Cell("robust", "robust", story)
    if reproduced:
        return Cell("memo" if instance.memorised else "core", "core", story)
    [status] = +core
    kind = status if status in ("failed", "missing") else "broken"
    return Cell("memo" if instance.memorised else MARKS[status], kind, story)
