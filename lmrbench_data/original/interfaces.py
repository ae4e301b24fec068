"""Find the original's functions with our interface: our tests can evaluate their answers.

The published reference and ours must agree in name and parameters. That is necessary, not sufficient: run the published
references (`references.jsonl` of an import) through our core cases to prove that both mean the same.
"""

import ast
import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from ..base.definitions import imported
from ..base.source import (
    FunctionNode,
    SourceError,
    find_function,
    first_line,
    indentation,
    parse,
    reindent,
    split_lines,
)
from ..dataset.rows import DatasetRow
from ..loader import read_archive
from .goals import Goal


class Interface(NamedTuple):
    """The signatures of a function in the original and here."""

    instance_id: str
    original: str
    ours: str

    @property
    def is_same(self) -> bool:
        """True if the signatures agree."""
        return bool(self.original) and self.original == self.ours


def compare_interfaces(goals: Sequence[Goal], rows: Sequence[DatasetRow]) -> list[Interface]:
    """Compare the signatures of the functions that both have.

    Args:
        rows: of our own dataset.
    """
    ours = {row["instance_id"]: row for row in rows}
    found = []
    for goal in goals:
        row = ours.get(goal.function.instance_id)
        if row is not None:
            theirs = signature(goal.golden or goal.masked or "", goal.name)
            found.append(Interface(row["instance_id"], theirs, signature(row["golden_file"], row["goal_function"])))
    return sorted(found)


def signature(source: str, name: str) -> str:
    """Name and parameters of a function, without annotations and values of defaults; empty if there is none."""
    try:
        node = find_function(source, name).node
    except SourceError:
        return ""
    spec, bare = node.args, ast.arguments([], [], None, [], [], None, [])
    for kind in ("posonlyargs", "args", "kwonlyargs"):
        setattr(bare, kind, [ast.arg(item.arg) for item in getattr(spec, kind)])
    for kind in ("vararg", "kwarg"):
        item = getattr(spec, kind)
        setattr(bare, kind, ast.arg(item.arg) if item else None)
    bare.defaults = [ast.Constant(...) for _ in spec.defaults]
    bare.kw_defaults = [None if item is None else ast.Constant(...) for item in spec.kw_defaults]
    return f"{node.name}({ast.unparse(bare)})"


def as_function(text: str, start: str, name: str, row: DatasetRow) -> str:
    """Return a function as an answer to our instance, with the file's other additions and the imports it needs.

    Args:
        start: the file before it was edited.
        name: of the function in `text`.
        row: our instance, whose goal file has imports of its own.

    Raises:
        SourceError: one of the files cannot be parsed, or there is no such function.
    """
    target, lines = find_function(text, name), split_lines(text)
    ours = read_archive(row["repo_archive"])[row["goal_file"]].data.decode("utf-8")
    bound = {alias for node in parse(ours).body for alias in imported(node, "")}
    known = {ast.dump(node) for node in parse(start).body}
    holder = target.parents[0] if target.parents else target.node
    body = parse(text).body
    added = [node for node in body if node.lineno != holder.lineno and ast.dump(node) not in known]
    used = {part.id for node in (target.node, *added) for part in ast.walk(node) if isinstance(part, ast.Name)}
    kept = [
        node
        for node in body
        if (imported(node, "").keys() & used) - bound
        or (node.lineno in {item.lineno for item in added} and _is_code(node))
    ]
    parts = [_at_margin(lines, node) for node in kept]
    owner = target.parents[-1] if target.parents else None
    if not isinstance(owner, ast.ClassDef) or not row["class_name"]:
        return "\n\n\n".join([*parts, _at_margin(lines, target.node)]) + "\n"
    before = _members(start, name.rpartition(".")[0])
    new = [node for node in owner.body if isinstance(node, FunctionNode) and node.name not in before]
    methods = "\n\n".join(_at_margin(lines, node) for node in (*new, target.node))
    return "\n\n\n".join([*parts, f"class {row['class_name']}:\n{textwrap.indent(methods, '    ')}"]) + "\n"


def _at_margin(lines: list[str], node: ast.stmt) -> str:
    text = "".join(lines[first_line(node) - 1 : node.end_lineno])
    return reindent(text, indentation(lines, node.lineno), "").rstrip("\n")


def _members(source: str, owner: str) -> set[str]:
    """The names of the methods that a class has."""
    return {
        node.name
        for item in ast.walk(parse(source))
        if isinstance(item, ast.ClassDef) and item.name == owner.rpartition(".")[2]
        for node in item.body
        if isinstance(node, FunctionNode)
    }


def _is_code(node: ast.stmt) -> bool:
    """Return whether a statement can be part of an answer: a definition, a constant or an import."""
    return isinstance(node, FunctionNode | ast.ClassDef | ast.Assign | ast.AnnAssign | ast.Import | ast.ImportFrom)
