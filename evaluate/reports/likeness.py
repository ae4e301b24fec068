"""How long an answer's function is beside the reference's, and how far it looks like it: what could bias a judge."""

import ast
import copy
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from ...rows import DatasetRow
from ...source import find_function
from ..predictions import Prediction
from ..workspace import rebuild

_TOKEN = re.compile(r"\w+|[^\w\s]")


class Likeness(NamedTuple):
    """Both without comments, docstring and layout."""

    length: float
    """Characters, as a multiple of the reference's."""
    similarity: float
    """Share of neighbouring tokens that both have (Dice), from 0 to 1."""


def likeness(row: DatasetRow, prediction: Prediction) -> Likeness:
    """Compare the functions of an answer that can be applied and of the reference.

    Raises:
        MalformedAnswer: it cannot be applied.
    """
    name = row["goal_function"]
    theirs = _function(rebuild(row, prediction)[row["goal_file"]].data.decode("utf-8"), name)
    ours = _function(row["golden_file"], name)
    return Likeness(len(theirs) / len(ours), _dice(_TOKEN.findall(theirs), _TOKEN.findall(ours)))


def _function(source: str, name: str) -> str:
    node = find_function(source, name).node
    if ast.get_docstring(node, clean=False) is not None and len(node.body) > 1:
        node = copy.copy(node)
        node.body = node.body[1:]
    return ast.unparse(node)


def _dice(first: Sequence[str], second: Sequence[str]) -> float:
    a, b = Counter(pairwise(first)), Counter(pairwise(second))
    return 2 * (a & b).total() / (a.total() + b.total())
