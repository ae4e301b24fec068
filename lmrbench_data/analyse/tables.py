"""The LMR-BENCH paper's Table 2, and the agreement of judge, people and tests: for its data, or for any runs.

Table 2: unit-test accuracy and the shares of CC, LC, LI by the judge and by people, by model and setting. Agreement:
both gave the same category. Conflict: one says CC and the other LI, in either order; this definition gives the
paper's 9.5 %. CC against the rest is our own collapse of the three categories. The paper's Table 6 differs: its judge
was asked for binary verdicts, which are not published.
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from lmrbench_evaluate.judge.category import BEST_FIRST
from lmrbench_evaluate.reports.agreement import PairAgreement

from ..base.shares import Share
from ..base.text_table import Table
from .answers import JUDGE, NOTHING, PEOPLE, UNIT_TESTS, Answers
from .bootstrap import kappa_interval
from .result import Analysis

if TYPE_CHECKING:
    import pandas as pd

ALL = "all"
BOTH = "judge and people"


class Cell(NamedTuple):
    """The share of a group's answers to which a rater gave a label."""

    group: str
    rater: str
    """A measure of the tests, `judge`, `people`, or `judge and people`."""
    label: str
    """`passed`, a category, `agreement` or `conflict`."""
    share: Share


@dataclass(frozen=True)
class Tables(Analysis):
    """The tables and their numbers."""

    answers: Answers
    cells: Sequence[Cell]
    """Table 2, agreement and conflicts."""
    pairs: Sequence[tuple[str, PairAgreement]]
    """Each two raters on the answers of a group; the last group is of all answers."""
    title: str = "Accuracy, categories and agreement"

    @property
    def categories(self) -> list[tuple[str, PairAgreement]]:
        """Judge and people, three categories."""
        return [(group, pair) for group, pair in self.pairs if pair.first == JUDGE]

    @property
    def binary(self) -> list[tuple[str, PairAgreement]]:
        """Each two raters after the collapse: passed, or CC, against the rest."""
        return [(group, pair.binary) for group, pair in self.pairs]

    @property
    def confusion(self) -> Counter[tuple[str, str]]:
        """(people, judge) → answers."""
        return Counter((people, judge) for _, pair in self.categories[-1:] for _, judge, people in pair.labels)

    def cell(self, group: str, rater: str, label: str) -> Share | None:
        """A cell by its names; None if there is nothing to count."""
        return next((cell.share for cell in self.cells if cell[:3] == (group, rater, label)), None)

    def tables(self) -> list[tuple[str, Table]]:
        """The tables that are not empty."""
        measures = self.answers.measures
        tables = [
            *((f"Table 2: accuracy ({measure})", self._shares(measure, ["passed"])) for measure in measures),
            ("Table 2: the judge's categories", self._shares(JUDGE, BEST_FIRST)),
            ("Table 2: people's categories", self._shares(PEOPLE, BEST_FIRST)),
            ("CC against the rest", self._collapsed()),
            ("Agreement between the judge and people", self._agreement()),
            ("People against the judge", self._confusion()),
            ("Tests against judge and people", self._tests()),
        ]
        return [(title, table) for title, table in tables if table[1]]

    def notes(self) -> list[str]:
        """Explanations of the tables' terms, and of missing data."""
        lines = [
            f"Counted from {self.answers.source}. Intervals are 95 %: Wilson's of shares, with the number of instances "
            "as n; the bootstrap over instances of Cohen's kappa."
        ]
        if self.answers.is_original:
            lines += missing_in(self.answers)
        else:
            lines.append(
                "Reproduced: every core case passed; robust: every case. Shares are of all instances; one without an "
                "answer passed nothing. The judge's are as in `lmrbench report`, people's of what they labelled."
            )
        if self.confusion:
            lines.append("Agreement: the same category of three. Conflict: one says CC and the other LI.")
        return [*lines, *self.answers.notes]

    def records(self) -> list[dict[str, Any]]:
        """One row for each cell."""
        return [{"group": c.group, "rater": c.rater, "label": c.label, **_numbers(c.share)} for c in self.cells]

    def to_dict(self) -> dict[str, Any]:
        """All numbers."""
        return {
            "source": self.answers.source,
            "answers": len(self.answers.frame),
            "cells": self.records(),
            "categories": [_pair_dict(*pair) for pair in self.categories],
            "binary": [_pair_dict(*pair) for pair in self.binary],
            "confusion": [{"people": a, "judge": b, "answers": n} for (a, b), n in sorted(self.confusion.items())],
            "notes": self.notes(),
        }

    def _shares(self, rater: str, labels: Sequence[str]) -> Table:
        header = ["model", *(text for label in labels for text in (label, "95 %"))]
        rows = []
        for group in self.answers.frame["group"].unique():
            shares = [self.cell(group, rater, label) for label in labels]
            if any(shares):
                rows.append([group, *(text for share in shares for text in _texts(share))])
        return header, rows

    def _collapsed(self) -> Table:
        rows = []
        for group, pair in self.binary:
            if pair.first == JUDGE:
                shares = [_texts(self.cell(group, rater, "CC"))[0] for rater in (JUDGE, PEOPLE)]
                rows.append([group, *shares, *_texts(pair.agreement), *_kappa_texts(pair)])
        return ["model", "judge: CC", "people: CC", "agreement", "95 %", "kappa", "95 %"], rows

    def _agreement(self) -> Table:
        rows = [
            [group, *_texts(pair.agreement), *_kappa_texts(pair), *_texts(pair.conflicts)]
            for group, pair in self.categories
        ]
        return ["model", "agreement", "95 %", "kappa", "95 %", "conflicts", "95 %"], rows

    def _confusion(self) -> Table:
        rows = [[f"people: {a}", *(str(self.confusion[a, b]) for b in BEST_FIRST)] for a in BEST_FIRST]
        return ["", *(f"judge: {name}" for name in BEST_FIRST)], rows if self.confusion else []

    def _tests(self) -> Table:
        rows = [
            [group, f"{pair.first} - {pair.second}", *_texts(pair.agreement), *_kappa_texts(pair)]
            for group, pair in self.binary
            if pair.first != JUDGE
        ]
        return ["model", "raters", "agreement", "95 %", "kappa", "95 %"], rows


def make_tables(answers: Answers) -> Tables:
    """Count the tables."""
    frame = answers.frame
    groups = dict(iter(frame.groupby("group", sort=False)))
    cells: list[Cell] = []
    pairs: list[tuple[str, PairAgreement]] = []
    for group, rows in {**groups, **({ALL: frame} if len(groups) > 1 else {})}.items():
        for rater in (*answers.measures, JUDGE, PEOPLE):
            cells += _cells(str(group), rater, rows)
        for first, second in [(JUDGE, PEOPLE), *itertools.product(answers.measures, (JUDGE, PEOPLE))]:
            rated = rows[["instance_id", first, second]].replace(NOTHING, None).dropna()
            if rated.empty:
                continue
            pair = PairAgreement(first, second, list(rated.itertuples(index=False, name=None)))
            pairs.append((str(group), pair))
            if first == JUDGE:
                shares = {"agreement": pair.agreement, "conflict": pair.conflicts}
                cells += [Cell(str(group), BOTH, label, share) for label, share in shares.items()]
    return Tables(answers, cells, pairs)


def missing_in(answers: Answers) -> list[str]:
    """The cells that the original's data does not contain."""
    tested = answers.frame.groupby("group", sort=False)[UNIT_TESTS].any()
    lines = [
        f"No unit-test result is published for {' or '.join(tested.index[~tested])}, so their accuracy is unknown."
    ]
    return [
        *(lines if not tested.all() else []),
        "Claude 3.7 with OpenHands is left out: only its unit tests are published, and labels.csv does not list it.",
        "Each answer was labelled by one person, so the experts' agreement (Appendix B) cannot be computed.",
        "Tables 3, 5 and 6 and Figure 7 cannot be computed either: their data is not published. Table 6 uses binary "
        "verdicts of the judge, which are not the collapsed categories.",
    ]


def _cells(group: str, rater: str, rows: "pd.DataFrame") -> Iterator[Cell]:
    """The shares of a rater's labels; none if there was nothing to rate."""
    rated = rows.dropna(subset=rater)
    if (rated[rater] == NOTHING).all():  # a judge who was never asked says nothing
        return
    for name in BEST_FIRST if rater in (JUDGE, PEOPLE) else ("passed",):
        hits = zip(rated["instance_id"], (rated[rater] == name).tolist(), strict=True)
        yield Cell(group, rater, str(name), Share.clustered(hits))


def _texts(share: Share | None) -> tuple[str, str]:
    return (share.fraction, share.bounds) if share else ("-", "-")


def _kappa_texts(pair: PairAgreement) -> tuple[str, str]:
    interval = kappa_interval(pair)
    value = "-" if pair.kappa is None else f"{pair.kappa:.2f}"
    return value, f"{interval[0]:.2f} - {interval[1]:.2f}" if interval else "-"


def _numbers(share: Share) -> dict[str, Any]:
    low, high = share.interval
    return {"part": share.part, "whole": share.whole, "share": share.value, "low": low, "high": high}


def _pair_dict(group: str, pair: PairAgreement) -> dict[str, Any]:
    numbers = {**_numbers(pair.agreement), "kappa": pair.kappa, "kappa_ci95": kappa_interval(pair)}
    return {"group": group, "first": pair.first, "second": pair.second, **numbers}
