"""Compare an answer line by line: the goal functions with the reference; then the rest.

Docstrings of the functions are left out. The rest is compared with the file that the model got,
which lacks the helpers that only the reference needs.
"""

import ast
import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lmrbench_data.base.configurations import configuration_of
from lmrbench_data.base.errors import LMRBenchError
from lmrbench_data.base.limited_calls import call_on_answer
from lmrbench_data.base.source import (
    FunctionNode,
    block_end,
    find_function,
    first_line,
    split_lines,
)
from lmrbench_data.base.text import plural, split_text
from lmrbench_data.dataset.rows import DatasetRow, goals_of, golden_files_of
from lmrbench_data.loader import File, read_archive

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


class _Parts(NamedTuple):
    """The parts of a goal file."""

    functions: list[str]
    """The goal functions without their docstrings."""
    rest: str


def diff_answer(row: DatasetRow, prediction: Prediction) -> list[DiffSection]:
    """Return each goal function, and the rest of each goal file that differs.

    An answer that cannot be applied is shown unchanged.
    """
    try:
        files = rebuild(row, prediction)
        answer = {
            path: _Parts(
                *call_on_answer(split_source, files[path].data.decode("utf-8", "replace"), names)
            )
            for path, names in goals_of(row).items()
        }
    except LMRBenchError as error:
        return [_as_submitted(prediction.content, error)]
    return [*_function_sections(row, answer), *_rest_sections(row, answer)]


def _text(file: File) -> str:
    return file.data.decode("utf-8", "replace")


def _as_submitted(content: str, error: LMRBenchError) -> DiffSection:
    text = split_text(content)
    lines = _numbered("same", text, range(len(text)))
    note = DiffLine("note", f"cannot be applied: {error}")
    return DiffSection("The answer as submitted", [], text, [note, *_first(lines)])


def _function_sections(row: DatasetRow, answer: Mapping[str, _Parts]) -> Iterator[DiffSection]:
    """Compare the goal functions with those of the reference."""
    goals = goals_of(row)
    golden = golden_files_of(row)
    reference = {path: _Parts(*split_source(golden[path], goals[path])) for path in goals}
    note = "no line differs here, but the files differ elsewhere"
    if reference == answer:
        note = "the same as the reference"
    for path, names in goals.items():
        for number, name in enumerate(names):
            title = f"{path}::{name}" if configuration_of(row).is_method else name
            yield _section(
                f"{title}, from the reference",
                reference[path].functions[number],
                answer[path].functions[number],
                note,
            )


def _rest_sections(row: DatasetRow, answer: Mapping[str, _Parts]) -> Iterator[DiffSection]:
    """Compare the rest of each goal file with the masked one, if it differs."""
    masked = read_archive(row["repo_archive"])
    for path, names in goals_of(row).items():
        _, rest = split_source(masked[path].data.decode(), names)
        if rest != answer[path].rest:
            yield _section(f"The rest of {path}, from the masked file", rest, answer[path].rest)


def split_source(source: str, names: Sequence[str]) -> tuple[list[str], str]:
    """Split a file into functions without their docstrings, and the rest."""
    lines = split_lines(source)
    rest = list(lines)
    functions = []
    for name in names:
        node = find_function(source, name).node
        place = range(first_line(node) - 1, block_end(lines, node))
        docstring = _docstring_lines(node)
        functions.append("".join(lines[number] for number in place if number not in docstring))
        rest[place.start : place.stop] = [""] * len(place)
    return functions, "".join(rest)


def _docstring_lines(node: FunctionNode) -> range:
    """Return the indices of the lines of a docstring that hold no other statement."""
    first, *others = node.body
    is_docstring = ast.get_docstring(node, clean=False) is not None
    if not is_docstring or not others or first.lineno == node.lineno:
        return range(0)
    assert first.end_lineno is not None
    return range(first.lineno - 1, min(first.end_lineno, first_line(others[0]) - 1))


def _section(title: str, golden: str, candidate: str, equal: str = "") -> DiffSection:
    """Compare a part of the answer with the reference; `equal` is the note where none differs."""
    before, after = split_text(golden), split_text(candidate)
    if max(len(before), len(after)) > MAX_FILE_LINES:
        lines = [DiffLine("note", f"too long to compare: {len(after)} lines")]
    else:
        lines = _first(list(_lines(before, after))) or [DiffLine("note", equal)]
    return DiffSection(title, before, after, lines)


def _lines(before: list[str], after: list[str]) -> Iterator[DiffLine]:
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for count, group in enumerate(matcher.get_grouped_opcodes(CONTEXT_LINES)):
        if count:
            yield DiffLine("hunk", f"line {group[0][3] + 1}")
        for tag, start, end, new_start, new_end in group:
            if tag != "equal":
                yield from _numbered("del", before, range(start, end))
            yield from _numbered(
                "same" if tag == "equal" else "add", after, range(new_start, new_end)
            )


def _numbered(kind: str, lines: list[str], numbers: range) -> list[DiffLine]:
    return [DiffLine(kind, lines[number], number) for number in numbers]


def _first(lines: list[DiffLine]) -> list[DiffLine]:
    """Return the first lines, with the number of the others."""
    more = len(lines) - MAX_DIFF_LINES
    note = [DiffLine("note", plural(more, "more line"))] if more > 0 else []
    return lines[:MAX_DIFF_LINES] + note
