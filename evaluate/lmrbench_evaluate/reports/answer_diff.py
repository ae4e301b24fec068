"""Compare an answer with the reference, line by line: the goal function without its docstring, then the rest."""

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from lmrbench_data.base.child_calls import call_on_answer
from lmrbench_data.base.errors import LMRBenchError
from lmrbench_data.base.source import block_end, find_function, first_line, split_lines
from lmrbench_data.dataset.rows import DatasetRow

from ..predictions.prediction import Prediction
from ..rebuild.workspace import rebuild

MAX_DIFF_LINES = 400
#: Longer files take too long to compare.
MAX_FILE_LINES = 5000
CONTEXT_LINES = 4


@dataclass(frozen=True)
class DiffLine:
    """One line of a difference."""

    kind: str
    """`add`, `del`, `same`, `hunk` or `note`."""
    text: str
    number: int = -1
    """Its index in `DiffSection.after`; in `DiffSection.before` for `del`."""


@dataclass(frozen=True)
class DiffSection:
    """A section of the goal file: the reference's lines, the answer's lines, and the difference."""

    title: str
    before: list[str]
    after: list[str]
    lines: list[DiffLine]


def diff_answer(row: DatasetRow, prediction: Prediction) -> list[DiffSection]:
    """Return the sections of the goal file that differ; an answer that cannot be applied is shown as it is."""
    name = row["goal_function"]
    try:
        candidate = rebuild(row, prediction)[row["goal_file"]].data.decode("utf-8", "replace")
        function, rest = call_on_answer(split_source, candidate, name)
    except LMRBenchError as error:
        text = prediction.content.splitlines()
        shown = [DiffLine("same", line, number) for number, line in enumerate(text[:MAX_DIFF_LINES])]
        more = _more(len(text) - len(shown))
        return [
            DiffSection(
                "The answer as submitted", [], text, [DiffLine("note", f"cannot be applied: {error}"), *shown, *more]
            )
        ]
    golden_function, golden_rest = split_source(row["golden_file"], name)
    parts = [_section(name, golden_function, function)]
    if golden_rest != rest:
        parts.append(_section(f"The rest of {row['goal_file']}", golden_rest, rest))
    return parts


def split_source(source: str, qualified_name: str) -> tuple[str, str]:
    """Split a file into a function without its docstring and the rest.

    Raises:
        SourceError: the file cannot be parsed or lacks the function.
    """
    node = find_function(source, qualified_name).node
    lines = split_lines(source)
    start, end = first_line(node) - 1, block_end(lines, node)
    first, *others = node.body
    skipped: range = range(0)
    is_text = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    if is_text and others and first.end_lineno is not None and node.lineno < first.lineno:
        # Another statement may follow on its last line.
        skipped = range(first.lineno - 1, min(first.end_lineno, first_line(others[0]) - 1))
    function = [line for number, line in enumerate(lines[start:end], start) if number not in skipped]
    return "".join(function), "".join(lines[:start] + lines[end:])


def _section(title: str, golden: str, candidate: str) -> DiffSection:
    before, after = golden.splitlines(), candidate.splitlines()
    if max(len(before), len(after)) > MAX_FILE_LINES:
        return DiffSection(title, before, after, [DiffLine("note", f"too long to compare: {len(after)} lines")])
    lines = list(_lines(before, after))
    if not lines:
        return DiffSection(title, before, after, [DiffLine("note", "the same as the reference")])
    return DiffSection(title, before, after, lines[:MAX_DIFF_LINES] + _more(len(lines) - MAX_DIFF_LINES))


def _lines(before: list[str], after: list[str]) -> Iterator[DiffLine]:
    groups = difflib.SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(CONTEXT_LINES)
    for count, group in enumerate(groups):
        if count:
            yield DiffLine("hunk", f"line {group[0][3] + 1}")
        for tag, start, end, new_start, new_end in group:
            if tag == "equal":
                yield from (DiffLine("same", after[number], number) for number in range(new_start, new_end))
                continue
            yield from (DiffLine("del", before[number], number) for number in range(start, end))
            yield from (DiffLine("add", after[number], number) for number in range(new_start, new_end))


def _more(count: int) -> list[DiffLine]:
    return [DiffLine("note", f"{count} more lines")] if count > 0 else []
