"""How a repository is built, in numbers: the measures of the LMR-BENCH paper's Appendix G.

Depth and branch factor are defined so that they give the numbers of structure.csv. How the paper measures imbalance and
goal length is not in its published data: these two definitions are our own.
"""

import io
import tokenize
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from statistics import fmean, pstdev

from ..loader import read_archive
from ..original import facts
from ..rows import DatasetRow
from ..source import find_function


@dataclass(frozen=True)
class Tree:
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
class Repository:
    """What an answer's task is measured by."""

    paper: str
    """Answers to one paper share its repository."""
    tree: Tree
    goal_length: int | None = None
    """Lines of the reference function, without blank lines, comments and docstring."""


def measure_tree(paths: Collection[str]) -> Tree:
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
    return Tree(
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


def original_repositories() -> tuple[dict[str, Repository], list[str]]:
    """The original's repositories by number of paper; apart from them, those that were measured as empty (folders)."""
    found, empty = {}, []
    for item in facts.structures():
        if not item.files:
            empty.append(item.folder)  # two of them stand under another paper's number (10 under 1, 21 under 2)
            continue
        tree = Tree(item.files, item.directories, item.average_directory_depth, item.average_branch_factor)
        found[str(item.paper)] = Repository(str(item.paper), tree)
    return found, empty


def task_repositories(rows: Collection[DatasetRow]) -> Iterator[tuple[str, Repository]]:
    """Instance id and repository of each row, from its masked archive and its reference."""
    for row in rows:
        tree = measure_tree(list(read_archive(row["repo_archive"])))
        yield (
            row["instance_id"],
            Repository(row["paper_url"], tree, goal_length(row["golden_file"], row["goal_function"])),
        )
