"""Measure the structure of a repository, as in the LMR-BENCH paper's Appendix G.

Depth and branch factor are defined so that they give the numbers of structure.csv, which has no other measures. The
definitions of imbalance and goal length are our own.
"""

import io
import tokenize
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from statistics import fmean, pstdev

from ..base.source import find_function
from ..dataset.rows import DatasetRow, only_functions
from ..loader import read_archive
from ..original import facts


@dataclass(frozen=True)
class TreeMeasures:
    """A repository as a tree of directories; the root is a directory, but not an entry."""

    files: int
    directories: int
    """Without the root."""
    average_directory_depth: float
    """Mean depth of all entries (files and directories); those of the root have depth 1."""
    average_branch_factor: float
    """Mean number of subdirectories, over the directories (root included) that have any; 0 if none has."""
    directory_imbalance: float | None = None
    """Standard deviation over mean of how many entries a directory (root included) holds; 0 if all hold the same."""


@dataclass(frozen=True)
class MeasuredRepository:
    """The measures of a task's repository."""

    paper: str
    """Answers to one paper share its repository."""
    tree: TreeMeasures
    goal_length: int | None = None
    """Lines of the reference function, without blank lines, comments and docstring."""


def measure_tree(paths: Collection[str]) -> TreeMeasures:
    """Measure a repository.

    Args:
        paths: its files, relative, with `/`; directories are those of the files.
    """
    files = {PurePosixPath(path) for path in paths}
    root = PurePosixPath(".")
    directories = {parent for file in files for parent in file.parents if parent != root}
    entries = files | directories
    held = Counter(entry.parent for entry in entries)
    below = Counter(entry.parent for entry in directories)
    sizes = [held[directory] for directory in (root, *directories)]
    return TreeMeasures(
        len(files),
        len(directories),
        fmean(len(entry.parts) for entry in entries) if entries else 0.0,
        fmean(below.values()) if below else 0.0,
        pstdev(sizes) / fmean(sizes) if entries else 0.0,
    )


def goal_length(source: str, function: str) -> int:
    """Lines of a function (decorators included) that hold code.

    Raises:
        SourceError: there is no such function.
    """
    target = find_function(source, function)
    first, last = target.first_line, target.node.end_lineno or target.node.lineno
    return len(_code_lines(source) & set(range(first, last + 1)))


def _code_lines(source: str) -> set[int]:
    """Numbers of the lines with code: no blank ones, no comments, no strings that stand alone (docstrings)."""
    passing = {tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER}
    lines: set[int] = set()
    statement: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(source.removeprefix("\ufeff")).readline):
        if token.type == tokenize.NEWLINE:
            if any(part.type != tokenize.STRING for part in statement):
                lines.update(line for part in statement for line in range(part.start[0], part.end[0] + 1))
            statement = []
        elif token.type not in passing:
            statement.append(token)
    return lines


def original_repositories() -> tuple[dict[str, MeasuredRepository], list[str]]:
    """The repositories in structure.csv by number of paper, and the folders without measures."""
    found, empty = {}, []
    for item in facts.structures():
        if not item.files:
            empty.append(item.folder)  # two of them stand under another paper's number (10 under 1, 21 under 2)
            continue
        tree = TreeMeasures(item.files, item.directories, item.average_directory_depth, item.average_branch_factor)
        found[str(item.paper)] = MeasuredRepository(str(item.paper), tree)
    return found, empty


def task_repositories(rows: Collection[DatasetRow]) -> Iterator[tuple[str, MeasuredRepository]]:
    """Instance id and repository of each row, from its masked archive and its reference.

    Raises:
        InputError: a row is a method.
    """
    only_functions(rows, "the analysis of structure")
    for row in rows:
        tree = measure_tree(list(read_archive(row["repo_archive"])))
        yield (
            row["instance_id"],
            MeasuredRepository(row["paper_url"], tree, goal_length(row["golden_file"], row["goal_function"])),
        )
