"""Find what an answer changes: the goal functions, the rest of their files, and other files that may run.

The code may come from a model, so `compare_answer` runs in a child process (`call_limited`).
"""

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from lmrbench_data.base.source import FunctionNode, SourceError, find_function, is_companion, parse

from .strip_remarks import code_only, looks_at_itself, names_read


class Side(NamedTuple):
    """A goal file of the candidate or of the reference, printed anew."""

    functions: dict[str, str]
    """Qualified name of each goal function → its source."""
    rest: str
    """What differs from the given file outside the goal functions; empty if nothing does."""


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
    """Compare each goal file with the reference's, and return (name, text to show) of other files that may run.

    Args:
        masked: the repository as it was given: path → text.
        rebuilt: the repository with the answer.
        golden: the reference's goal files.
        goals: goal file → its goal functions.
        changed: the other files that the answer changed; those that are prose or data are left out.
        cases: sources of the code that calls the goal functions.

    Raises:
        SourceError: a goal file does not define each function once, or cannot be printed without its remarks.
    """
    with_words = any(looks_at_itself(rebuilt.get(path, "")) for path in (*goals, *changed))
    pairs = []
    for path, names in goals.items():
        versions = masked[path], golden[path], rebuilt[path]
        others = [
            text
            for files in (masked, rebuilt, golden)
            for name, text in files.items()
            if name != path
        ]
        # What one version reads is in use in all of them, so that equal statements are printed alike.
        read = _names(*cases, *others).union(*map(names_read, versions))
        given, reference, candidate = (
            code_only(text, read, with_words=with_words) for text in versions
        )
        known = list(_statements(parse(given).body, names))
        sides = _side(reference, names, known), _side(candidate, names, known)
        pairs.append(Pair(path, *sides, identical=candidate == reference))
    reachable = _reachable({**masked, **rebuilt}, goals, cases) if changed else ()
    return pairs, [
        (path, _shown(rebuilt, path, with_words)) for path in changed if path in reachable
    ]


def _names(*texts: str) -> set[str]:
    """Return every word of these texts that could be a Python name."""
    return set(re.findall(r"[^\W\d]\w*", "\n".join(texts)))


def _side(source: str, names: Sequence[str], known: Sequence[str]) -> Side:
    """Compare a printed file with the statements that the given file has besides the goal functions."""
    functions = {name: ast.unparse(find_function(source, name).node) for name in names}
    statements = list(_statements(parse(source).body, names))
    if statements == known:
        return Side(functions, "")
    blocks = list((Counter(statements) - Counter(known)).elements())
    if missing := list((Counter(known) - Counter(statements)).elements()):
        blocks += ["[these statements of the given file are missing:]", *missing]
    return Side(functions, "\n\n".join(blocks) or "[the same statements in another order]")


def _statements(body: Sequence[ast.stmt], goals: Collection[str], above: str = "") -> Iterator[str]:
    """Yield the statements of a file but its goal functions; each statement of a class is one, below its class."""
    for node in body:
        name = f"{above}{getattr(node, 'name', '')}"
        if isinstance(node, ast.ClassDef):
            members = list(_statements(node.body, goals, f"{name}."))
            node.body = [ast.Pass()]
            yield ast.unparse(node)
            yield from (f"[in class `{name}`]\n{text}" for text in members if text != "pass")
        elif not (isinstance(node, FunctionNode) and name in goals and not is_companion(node)):
            yield ast.unparse(node)


def _shown(rebuilt: Mapping[str, str], name: str, with_words: bool) -> str:
    if name not in rebuilt:
        return "[the candidate removed this file]"
    try:
        others = _names(*(text for path, text in rebuilt.items() if path != name))
        return code_only(rebuilt[name], others, with_words=with_words)
    except SourceError:
        return "[not shown: this is not Python that can be taken apart]"


def _reachable(files: Mapping[str, str], goals: Collection[str], cases: Sequence[str]) -> set[str]:
    """Return the Python files that may run with the cases: those that they mention, directly or indirectly.

    The word `more` reaches every `more.py` and `more/__init__.py`, in an import as in a string or a remark.
    """
    by_stem: dict[str, set[str]] = {}
    for path in files:
        parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
        if path.endswith(".py") and all(part.isidentifier() for part in parts):
            by_stem.setdefault(parts[-1], set()).add(path)
    reached, waiting = set(goals), [*(files[path] for path in goals), *cases]
    while waiting:
        for name in _names(waiting.pop()) & by_stem.keys():
            waiting += [files[path] for path in by_stem[name] - reached]
            reached |= by_stem[name]
    return reached
