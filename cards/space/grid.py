"""The verdicts by task: one row per instance, one column per model; a cell is robust, reproduced or neither."""

from collections.abc import Sequence
from typing import NamedTuple

from base.record import JUDGED, Task, TaskResult
from board import Board, Line, Ranked

#: Number of models that have a column, from the top of the ranking.
MAX_COLUMNS = 25
#: The word of an outcome in the reports of the harness, where it has another one.
CORE_ONLY = "core only"


class Cell(NamedTuple):
    """A model's verdict on an instance.

    Attributes:
        mark: a word, or the samples that reached the ranking level and all.
        kind: sets the colour.
        story: the numbers of samples in words.
        failure: the case that decided the first sample that is not robust; or empty.
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
    lines = [item.latest for item in ranked[:MAX_COLUMNS]]
    tasks = sorted(board.tasks.items(), key=lambda item: (item[1][0].category, item[0]))
    return [
        Row(name, task, [_cell(line, name) for line in lines]) for name, (task, _) in tasks if lines
    ]


def _cell(line: Line, name: str) -> Cell:
    samples, level = line.entry.samples, line.entry.level
    result = line.entry.tasks.get(name) or TaskResult(outcomes={"missing": samples})
    reproduced, robust = result.reproduced, result.robust
    story = f"reproduced {reproduced}, robust {robust} of {samples}"
    if samples == 1:
        story = "robust" if robust else "reproduced, not robust" if reproduced else "not reproduced"
    failed = {
        key: count for key, count in result.outcomes.items() if key not in ("robust", "reproduced")
    }
    for title, counts in (
        ("", failed),
        ("judge (claimed): ", {key: result.judged.get(key, 0) for key in JUDGED}),
    ):
        if parts := [
            key if samples == 1 else f"{key} {count}" for key, count in counts.items() if count
        ]:
            story += f"; {title}{', '.join(parts)}"
    if result.memorised:
        story += f"; memorised {result.memorised}: passed on the published seeds only"
    if samples > 1:
        passed = robust if level == "robust" else reproduced
        kind = (
            "robust"
            if robust == samples
            else "core"
            if passed == samples
            else "some"
            if reproduced
            else "failed"
        )
        return Cell(line, f"{passed}/{samples}", kind, story, result.failure)
    outcome = next(key for key, count in result.outcomes.items() if count)
    mark = (
        "memorised"
        if result.memorised and not robust
        else CORE_ONLY
        if outcome == "reproduced"
        else outcome
    )
    kind = {"reproduced": "core", "error": "failed"}.get(outcome, outcome)
    kind = kind if kind in ("robust", "core", "failed", "missing") else "broken"
    return Cell(line, mark, kind, story, result.failure)
