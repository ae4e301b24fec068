"""The verdicts by task: one row per instance, one column per model."""

from collections.abc import Sequence
from typing import NamedTuple

from base.proportions import REPRODUCED, ROBUST
from base.record import Entry, Task, TaskResult
from board import Board, Line, Ranked

#: Number of models that have a column, from the top of the ranking.
MAX_COLUMNS = 25
#: The word of the outcome `reproduced`, as in the reports of the harness.
CORE_ONLY = "core only"
#: Outcome of a single sample → its colour; all others are `broken`.
_KINDS = {
    ROBUST: "robust",
    REPRODUCED: "core",
    "failed": "failed",
    "error": "failed",
    "missing": "missing",
}


class Cell(NamedTuple):
    """A model's verdict on an instance.

    Attributes:
        mark: a word, or the samples that reached the ranking level out of all.
        kind: sets the colour.
        story: the numbers of samples in words.
        failure: the case that decided the first sample that is not robust; empty if all are.
    """

    line: Line
    mark: str
    kind: str
    story: str
    failure: str


class Row(NamedTuple):
    """An instance with one cell per column."""

    instance: str
    task: Task
    cells: list[Cell]


def make_grid(board: Board, ranked: Sequence[Ranked]) -> list[Row]:
    """Make the grid of the top models, sorted by category."""
    rows = []
    for name, (task, _) in board.tasks.items():
        cells = [_cell(item.latest, name) for item in ranked[:MAX_COLUMNS]]
        rows.append(Row(name, task, cells))
    return sorted(rows, key=lambda row: (row.task.category, row.instance))


def _cell(line: Line, name: str) -> Cell:
    entry = line.entry
    result = entry.tasks.get(name) or TaskResult(outcomes={"missing": entry.samples})
    if entry.samples == 1:
        mark, kind = _mark_one(result)
    else:
        mark, kind = _mark_several(result, entry)
    return Cell(line, mark, kind, _story(result), result.failure)


def _mark_one(result: TaskResult) -> tuple[str, str]:
    outcome = next(name for name, count in result.outcomes.items() if count)
    kind = _KINDS.get(outcome, "broken")
    if result.memorised and not result.robust:
        return "memorised", kind
    return CORE_ONLY if outcome == REPRODUCED else outcome, kind


def _mark_several(result: TaskResult, entry: Entry) -> tuple[str, str]:
    passed = result.robust if entry.level == ROBUST else result.reproduced
    mark = f"{passed}/{entry.samples}"
    if result.robust == entry.samples:
        return mark, "robust"
    if result.reproduced == entry.samples:
        return mark, "core"
    return mark, "some" if passed else "failed"


def _story(result: TaskResult) -> str:
    counts = {**result.outcomes, "memorised": result.memorised}
    counts |= {f"{label} (judge, claimed)": count for label, count in result.judged.items()}
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count)
