"""Gather the shared parts of an instance's answers in a warm container: libraries to import, sources to compile."""

import ast
from collections.abc import Iterator

from lmrbench_data.base.source import SourceError, python_text
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import read_archive

from ..sandbox.warm import Recipe
from .workspace import without_experiments


def recipe_of(row: DatasetRow) -> Recipe:
    """Return the libraries that the masked repository and the cases import, and their sources.

    Nothing of an answer or of the golden file is part of it: every job of the instance could read it.
    """
    repo = without_experiments(row, read_archive(row["repo_archive"]))
    texts: dict[str, str] = {}
    for folder, files in (("repo", repo), ("tests", read_archive(row["tests_archive"]))):
        for path, file in files.items():
            if path.endswith(".py"):
                try:
                    texts[f"/work/job/{folder}/{path}"] = python_text(file.data)
                except SourceError:
                    continue  # the jobs report it if anything imports it
    own = {path.split("/")[0].removesuffix(".py") for path in repo} | {"lmrbench_cases"}
    imported = {name for text in texts.values() for name in _imports(text)} | {"numpy"}
    modules = sorted(name for name in imported if name.split(".")[0] not in own)
    return Recipe(row["instance_id"], tuple(modules), tuple(texts.items()))


def _imports(source: str) -> Iterator[str]:
    """Yield the modules that a source may import, submodules included."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
