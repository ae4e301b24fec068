"""Rename the columns of a source to the keys of a prediction (`docs/predictions.md`).

A mapped column replaces one that has the key's name already. A mapped column that no row has is an error.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from lmrbench_data.base.errors import ArgumentError
from lmrbench_data.base.suggestions import did_you_mean
from lmrbench_data.dataset.result_rows import PredictionRow

from .sources import WORDS, Source

KEYS = tuple(PredictionRow.__annotations__)


def parse_columns(texts: Sequence[str]) -> dict[str, str]:
    """Parse pairs of the command line, `THEIRS=OURS`.

    Raises:
        ArgumentError: a text is not such a pair, or names a column for the second time.
    """
    columns: dict[str, str] = {}
    for text in texts:
        theirs, equals, ours = text.rpartition("=")  # our names have no `=`, theirs may
        if not (theirs and equals and ours):
            raise ArgumentError("map", f"{text!r} is not THEIRS=OURS, such as completion=function")
        if columns.setdefault(theirs, ours) != ours:
            raise ArgumentError("map", f"{theirs!r} is given twice, for {columns[theirs]!r} and {ours!r}; choose one")
    return columns


def check_columns(columns: Mapping[str, str], source: Source) -> None:
    """Check a mapping before any row is read.

    Args:
        columns: column of the source → key.
        source: the source of the predictions.

    Raises:
        ArgumentError: a key does not exist or has two columns, or the source has no columns.
    """
    if columns and isinstance(source, str) and source in WORDS:
        raise ArgumentError("map", f"`{source}` has no columns")
    taken: dict[str, str] = {}
    for theirs, ours in columns.items():
        if ours not in KEYS:
            near = did_you_mean(ours, KEYS)
            problem = f"a prediction has no key {ours!r}{near}; its keys are {', '.join(KEYS)}"
            raise ArgumentError("map", problem)
        if first := taken.get(ours):
            raise ArgumentError("map", f"{first!r} and {theirs!r} are both mapped to {ours!r}; choose one")
        taken[ours] = theirs


def rename_columns(
    rows: Iterable[tuple[str, Any]], columns: Mapping[str, str], source: str
) -> Iterator[tuple[str, Any]]:
    """Yield rows and their places with mapped columns renamed; values other than objects pass unchanged.

    Args:
        source: the name of the source in messages.

    Raises:
        ArgumentError: at the end, if no row has a mapped column.
    """
    missing, seen = set(columns), set[str]()
    for place, raw in rows:
        if not isinstance(raw, dict):
            yield place, raw
            continue
        if missing:
            missing -= raw.keys()
            seen.update(raw)
        found = {ours: raw[theirs] for theirs, ours in columns.items() if theirs in raw}
        gone = columns.keys() | found.keys()
        yield place, {**{name: value for name, value in raw.items() if name not in gone}, **found}
    if missing and seen:
        theirs = next(name for name in columns if name in missing)
        near = did_you_mean(theirs, seen)
        raise ArgumentError("map", f"no row of {source} has a column {theirs!r}{near}")
