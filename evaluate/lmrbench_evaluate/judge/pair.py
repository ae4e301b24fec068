"""Compare a goal file with the reference's: their goal functions, and what else each changes in the file."""

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from lmrbench_data.base.source import FunctionNode, find_function, is_overload, parse, split_lines

from .bare import code_only, names_in


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


def compare(path: str, names: Sequence[str], texts: Sequence[str], elsewhere: bytes) -> Pair:
    """Compare a goal file of an answer with the reference's.

    Args:
        names: the goal functions.
        texts: the file as it was given, the reference's, and the candidate's.
        elsewhere: all other code, which may read names of the file.

    Raises:
        SourceError: a file does not define each function once.
        NotPlainError: it cannot be printed without its remarks.
    """
    given, *filled = (re.sub(r"\r\n?", "\n", text.removeprefix("\ufeff")) for text in texts)
    read = names_in(elsewhere)
    reference, candidate = (code_only(text, read) for text in filled)
    # A string that only the functions read is in use in the given file, too.
    known = list(_statements(parse(code_only(given, names_in("\n".join(filled).encode()) | read)).body, names))
    return Pair(path, _side(reference, names, known), _side(candidate, names, known), candidate == reference)


def _side(source: str, names: Sequence[str], known: Sequence[str]) -> Side:
    lines, functions = split_lines(source), {}
    for name in names:
        target = find_function(source, name)
        functions[name] = "".join(lines[target.first_line - 1 : target.node.end_lineno]).rstrip("\n")
    own = list(_statements(parse(source).body, names))
    if own == known:
        return Side(functions, "")
    added, missing = _without(own, known), _without(known, own)
    blocks = [*added, *(["[these statements of the given file are missing:]", *missing] if missing else [])]
    return Side(functions, "\n\n".join(blocks) or "[the same statements in another order]")


def _without(texts: Sequence[str], others: Sequence[str]) -> list[str]:
    left, kept = Counter(others), []
    for text in texts:
        if left[text]:
            left[text] -= 1
        else:
            kept.append(text)
    return kept


def _statements(body: Sequence[ast.stmt], goals: Collection[str], above: str = "") -> Iterator[str]:
    """Yield the statements of a file but its goal functions; each statement of a class is one, below its class."""
    for node in body:
        name = f"{above}{getattr(node, 'name', '')}"
        if isinstance(node, ast.ClassDef):
            place, members = f"[in class `{name}`]\n", node.body
            node.body = [ast.Pass()]
            yield ast.unparse(node)
            yield from (place + text for text in _statements(members, goals, f"{name}.") if text != "pass")
        elif not (isinstance(node, FunctionNode) and name in goals and not is_overload(node)):
            yield ast.unparse(node)
