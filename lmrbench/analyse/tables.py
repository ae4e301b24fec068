"""The LMR-BENCH paper's Table 2, and the agreement of judge, people and tests: its own, or of runs.

Table 2: unit-test accuracy and the shares of CC, LC, LI by the judge and by people, by model and
setting. Agreement: both gave the same category. Conflict: one says CC and the other LI, in either
order; this definition gives the paper's 9.5%. CC against the rest is our own collapse of the three
categories. The paper's Table 6 differs: its judge was asked for binary verdicts, which are not
published.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from lmrbench_data.base.proportions import Share
from lmrbench_evaluate.judge.opinion import BEST_FIRST
from lmrbench_evaluate.reports.agreement import PairAgreement
from lmrbench_evaluate.reports.score_tables import confusion_table
from lmrbench_evaluate.reports.text_table import Table

from ..original import facts
from .answers import JUDGE, NOTHING, PEOPLE, Answers
from .result import Analysis, by_group

if TYPE_CHECKING:
    import pandas as pd

BOTH = "judge and people"


class Cell(NamedTuple):
    """The share of a group's answers that have a label."""

    group: str
    rater: str
    """A measure of the tests, `judge`, `people` or both."""
    label: str
    """`passed`, a category, `agreement` or `conflict`."""
    share: Share


class Pair(NamedTuple):
    """The agreement of two raters on the answers of a group."""

    group: str
    raters: PairAgreement


@dataclass
class _Counts:
    """What the tables show."""

    cells: list[Cell]
    categories: list[Pair]
    """Judge and people, on the three categories."""
    binary: list[Pair]
    """All raters, on right and wrong."""
    confusion: Counter[tuple[str, str]]
    """(people, judge) → answers."""


def make_tables(answers: Answers) -> Analysis:
    """Count the tables."""
    import pandas as pd

    counts = _count(answers)
    records = [_record(cell) for cell in counts.cells]
    notes = _notes(answers, counts.confusion)
    numbers = {
        "source": answers.source,
        "answers": len(answers.frame),
        "cells": records,
        "categories": _pair_records(counts.categories),
        "binary": _pair_records(counts.binary),
        "confusion": _confusion_records(counts.confusion),
        "notes": notes,
    }
    title = "Accuracy, categories and agreement"
    tables = _tables(answers.measures, counts)
    return Analysis(title, tables, notes, pd.DataFrame(records), numbers)


def _confusion_records(confusion: Counter[tuple[str, str]]) -> list[dict[str, Any]]:
    records = []
    for (people, judge), number in sorted(confusion.items()):
        records.append({"people": people, "judge": judge, "answers": number})
    return records


def _tables(measures: Sequence[str], counts: _Counts) -> list[tuple[str, Table]]:
    """Return the tables that have rows, with their titles."""
    tables = {}
    for measure in measures:
        tables[f"Table 2: accuracy ({measure})"] = _share_table(counts.cells, measure)
    tables |= {
        "Table 2: the judge's categories": _share_table(counts.cells, JUDGE),
        "Table 2: people's categories": _share_table(counts.cells, PEOPLE),
        "Agreement between the judge and people": _category_table(counts.categories),
        "People against the judge": confusion_table(counts.confusion),
        "Agreement on right (CC, or passed) and wrong": _binary_table(counts.binary),
    }
    return [(title, (header, rows)) for title, (header, rows) in tables.items() if rows]


# --- numbers --------------------------------------------------------------------------------------


def _count(answers: Answers) -> _Counts:
    cells: list[Cell] = []
    pairs: list[Pair] = []
    for group, rows in by_group(answers.frame, "group"):
        for rater in (*answers.measures, JUDGE, PEOPLE):
            cells += _cells(group, rater, rows)
        pairs += _pairs(group, answers.measures, rows)
    categories = [pair for pair in pairs if pair.raters.first == JUDGE]
    for group, raters in categories:
        cells.append(Cell(group, BOTH, "agreement", raters.agreement))
        cells.append(Cell(group, BOTH, "conflict", raters.conflicts))
    binary = [Pair(group, raters.binary) for group, raters in pairs]
    return _Counts(cells, categories, binary, _confusion(categories))


def _cells(group: str, rater: str, rows: "pd.DataFrame") -> Iterator[Cell]:
    """Yield the shares of a rater's labels; none if there was nothing to rate."""
    rated = rows.dropna(subset=rater)
    if (rated[rater] == NOTHING).all():  # a judge who was never asked says nothing
        return
    labels = map(str, BEST_FIRST) if rater in (JUDGE, PEOPLE) else ["passed"]
    for label in labels:
        hits = zip(rated["instance_id"], (rated[rater] == label).tolist(), strict=True)
        yield Cell(group, rater, label, Share.clustered(hits))


def _pairs(group: str, measures: Sequence[str], rows: "pd.DataFrame") -> Iterator[Pair]:
    """Yield the agreement of judge and people, and of each measure of the tests with both."""
    raters = [(JUDGE, PEOPLE)]
    for measure in measures:
        raters += [(measure, JUDGE), (measure, PEOPLE)]
    for first, second in raters:
        labels = rows[["instance_id", first, second]].replace(NOTHING, None).dropna()
        if len(labels):
            triples = list(labels.itertuples(index=False, name=None))
            yield Pair(group, PairAgreement(first, second, triples))


def _confusion(categories: Sequence[Pair]) -> Counter[tuple[str, str]]:
    """Count people's and the judge's categories of all answers, which are the last group."""
    if not categories:
        return Counter()
    return Counter((people, judge) for _, judge, people in categories[-1].raters.labels)


def _record(cell: Cell) -> dict[str, Any]:
    names = {"group": cell.group, "rater": cell.rater, "label": cell.label}
    return {**names, **_numbers(cell.share)}


def _pair_records(pairs: Iterable[Pair]) -> list[dict[str, Any]]:
    records = []
    for group, raters in pairs:
        names = {"group": group, "first": raters.first, "second": raters.second}
        records.append({**names, **_numbers(raters.agreement), "kappa": raters.kappa})
    return records


def _numbers(share: Share) -> dict[str, Any]:
    low, high = share.interval
    counts = {"part": share.part, "whole": share.whole}
    return {**counts, "share": share.value, "low": low, "high": high}


# --- text -----------------------------------------------------------------------------------------


def _share_table(cells: Iterable[Cell], rater: str) -> Table:
    header = ["model"]
    rows: dict[str, list[str]] = {}
    for cell in cells:
        if cell.rater == rater:
            if cell.label not in header:
                header += [cell.label, "95%"]
            row = rows.setdefault(cell.group, [cell.group])
            row += [cell.share.fraction, cell.share.bounds]
    return header, list(rows.values())


def _category_table(pairs: Iterable[Pair]) -> Table:
    rows = []
    for group, raters in pairs:
        conflicts = raters.conflicts
        rows.append([group, *_agreement(raters), conflicts.fraction, conflicts.bounds])
    return ["model", "agreement", "95%", "kappa", "conflicts", "95%"], rows


def _binary_table(pairs: Iterable[Pair]) -> Table:
    rows = []
    for group, raters in pairs:
        rows.append([group, f"{raters.first} - {raters.second}", *_agreement(raters)])
    return ["model", "raters", "agreement", "95%", "kappa"], rows


def _agreement(pair: PairAgreement) -> list[str]:
    """Return the cells of an agreement: share, interval, kappa."""
    kappa = "-" if pair.kappa is None else f"{pair.kappa:.2f}"
    return [pair.agreement.fraction, pair.agreement.bounds, kappa]


def _notes(answers: Answers, confusion: Mapping[tuple[str, str], int]) -> list[str]:
    """Return explanations of the tables' terms, and of missing data."""
    lines = [
        f"Counted from {answers.source}. Intervals are Wilson's 95% intervals, with the number of "
        "instances as n."
    ]
    if answers.is_original:
        lines += facts.UNPUBLISHED
    else:
        lines.append(
            "Reproduced: every core case passed; robust: every case. Shares are of all instances; "
            "one without an answer passed nothing. The judge's are as in `lmrbench report`, "
            "people's of what they labelled."
        )
    if confusion:
        lines.append(
            "Agreement: the same category of three. Conflict: one says CC and the other LI."
        )
    return [*lines, *answers.notes]
