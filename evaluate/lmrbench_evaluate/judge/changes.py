"""Find what an answer changes: goal functions, the rest of their files, and files that may run.

The code may come from a model, so `compare_answer` runs in a child process (`call_limited`).
"""

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from lmrbench_data.base.source import FunctionNode, SourceError, find_function, is_companion, parse

from .strip_remarks import code_only, looks_at_itself, names_read


class _Versions(NamedTuple):
    """The three texts of a file."""

    masked: str
    golden: str
    rebuilt: str


class Side(NamedTuple):
    """A goal file of the candidate or of the reference, printed anew."""

    functions: dict[str, str]
    """Qualified name of each goal function → its source."""
    rest: str
    """What differs from the masked file outside the goal functions; empty if nothing does."""


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
        versions = _Versions(masked[path], golden[path], rebuilt[path])
        words = _words(cases)
        for files in (masked, golden, rebuilt):
            words |= _words(_others(files, path))
        pairs.append(_pair(path, functions, _printed(versions, words, with_words)))
    reachable = _reachable({**masked, **rebuilt}, goals, cases) if changed else set[str]()
    names = [path for path in changed if path in reachable]
    return pairs, [(name, _shown(rebuilt, name, with_words)) for name in names]


def _printed(versions: _Versions, read_elsewhere: set[str], with_words: bool) -> _Versions:
    """Print the versions of a file anew."""
    # What one version reads is in use in all: equal statements are printed alike.
    read = read_elsewhere.union(*(names_read(parse(text)) for text in versions))
    return _Versions(*(code_only(text, read, with_words=with_words) for text in versions))


def _pair(path: str, functions: Sequence[str], printed: _Versions) -> Pair:
    """Compare the printed versions of a file."""
    statements = list(_statements(parse(printed.masked).body, functions))
    reference = _side(printed.golden, functions, statements)
    candidate = _side(printed.rebuilt, functions, statements)
    return Pair(path, reference, candidate, printed.rebuilt == printed.golden)


def _others(files: Mapping[str, str], path: str) -> list[str]:
    return [text for name, text in files.items() if name != path]


def _words(texts: Iterable[str]) -> set[str]:
    """Return every word of these texts that could be a Python name."""
    return set(re.findall(r"[^\W\d]\w*", "\n".join(texts)))


def _side(source: str, functions: Sequence[str], masked: Sequence[str]) -> Side:
    """Compare a printed file with the statements of the masked file beside the goal functions."""
    shown = {name: ast.unparse(find_function(source, name).node) for name in functions}
    statements = list(_statements(parse(source).body, functions))
    if statements == masked:
        return Side(shown, "")
    blocks = list((Counter(statements) - Counter(masked)).elements())
    missing = list((Counter(masked) - Counter(statements)).elements())
    if missing:
        blocks += ["[these statements of the given file are missing:]", *missing]
    return Side(shown, "\n\n".join(blocks) or "[the same statements in another order]")


def _statements(body: Sequence[ast.stmt], goals: Collection[str], above: str = "") -> Iterator[str]:
    """Yield the statements of a file but its goal functions; members stand below their class."""
    for node in body:
        name = f"{above}{getattr(node, 'name', '')}"
        is_definition = isinstance(node, FunctionNode) and not is_companion(node)
        if isinstance(node, ast.ClassDef):
            yield from _class_statements(node, goals, name)
        elif not is_definition or name not in goals:
            yield ast.unparse(node)


def _class_statements(node: ast.ClassDef, goals: Collection[str], name: str) -> Iterator[str]:
    """Yield the head of a class, and its members."""
    members = list(_statements(node.body, goals, f"{name}."))
    node.body = [ast.Pass()]
    yield ast.unparse(node)
    for text in members:
        if text != "pass":
            yield f"[in class `{name}`]\n{text}"


def _shown(rebuilt: Mapping[str, str], name: str, with_words: bool) -> str:
    if name not in rebuilt:
        return "[the candidate removed this file]"
    try:
        words = _words(_others(rebuilt, name))
        return code_only(rebuilt[name], words, with_words=with_words)
    except SourceError:
        return "[not shown: this is not Python that can be taken apart]"


def _reachable(files: Mapping[str, str], goals: Collection[str], cases: Sequence[str]) -> set[str]:
    """Return the Python files that may run: those that the cases mention, or that these mention.
    The word `more` reaches every `more.py` and `more/__init__.py`, in an import as in a string.
    """
    modules = {path: _module_name(path) for path in files}
    reached = set(goals)
    waiting = [*(files[path] for path in goals), *cases]
    while waiting:
        words = _words([waiting.pop()])
        new = {path for path, module in modules.items() if module in words} - reached
        waiting += [files[path] for path in new]
        reached |= new
    return reached


def _module_name(path: str) -> str:
    """Return the last part of a Python module's name; empty for other files."""
    parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
    is_module = path.endswith(".py") and all(part.isidentifier() for part in parts)
    return parts[-1] if is_module else ""
