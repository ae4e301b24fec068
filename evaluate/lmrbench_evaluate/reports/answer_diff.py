"""Compare an answer line by line: the goal functions, without their docstrings, with the reference; then the rest.

The rest is compared with the file that the model got, which lacks the helpers that only the reference needs.
"""

import ast
import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lmrbench_data.base.configurations import configuration_of
from lmrbench_data.base.errors import LMRBenchError
from lmrbench_data.base.limited_calls import call_on_answer
from lmrbench_data.base.source import (
    FunctionNode,
    block_end,
    bound_names,
    find_function,
    first_line,
    parse,
    split_lines,
)
from lmrbench_data.base.text import plural, split_text
from lmrbench_data.dataset.rows import DatasetRow, goals_of, golden_files_of
from lmrbench_data.loader import read_archive

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
    """A section of a goal file: the reference's lines, the answer's lines, and the difference."""

    title: str
    before: list[str]
    after: list[str]
    lines: list[DiffLine]


def diff_answer(row: DatasetRow, prediction: Prediction) -> list[DiffSection]:
    """Return each goal function, and the rest of each goal file that differs.

    An answer that cannot be applied is shown unchanged.
    """
    goals = goals_of(row)
    try:
        files = rebuild(row, prediction)
        texts = {path: files[path].data.decode("utf-8", "replace") for path in goals}
        theirs = {
            path: call_on_answer(split_source, texts[path], names) for path, names in goals.items()
        }
    except LMRBenchError as error:
        text = split_text(prediction.content)
        lines = [DiffLine("note", f"cannot be applied: {error}")]
        lines += [
            DiffLine("same", line, number) for number, line in enumerate(text[:MAX_DIFF_LINES])
        ]
        return [
            DiffSection(
                "The answer as submitted", [], text, lines + _more(len(text) - MAX_DIFF_LINES)
            )
        ]
    ours = {path: split_source(text, goals[path]) for path, text in golden_files_of(row).items()}
    masked = read_archive(row["repo_archive"])
    parts = []
    is_equal = all(list(ours[path]) == list(theirs[path]) for path in goals)
    for path, names in goals.items():
        lacking = ", ".join(f"`{name}`" for name in ours[path][2] if name not in theirs[path][2])
        equal = "the same as the reference" if is_equal else "no line differs here; other parts do"
        if lacking:
            equal = (
                f"no line differs, but the reference also defines {lacking}, which the answer lacks"
            )
        for name, golden, function in zip(names, ours[path][0], theirs[path][0], strict=True):
            title = f"{path}::{name}" if configuration_of(row).is_method else name
            parts.append(_section(f"{title}, from the reference", golden, function, equal))
    for path, names in goals.items():
        _, given, _ = split_source(masked[path].data.decode(), names)
        if given != theirs[path][1]:
            parts.append(
                _section(f"The rest of {path}, from the masked file", given, theirs[path][1])
            )
    return parts


def split_source(source: str, names: Sequence[str]) -> tuple[list[str], str, list[str]]:
    """Split a file into functions without their docstrings and the rest; also return its definitions at the top."""
    nodes, lines = [find_function(source, name).node for name in names], split_lines(source)
    taken = {
        number for node in nodes for number in range(first_line(node) - 1, block_end(lines, node))
    }
    rest = "".join(line for number, line in enumerate(lines) if number not in taken)
    return (
        [_without_docstring(lines, node) for node in nodes],
        rest,
        list(bound_names(parse(source).body)),
    )


def _without_docstring(lines: list[str], node: FunctionNode) -> str:
    """Return the lines of a function without those of its docstring."""
    start, end = first_line(node) - 1, block_end(lines, node)
    first, *others = node.body
    skipped = range(0)
    if (
        ast.get_docstring(node, clean=False) is not None
        and others
        and first.end_lineno is not None
        and node.lineno < first.lineno
    ):
        # Another statement may follow on its last line.
        skipped = range(first.lineno - 1, min(first.end_lineno, first_line(others[0]) - 1))
    return "".join(
        line for number, line in enumerate(lines[start:end], start) if number not in skipped
    )


def _section(title: str, golden: str, candidate: str, equal: str = "") -> DiffSection:
    """Compare a part of the answer with that of the reference; `equal` is the note where no line differs."""
    before, after = split_text(golden), split_text(candidate)
    if max(len(before), len(after)) > MAX_FILE_LINES:
        return DiffSection(
            title, before, after, [DiffLine("note", f"too long to compare: {len(after)} lines")]
        )
    lines = list(_lines(before, after))
    if not lines:
        return DiffSection(title, before, after, [DiffLine("note", equal)])
    return DiffSection(
        title, before, after, lines[:MAX_DIFF_LINES] + _more(len(lines) - MAX_DIFF_LINES)
    )


def _lines(before: list[str], after: list[str]) -> Iterator[DiffLine]:
    groups = difflib.SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(
        CONTEXT_LINES
    )
    for count, group in enumerate(groups):
        if count:
            yield DiffLine("hunk", f"line {group[0][3] + 1}")
        for tag, start, end, new_start, new_end in group:
            if tag == "equal":
                yield from (
                    DiffLine("same", after[number], number) for number in range(new_start, new_end)
                )
                continue
            yield from (DiffLine("del", before[number], number) for number in range(start, end))
            yield from (
                DiffLine("add", after[number], number) for number in range(new_start, new_end)
            )


def _more(count: int) -> list[DiffLine]:
    return [DiffLine("note", plural(count, "more line"))] if count > 0 else []
