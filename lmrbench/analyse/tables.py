"""The LMR-BENCH paper's Table 2, and the agreement of judge, people and tests: its own, or of runs.

Table 2: unit-test accuracy and the shares of CC, LC, LI by the judge and by people, by model and
setting. Agreement: both gave the same category. Conflict: one says CC and the other LI, in either
order; this definition gives the paper's 9.5%. CC against the rest is our own collapse of the three
categories. The paper's Table 6 differs: its judge was asked for binary verdicts, which are not
published.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from lmrbench_data.base.proportions import Share
from lmrbench_evaluate.judge.opinion import BEST_FIRST
from lmrbench_evaluate.reports.agreement import PairAgreement, confusion_records
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


#: A group, and the agreement of two raters on its answers.
Pair = tuple[str, PairAgreement]


def make_tables(answers: Answers) -> Analysis:
    """Count the tables."""
    import pandas as pd

    cells, pairs = _count(answers)
    categories = [(group, pair) for group, pair in pairs if pair.first == JUDGE]
    binary = [(group, pair.binary) for group, pair in pairs]
    confusion = _confusion(categories)
    tables = {f"Table 2: accuracy ({name})": _share_table(cells, name) for name in answers.measures}
    tables |= {
        "Table 2: the judge's categories": _share_table(cells, JUDGE),
        "Table 2: people's categories": _share_table(cells, PEOPLE),
        "Agreement between the judge and people": _category_table(categories),
        "People against the judge": confusion_table(confusion),
        "Agreement on right (CC, or passed) and wrong": _binary_table(binary),
    }
    notes = _notes(answers, confusion)
    records = [_record(*cell) for cell in cells]
    numbers = {
        "source": answers.source,
        "answers": len(answers.frame),
        "cells": records,
        "categories": [_pair_record(*pair) for pair in categories],
        "binary": [_pair_record(*pair) for pair in binary],
        "confusion": confusion_records(confusion),
        "notes": notes,
    }
    title = "Accuracy, categories and agreement"
    shown = [(name, table) for name, table in tables.items() if table[1]]
    return Analysis(title, shown, notes, pd.DataFrame(records), numbers)


# --- numbers --------------------------------------------------------------------------------------


def _count(answers: Answers) -> tuple[list[Cell], list[Pair]]:
    """Return the cells, and the pairs of raters on three categories or on the tests' two."""
    cells: list[Cell] = []
    pairs: list[Pair] = []
    for group, rows in by_group(answers.frame, "group"):
        for rater in (*answers.measures, JUDGE, PEOPLE):
            cells += _cells(group, rater, rows)
        pairs += _pairs(group, answers.measures, rows)
    for group, pair in pairs:
        if pair.first == JUDGE:
            cells.append(Cell(group, BOTH, "agreement", pair.agreement))
            cells.append(Cell(group, BOTH, "conflict", pair.conflicts))
    return cells, pairs


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
            yield group, PairAgreement(first, second, triples)


def _confusion(categories: Sequence[Pair]) -> Counter[tuple[str, str]]:
    """Count people's and the judge's categories of all answers, which are the last group."""
    labels = categories[-1][1].labels if categories else ()
    return Counter((people, judge) for _, judge, people in labels)


def _record(group: str, rater: str, label: str, share: Share) -> dict[str, Any]:
    return {"group": group, "rater": rater, "label": label, **_numbers(share)}


def _pair_record(group: str, pair: PairAgreement) -> dict[str, Any]:
    names = {"group": group, "first": pair.first, "second": pair.second}
    return {**names, **_numbers(pair.agreement), "kappa": pair.kappa}


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
