"""Parts that a row's repository lacks beside its goal functions: siblings and removed helpers."""

import ast
import contextlib
from collections.abc import Iterator

from ..base.source import FunctionNode, SourceError, bound_names, parse, python_text
from ..loader import read_archive
from ..tasks.masking import is_masked
from .rows import DatasetRow, goals_of, golden_files_of


def other_masked_functions(row: DatasetRow) -> dict[str, list[str]]:
    """Return file → masked functions that other rows ask for."""
    goals = goals_of(row)
    others: dict[str, list[str]] = {}
    for path, file in read_archive(row["repo_archive"]).items():
        if path.endswith(".py") and b"raise NotImplementedError" in file.data:
            with contextlib.suppress(SourceError):
                body = parse(python_text(file.data)).body
                names = [name for name in _masked(body) if name not in goals.get(path, ())]
                if names:
                    others[path] = names
    return others


def _masked(body: list[ast.stmt], above: str = "") -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _masked(node.body, f"{above}{node.name}.")
        elif isinstance(node, FunctionNode) and is_masked(node):
            yield f"{above}{node.name}"


def lacks_helpers(row: DatasetRow) -> bool:
    """Return whether the reference has definitions that the repository lacks."""
    files = read_archive(row["repo_archive"])
    for path, text in golden_files_of(row).items():
        if path in files:  # a stranger's row may name any
            present = bound_names(parse(files[path].data.decode("utf-8", "replace")).body)
            if set(bound_names(parse(text).body)).difference(present):
                return True
    return False
