"""The LMR-BENCH paper's Table 2, and the agreement of judge, people and tests: for its data, or for any runs.

Table 2: unit-test accuracy and the shares of CC, LC, LI by the judge and by people, by model and setting. Agreement:
both gave the same category. Conflict: one says CC and the other LI, in either order; this definition gives the
paper's 9.5 %. CC against the rest is our own collapse of the three categories. The paper's Table 6 differs: its judge
was asked for binary verdicts, which are not published.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lmrbench_evaluate.judge.category import BEST_FIRST

from ..base.shares import Share
from ..base.text_table import Table
from .bootstrap import Kappa, cohen
from .judged_answers import UNIT_TESTS, Answers, RatedAnswer
from .result import Analysis

ALL = "all"
JUDGE, PEOPLE = "judge", "people"
BOTH = "judge and people"


@dataclass(frozen=True)
class Measured:
    """One cell: the share of a group's answers to which a rater gave a label."""

    group: str
    rater: str
    """A measure of the tests, `judge`, `people`, or two of them."""
    label: str
    """`passed`, a category, `agreement` or `conflict`."""
    found: Share


@dataclass(frozen=True)
class Pairing:
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
    cells: Sequence[Measured]
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
        return next((c.found for c in self.cells if (c.group, c.rater, c.label) == (group, rater, label)), None)

    def tables(self) -> list[tuple[str, Table]]:
        """The tables that are not empty."""
        found = [
            *(
                (f"Table 2: accuracy ({measure})", self._shares(measure, ["passed"]))
                for measure in self.answers.measures
            ),
            ("Table 2: the judge's categories", self._shares(JUDGE, BEST_FIRST)),
            ("Table 2: people's categories", self._shares(PEOPLE, BEST_FIRST)),
            ("CC against the rest", _pairings([p for p in self.binary if p.first == JUDGE], self.cell)),
            ("Agreement between the judge and people", self._agreement()),
            ("People against the judge", self._confusion()),
            ("Tests against judge and people", _pairings([p for p in self.binary if p.first != JUDGE], None)),
        ]
        return [(title, table) for title, table in found if table[1]]

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
        return [{"group": c.group, "rater": c.rater, "label": c.label, **_as_dict(c.found)} for c in self.cells]

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
            found = [self.cell(group, rater, label) for label in labels]
            if any(found):
                rows.append([group, *(text for cell in found for text in _cell(cell))])
        return header, rows

    def _agreement(self) -> Table:
        rows = []
        for pair in self.categories:
            conflict = self.cell(pair.group, BOTH, "conflict")
            rows.append([pair.group, *_cell(pair.agreement), *_kappa(pair.kappa), *_cell(conflict)])
        return ["model", "agreement", "95 %", "kappa", "95 %", "conflicts", "95 %"], rows

    def _confusion(self) -> Table:
        rows = [[f"people: {a}", *(str(self.confusion[a, b]) for b in BEST_FIRST)] for a in BEST_FIRST]
        return ["", *(f"judge: {name}" for name in BEST_FIRST)], rows if self.confusion else []


def make_tables(answers: Answers) -> Tables:
    """Count the tables."""
    raters: dict[str, Callable[[RatedAnswer], str | None]] = {
        **{measure: _tests(measure) for measure in answers.measures},
        JUDGE: lambda row: row.judge,
        PEOPLE: lambda row: row.people,
    }
    groups = [*answers.groups.items(), *([(ALL, list(answers.rows))] if len(answers.groups) > 1 else [])]
    cells, categories, binary = [], [], []
    for group, rows in groups:
        for name, rate in raters.items():
            rated = [(row.instance_id, label) for row in rows if (label := rate(row)) is not None]
            labels = BEST_FIRST if name in (JUDGE, PEOPLE) else ("passed",)
            if any(label in (*labels, "failed") for _, label in rated):  # a judge who was never asked says nothing
                for wanted in labels:
                    share = Share.clustered((instance, label == wanted) for instance, label in rated)
                    cells.append(Measured(group, name, str(wanted), share))
        both = [row for row in rows if row.people and row.judge in BEST_FIRST]
        if both:
            pair = _pair(group, JUDGE, PEOPLE, both, raters)
            conflict = Share.clustered((row.instance_id, {row.judge, row.people} == {"CC", "LI"}) for row in both)
            categories.append(pair)
            cells += [Measured(group, BOTH, "agreement", pair.agreement), Measured(group, BOTH, "conflict", conflict)]
            binary.append(_pair(group, JUDGE, PEOPLE, both, raters, fold=True))
        for measure in answers.measures:
            for other in (JUDGE, PEOPLE):
                known = [row for row in rows if row.passed[measure] is not None and raters[other](row) in BEST_FIRST]
                if known:
                    binary.append(_pair(group, measure, other, known, raters, fold=True))
    confusion = Counter(
        (str(row.people), str(row.judge)) for row in answers.rows if row.people and row.judge in BEST_FIRST
    )
    return Tables(answers, cells, categories, binary, confusion)


def missing_in(answers: Answers) -> list[str]:
    """The cells that the original's data does not contain."""
    untested = [name for name, rows in answers.groups.items() if all(r.passed[UNIT_TESTS] is None for r in rows)]
    return [
        *(
            [f"No unit-test result is published for {' or '.join(untested)}, so their accuracy is unknown."]
            if untested
            else []
        ),
        "Claude 3.7 with OpenHands is left out: only its unit tests are published, and labels.csv does not list it.",
        "Each answer was labelled by one person, so the experts' agreement (Appendix B) cannot be computed.",
        "Tables 3, 5 and 6 and Figure 7 cannot be computed either: their data is not published. Table 6 uses binary "
        "verdicts of the judge, which are not the collapsed categories.",
    ]


def _tests(measure: str) -> Callable[[RatedAnswer], str | None]:
    words = {True: "passed", False: "failed", None: None}
    return lambda row: words[row.passed[measure]]


def _pair(
    group: str,
    first: str,
    second: str,
    rows: Sequence[RatedAnswer],
    raters: dict[str, Callable[[RatedAnswer], str | None]],
    *,
    fold: bool = False,
) -> Pairing:
    """Two raters on answers that both rated; `fold` is the collapse to right and not."""

    def labels(rater: str) -> list[str]:
        given = [str(raters[rater](row)) for row in rows]
        return [str(label in ("passed", "CC")) for label in given] if fold else given

    one, other, clusters = labels(first), labels(second), [row.instance_id for row in rows]
    same = Share.clustered((name, a == b) for name, a, b in zip(clusters, one, other, strict=True))
    return Pairing(group, first, second, same, cohen(one, other, clusters))


def _pairings(pairs: Sequence[Pairing], cell: Callable[[str, str, str], Share | None] | None) -> Table:
    """Pairs of raters; with `cell`, beside the share of CC that each gave."""
    header, rows = ["model"], []
    header += [f"{pairs[0].first}: CC", f"{pairs[0].second}: CC"] if cell and pairs else ["raters"]
    for pair in pairs:
        if cell:
            left = [_cell(cell(pair.group, rater, "CC"))[0] for rater in (pair.first, pair.second)]
        else:
            left = [f"{pair.first} - {pair.second}"]
        rows.append([pair.group, *left, *_cell(pair.agreement), *_kappa(pair.kappa)])
    return [*header, "agreement", "95 %", "kappa", "95 %"], rows


def _cell(found: Share | None) -> tuple[str, str]:
    if found is None or not found.whole:
        return "-", "-"
    return found.fraction, found.bounds


def _kappa(kappa: Kappa) -> tuple[str, str]:
    value = "-" if kappa.value is None else f"{kappa.value:.2f}"
    return value, "-" if kappa.interval is None else f"{kappa.interval[0]:.2f} - {kappa.interval[1]:.2f}"


def _as_dict(found: Share) -> dict[str, Any]:
    low, high = found.interval
    return {"part": found.part, "whole": found.whole, "share": found.value, "low": low, "high": high}


def _pair_dict(pair: Pairing) -> dict[str, Any]:
    kappa = {"kappa": pair.kappa.value, "kappa_ci95": pair.kappa.interval}
    return {"group": pair.group, "first": pair.first, "second": pair.second, **_as_dict(pair.agreement), **kappa}
