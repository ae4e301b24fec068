"""Measure the structure of a repository, as in the LMR-BENCH paper's Appendix G.

Depth and branch factor are defined so that they give the numbers of structure.csv, which has no other measures. The
definitions of imbalance and goal length are our own.
"""

import ast
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import PurePosixPath
from statistics import fmean, pstdev

from ..base.source import find_function
from ..dataset.rows import DatasetRow, only_functions
from ..loader import read_archive
from ..original import facts

DEPTH, BRANCHES = "average directory depth", "average branch factor"
IMBALANCE, LENGTH = "directory imbalance", "goal length"
MEASURES = (DEPTH, BRANCHES, IMBALANCE, LENGTH)


def measure_tree(paths: Iterable[str]) -> dict[str, float]:
    """Measure a repository as a tree of directories; the root is a directory, but not an entry.

    Depth is the mean depth of all entries (files and directories), where those of the root have depth 1. The branch
    factor is the mean number of subdirectories of the directories that have any, 0 if none has. Imbalance is standard
    deviation over mean of the number of entries of a directory.

    Args:
        paths: its files, relative, with `/`; directories are those of the files.
    """
    files = {PurePosixPath(path) for path in paths}
    root = PurePosixPath(".")
    directories = {parent for file in files for parent in file.parents if parent != root}
    entries = files | directories
    sizes = Counter(entry.parent for entry in entries)
    below = Counter(entry.parent for entry in directories)
    held = [sizes[directory] for directory in (root, *directories)]
    return {
        DEPTH: fmean(len(entry.parts) for entry in entries),
        BRANCHES: fmean(below.values()) if below else 0.0,
        IMBALANCE: pstdev(held) / fmean(held),
    }


def goal_length(source: str, function: str) -> int:
    """Lines of a function as Python prints its syntax tree: no blank lines, comments or docstring."""
    node = find_function(source, function).node
    if ast.get_docstring(node, clean=False) is not None:
        node.body.pop(0)
    return len(ast.unparse(node).splitlines())


def original_measures() -> tuple[dict[str, dict[str, float]], list[str]]:
    """The measures in structure.csv by number of paper, and the folders without measures."""
    frame = facts.structures()  # two of the empty ones stand under another paper's number (10 under 1, 21 under 2)
    names = {"average_directory_depth": DEPTH, "average_branch_factor": BRANCHES}
    measured = frame[frame["files"] > 0].rename(columns=names).set_index("paper")[[DEPTH, BRANCHES]]
    measures = {str(paper): row for paper, row in measured.to_dict("index").items()}
    return measures, frame.loc[frame["files"] == 0, "folder"].tolist()


def task_measures(rows: Collection[DatasetRow]) -> dict[str, dict[str, float]]:
    """The measures of each row's masked repository and reference, by instance."""
    only_functions(rows, "the analysis of structure")
    return {
        row["instance_id"]: {
            **measure_tree(read_archive(row["repo_archive"])),
            LENGTH: goal_length(row["golden_file"], row["goal_function"]),
        }
        for row in rows
    }
