"""The LMR-BENCH paper's Table 2, and the agreement of judge, people and tests: for its data, or for any runs.

Table 2: unit-test accuracy and the shares of CC, LC, LI by the judge and by people, by model and setting. Agreement:
both gave the same category. Conflict: one says CC and the other LI, in either order; this definition gives the
paper's 9.5 %. CC against the rest is our own collapse of the three categories. The paper's Table 6 differs: its judge
was asked for binary verdicts, which are not published.
"""

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lmrbench_evaluate.judge.category import BEST_FIRST

from ..base.shares import Share
from ..base.text_table import Table
from .bootstrap import Kappa, cohen
from .judged_answers import JUDGE, NOTHING, PEOPLE, UNIT_TESTS, Answers, RatedAnswer
from .result import Analysis

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


class Pairing(NamedTuple):
    """Two raters on the answers of a group that both rated."""

    group: str
    first: str
    second: str
    agreement: Share
    kappa: Kappa


@dataclass(frozen=True)
class Tables(Analysis):
    """The tables and their numbers."""

    answers: Answers
    cells: Sequence[Cell]
    """Table 2, agreement and conflicts."""
    categories: Sequence[Pairing]
    """Judge and people, three categories."""
    binary: Sequence[Pairing]
    """Each two raters after the collapse: passed, or CC, against the rest."""
    confusion: Counter[tuple[str, str]]
    """(people, judge) → answers."""
    title: str = "Accuracy, categories and agreement"

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
            "answers": len(self.answers.rows),
            "cells": self.records(),
            "categories": [_pair_dict(pair) for pair in self.categories],
            "binary": [_pair_dict(pair) for pair in self.binary],
            "confusion": [{"people": a, "judge": b, "answers": n} for (a, b), n in sorted(self.confusion.items())],
            "notes": self.notes(),
        }

    def _shares(self, rater: str, labels: Sequence[str]) -> Table:
        header = ["model", *(text for label in labels for text in (label, "95 %"))]
        rows = []
        for group in self.answers.groups:
            shares = [self.cell(group, rater, label) for label in labels]
            if any(shares):
                rows.append([group, *(text for share in shares for text in _texts(share))])
        return header, rows

    def _collapsed(self) -> Table:
        rows = []
        for pair in self.binary:
            if pair.first == JUDGE:
                shares = [_texts(self.cell(pair.group, rater, "CC"))[0] for rater in (JUDGE, PEOPLE)]
                rows.append([pair.group, *shares, *_texts(pair.agreement), *_kappa_texts(pair.kappa)])
        return ["model", "judge: CC", "people: CC", "agreement", "95 %", "kappa", "95 %"], rows

    def _agreement(self) -> Table:
        rows = []
        for pair in self.categories:
            conflict = self.cell(pair.group, BOTH, "conflict")
            rows.append([pair.group, *_texts(pair.agreement), *_kappa_texts(pair.kappa), *_texts(conflict)])
        return ["model", "agreement", "95 %", "kappa", "95 %", "conflicts", "95 %"], rows

    def _confusion(self) -> Table:
        rows = [[f"people: {a}", *(str(self.confusion[a, b]) for b in BEST_FIRST)] for a in BEST_FIRST]
        return ["", *(f"judge: {name}" for name in BEST_FIRST)], rows if self.confusion else []

    def _tests(self) -> Table:
        rows = [
            [pair.group, f"{pair.first} - {pair.second}", *_texts(pair.agreement), *_kappa_texts(pair.kappa)]
            for pair in self.binary
            if pair.first != JUDGE
        ]
        return ["model", "raters", "agreement", "95 %", "kappa", "95 %"], rows


def make_tables(answers: Answers) -> Tables:
    """Count the tables."""
    groups = answers.groups
    if len(groups) > 1:
        groups = {**groups, ALL: list(answers.rows)}
    cells, categories, binary = [], [], []
    pairs = [(JUDGE, PEOPLE), *itertools.product(answers.measures, (JUDGE, PEOPLE))]
    for group, rows in groups.items():
        for rater in (*answers.measures, JUDGE, PEOPLE):
            cells += _cells(group, rater, rows)
        for first, second in pairs:
            labels = [(row.instance_id, row.label(first), row.label(second)) for row in rows]
            rated = [(name, a, b) for name, a, b in labels if a and b and NOTHING not in (a, b)]
            if rated:
                binary.append(_pair(group, first, second, [(name, _is_right(a), _is_right(b)) for name, a, b in rated]))
            if rated and first == JUDGE:
                pair = _pair(group, first, second, rated)
                conflict = Share.clustered((name, {a, b} == {"CC", "LI"}) for name, a, b in rated)
                categories.append(pair)
                cells += [Cell(group, BOTH, "agreement", pair.agreement), Cell(group, BOTH, "conflict", conflict)]
    confusion = Counter(
        (str(row.people), str(row.judge)) for row in answers.rows if row.people and row.judge in BEST_FIRST
    )
    return Tables(answers, cells, categories, binary, confusion)


def missing_in(answers: Answers) -> list[str]:
    """The cells that the original's data does not contain."""
    untested = [name for name, rows in answers.groups.items() if all(r.passed[UNIT_TESTS] is None for r in rows)]
    lines = [f"No unit-test result is published for {' or '.join(untested)}, so their accuracy is unknown."]
    return [
        *(lines if untested else []),
        "Claude 3.7 with OpenHands is left out: only its unit tests are published, and labels.csv does not list it.",
        "Each answer was labelled by one person, so the experts' agreement (Appendix B) cannot be computed.",
        "Tables 3, 5 and 6 and Figure 7 cannot be computed either: their data is not published. Table 6 uses binary "
        "verdicts of the judge, which are not the collapsed categories.",
    ]


def _cells(group: str, rater: str, rows: Sequence[RatedAnswer]) -> list[Cell]:
    """The shares of a rater's labels; none if there was nothing to rate."""
    rated = [(row.instance_id, label) for row in rows if (label := row.label(rater))]
    if all(label == NOTHING for _, label in rated):  # a judge who was never asked says nothing
        return []
    labels = BEST_FIRST if rater in (JUDGE, PEOPLE) else ("passed",)
    return [
        Cell(group, rater, str(name), Share.clustered((instance, label == name) for instance, label in rated))
        for name in labels
    ]


def _pair(group: str, first: str, second: str, rated: Sequence[tuple[str, str, str]]) -> Pairing:
    """Two raters on instances with their labels."""
    names, a, b = zip(*rated, strict=True)
    same = Share.clustered((name, one == other) for name, one, other in rated)
    return Pairing(group, first, second, same, cohen(a, b, names))


def _is_right(label: str) -> str:
    return str(label in ("passed", "CC"))


def _texts(share: Share | None) -> tuple[str, str]:
    return ("-", "-") if share is None or not share.whole else (share.fraction, share.bounds)


def _kappa_texts(kappa: Kappa) -> tuple[str, str]:
    value = "-" if kappa.value is None else f"{kappa.value:.2f}"
    return value, "-" if kappa.interval is None else f"{kappa.interval[0]:.2f} - {kappa.interval[1]:.2f}"


def _numbers(share: Share) -> dict[str, Any]:
    low, high = share.interval
    return {"part": share.part, "whole": share.whole, "share": share.value, "low": low, "high": high}


def _pair_dict(pair: Pairing) -> dict[str, Any]:
    kappa = {"kappa": pair.kappa.value, "kappa_ci95": pair.kappa.interval}
    return {"group": pair.group, "first": pair.first, "second": pair.second, **_numbers(pair.agreement), **kappa}
