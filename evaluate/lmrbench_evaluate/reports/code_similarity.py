"""Measure length and similarity of an answer's functions beside the reference's: features that may bias a judge."""

import ast
import copy
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from lmrbench_data.base.source import find_function
from lmrbench_data.dataset.rows import DatasetRow, goals_of, golden_files_of

from ..predictions.prediction import Prediction
from ..rebuild.workspace import rebuild

_TOKEN = re.compile(r"\w+|[^\w\s]")


class CodeSimilarity(NamedTuple):
    """Length and similarity of two answers' functions without comments, docstring and layout."""

    length: float
    """Number of characters, as a multiple of the reference's."""
    similarity: float
    """Share of common pairs of neighbouring tokens (Dice), from 0 to 1."""


def compare_with_reference(row: DatasetRow, prediction: Prediction) -> CodeSimilarity:
    """Compare the goal functions of an answer with the reference's; several count as one text.

    Raises:
        MalformedAnswerError: the answer cannot be applied.
    """
    files, golden = rebuild(row, prediction), golden_files_of(row)
    names = [(path, name) for path, names in goals_of(row).items() for name in names]
    theirs = "\n".join(_function(files[path].data.decode("utf-8"), name) for path, name in names)
    ours = "\n".join(_function(golden[path], name) for path, name in names)
    return CodeSimilarity(len(theirs) / len(ours), _dice(_TOKEN.findall(theirs), _TOKEN.findall(ours)))


def _function(source: str, name: str) -> str:
    node = find_function(source, name).node
    if ast.get_docstring(node, clean=False) is not None and len(node.body) > 1:
        node = copy.copy(node)
        node.body = node.body[1:]
    return ast.unparse(node)


def _dice(first: Sequence[str], second: Sequence[str]) -> float:
    a, b = Counter(pairwise(first)), Counter(pairwise(second))
    return 2 * (a & b).total() / (a.total() + b.total())
