"""How an answer differs from the reference: the goal function without its docstring, then the rest of the file."""

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from ...errors import LMRBenchError
from ...rows import DatasetRow
from ...source import block_end, find_function, first_line, split_lines
from ..killable import call_killable
from ..predictions import Prediction
from ..workspace import rebuild

MAX_DIFF_LINES = 400
#: Comparing longer files would take too long.
MAX_FILE_LINES = 5000
CONTEXT_LINES = 4


@dataclass(frozen=True)
class Line:
    """One line of a difference."""

    kind: str
    """`add`, `del`, `same`, `hunk` or `note`."""
    text: str
    number: int = -1
    """Where it stands in `Part.after`; in `Part.before` for `del`."""


@dataclass(frozen=True)
class Part:
    """A part of the goal file: of the reference, of the answer, and what is different."""

    title: str
    before: list[str]
    after: list[str]
    lines: list[Line]


def changes(row: DatasetRow, prediction: Prediction) -> list[Part]:
    """The parts of the goal file that differ; an answer that cannot be applied is shown as it came."""
    name = row["goal_function"]
    try:
        candidate = rebuild(row, prediction)[row["goal_file"]].data.decode("utf-8", "replace")
        function, rest = call_killable(split_source, candidate, name)
    except LMRBenchError as error:
        text = prediction.content.splitlines()
        shown = [Line("same", line, number) for number, line in enumerate(text[:MAX_DIFF_LINES])]
        more = _more(len(text) - len(shown))
        return [Part("The answer as it came", [], text, [Line("note", f"cannot be applied: {error}"), *shown, *more])]
    golden_function, golden_rest = split_source(row["golden_file"], name)
    parts = [_part(name, golden_function, function)]
    if golden_rest != rest:
        parts.append(_part(f"The rest of {row['goal_file']}", golden_rest, rest))
    return parts


def split_source(source: str, qualified_name: str) -> tuple[str, str]:
    """The function without its docstring, and the rest of the file.

    Raises:
        SourceError: it cannot be parsed, or has no such function.
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
        # Another statement may stand on its last line.
        skipped = range(first.lineno - 1, min(first.end_lineno, first_line(others[0]) - 1))
    function = [line for number, line in enumerate(lines[start:end], start) if number not in skipped]
    return "".join(function), "".join(lines[:start] + lines[end:])


def _part(title: str, golden: str, candidate: str) -> Part:
    before, after = golden.splitlines(), candidate.splitlines()
    if max(len(before), len(after)) > MAX_FILE_LINES:
        return Part(title, before, after, [Line("note", f"too long to be compared: {len(after)} lines")])
    lines = list(_lines(before, after))
    if not lines:
        return Part(title, before, after, [Line("note", "the same as the reference")])
    return Part(title, before, after, lines[:MAX_DIFF_LINES] + _more(len(lines) - MAX_DIFF_LINES))


def _lines(before: list[str], after: list[str]) -> Iterator[Line]:
    groups = difflib.SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(CONTEXT_LINES)
    for count, group in enumerate(groups):
        if count:
            yield Line("hunk", f"line {group[0][3] + 1}")
        for tag, start, end, new_start, new_end in group:
            if tag == "equal":
                yield from (Line("same", after[number], number) for number in range(new_start, new_end))
                continue
            yield from (Line("del", before[number], number) for number in range(start, end))
            yield from (Line("add", after[number], number) for number in range(new_start, new_end))


def _more(count: int) -> list[Line]:
    return [Line("note", f"{count} more lines")] if count > 0 else []
