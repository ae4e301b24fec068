"""Parts that a row's repository lacks beside its goal functions: other masked functions, and removed helpers."""

import ast
from collections.abc import Iterator

from ..base.source import SourceError, bound_names, parse
from ..loader import read_archive
from ..tasks.masking import is_masked
from .rows import DatasetRow, goals_of, golden_files_of


def other_masked_functions(row: DatasetRow) -> dict[str, list[str]]:
    """Return file → masked functions that other rows ask for, so that no row shows the answer to another."""
    goals, others = goals_of(row), {}
    for path, file in read_archive(row["repo_archive"]).items():
        if path.endswith(".py") and b"raise NotImplementedError" in file.data:
            try:
                names = list(_masked(parse(file.data.decode("utf-8")).body))
            except (SourceError, UnicodeDecodeError):
                continue
            if beside := [name for name in names if name not in goals.get(path, ())]:
                others[path] = beside
    return others


def _masked(body: list[ast.stmt], above: str = "") -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _masked(node.body, f"{above}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and is_masked(node):
            yield f"{above}{node.name}"


def lacks_helpers(row: DatasetRow) -> bool:
    """Return whether the reference has definitions that the repository lacks: only its goal functions use them."""
    files = read_archive(row["repo_archive"])
    return any(
        not {*bound_names(parse(text).body)}
        <= {*bound_names(parse(files[path].data.decode("utf-8", "replace")).body)}
        for path, text in golden_files_of(row).items()
        if path in files  # a stranger's row may name any
    )
