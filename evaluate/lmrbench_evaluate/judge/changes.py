"""Find what an answer changes: goal functions, the rest of their files, and files that may run.

The code may come from a model, so `compare_answer` runs in a child process (`call_limited`).
"""

import ast
import difflib
import itertools
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from lmrbench_data.base.source import SourceError, find_function, parse, split_lines

from ..rebuild.reach import reachable, words_in
from .strip_remarks import code_only, looks_at_itself, names_read


class Side(NamedTuple):
    """A goal file of the candidate or of the reference, printed anew."""

    functions: dict[str, str]
    """Qualified name of each goal function → its source."""
    rest: str
    """A unified diff from the masked file, printed anew, both without the goal functions."""


class Pair(NamedTuple):
    """A goal file of the candidate beside the reference's."""

    path: str
    reference: Side
    candidate: Side
    identical: bool


def compare_answer(
    masked: Mapping[str, str],
    rebuilt: Mapping[str, str],
    golden: Mapping[str, str],
    goals: Mapping[str, Sequence[str]],
    changed: Sequence[str],
    cases: Sequence[str],
) -> tuple[list[Pair], list[tuple[str, str]]]:
    """Compare each goal file with the reference's.

    Args:
        masked: the repository as it was given: path → text.
        rebuilt: the repository with the answer.
        golden: the reference's goal files.
        goals: goal file → its goal functions.
        changed: the other files that the answer changed.
        cases: sources of the code that calls the goal functions.

    Returns:
        The pairs, and (name, text to show) of other changed files that may run.

    Raises:
        SourceError: a goal file does not define each function once, or cannot be printed without
            its remarks.
    """
    with_words = any(looks_at_itself(rebuilt.get(path, "")) for path in (*goals, *changed))
    pairs = []
    for path, functions in goals.items():
        versions = masked, golden, rebuilt
        others = itertools.chain.from_iterable(_others(files, path) for files in versions)
        words = words_in([*cases, *others])
        texts = [files[path] for files in versions]
        pairs.append(_pair(path, functions, texts, words, with_words))
    may_run = reachable({**masked, **rebuilt}, goals, cases) if changed else set[str]()
    names = [path for path in changed if path in may_run]
    return pairs, [(name, _shown(rebuilt, name, with_words)) for name in names]


def _pair(
    path: str,
    functions: Sequence[str],
    texts: Sequence[str],
    read_elsewhere: set[str],
    with_words: bool,
) -> Pair:
    """Compare the masked, the golden and the rebuilt text of a file, printed anew."""
    # What one version reads is in use in all: equal statements are printed alike.
    read = read_elsewhere.union(*(names_read(parse(text)) for text in texts))
    masked, golden, rebuilt = (code_only(text, read, with_words=with_words) for text in texts)
    given = _lines_around(masked, functions)
    reference = _side(golden, functions, given)
    candidate = _side(rebuilt, functions, given)
    return Pair(path, reference, candidate, rebuilt == golden)


def _others(files: Mapping[str, str], path: str) -> list[str]:
    return [text for name, text in files.items() if name != path]


def _side(source: str, functions: Sequence[str], masked: Sequence[str]) -> Side:
    """Compare a printed file with the lines of the masked file around the goal functions."""
    shown = {name: ast.unparse(find_function(source, name).node) for name in functions}
    diff = difflib.unified_diff(masked, _lines_around(source, functions), n=0)
    return Side(shown, "".join(itertools.islice(diff, 2, None)).rstrip())


def _lines_around(source: str, functions: Sequence[str]) -> list[str]:
    """Return the lines of a printed file without its goal functions."""
    lines = split_lines(source)
    nodes = [find_function(source, name).node for name in functions]
    for node in sorted(nodes, key=attrgetter("lineno"), reverse=True):
        first = min(part.lineno for part in (node, *node.decorator_list))
        del lines[first - 1 : node.end_lineno]
    return lines


def _shown(rebuilt: Mapping[str, str], name: str, with_words: bool) -> str:
    if name not in rebuilt:
        return "[the candidate removed this file]"
    try:
        words = words_in(_others(rebuilt, name))
        return code_only(rebuilt[name], words, with_words=with_words)
    except SourceError:
        return "[not shown: this is not Python that can be taken apart]"
