"""The LMR-BENCH paper's Table 2, and the agreement of judge, people and tests: for its data, or for any runs.

Table 2: unit-test accuracy and the shares of CC, LC, LI by the judge and by people, by model and setting. Agreement:
both gave the same category. Conflict: one says CC and the other LI, in either order; this definition gives the
paper's 9.5%. CC against the rest is our own collapse of the three categories. The paper's Table 6 differs: its judge
was asked for binary verdicts, which are not published.
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lmrbench_data.base.proportions import Share
from lmrbench_data.base.text_table import Table
from lmrbench_evaluate.judge.opinion import BEST_FIRST
from lmrbench_evaluate.reports.agreement import PairAgreement
from lmrbench_evaluate.reports.score_tables import confusion_table

from ..original import facts
from .answers import JUDGE, NOTHING, PEOPLE, Answers
from .result import Analysis

if TYPE_CHECKING:
    import pandas as pd

ALL = "all"
BOTH = "judge and people"
#: Group, rater (a measure of the tests, `judge`, `people` or both) and label (`passed`, a category, `agreement` or
#: `conflict`) → share of the group's answers.
Cells = dict[tuple[str, str, str], Share]


def make_tables(answers: Answers) -> Analysis:
    """Count the tables."""
    import pandas as pd

    groups = {str(name): rows for name, rows in answers.frame.groupby("group", sort=False)}
    if len(groups) > 1:
        groups[ALL] = answers.frame
    cells = Cells()
    pairs: list[tuple[str, PairAgreement]] = []
    for group, rows in groups.items():
        for rater in (*answers.measures, JUDGE, PEOPLE):
            cells |= {(group, rater, label): share for label, share in _shares(rater, rows)}
        for first, second in [
            (JUDGE, PEOPLE),
            *itertools.product(answers.measures, (JUDGE, PEOPLE)),
        ]:
            rated = rows[["instance_id", first, second]].replace(NOTHING, None).dropna()
            if len(rated):
                pairs.append(
                    (
                        group,
                        PairAgreement(
                            first, second, list(rated.itertuples(index=False, name=None))
                        ),
                    )
                )
    categories = [(group, pair) for group, pair in pairs if pair.first == JUDGE]
    for group, pair in categories:
        cells |= {
            (group, BOTH, "agreement"): pair.agreement,
            (group, BOTH, "conflict"): pair.conflicts,
        }
    confusion = Counter(
        (people, judge) for _, pair in categories[-1:] for _, judge, people in pair.labels
    )
    binary = [(group, pair.binary) for group, pair in pairs]
    names = "group", "rater", "label"
    records = [
        {**dict(zip(names, cell, strict=True)), **_numbers(share)} for cell, share in cells.items()
    ]
    notes = _notes(answers, confusion)
    tables = [
        *(
            (f"Table 2: accuracy ({name})", _share_table(cells, name, ["passed"]))
            for name in answers.measures
        ),
        ("Table 2: the judge's categories", _share_table(cells, JUDGE, BEST_FIRST)),
        ("Table 2: people's categories", _share_table(cells, PEOPLE, BEST_FIRST)),
        ("Agreement between the judge and people", _category_table(categories)),
        ("People against the judge", confusion_table(confusion)),
        ("Agreement on right (CC, or passed) and wrong", _binary_table(binary)),
    ]
    numbers = {
        "source": answers.source,
        "answers": len(answers.frame),
        "cells": records,
        "categories": [_pair_dict(*pair) for pair in categories],
        "binary": [_pair_dict(*pair) for pair in binary],
        "confusion": [
            {"people": a, "judge": b, "answers": n} for (a, b), n in sorted(confusion.items())
        ],
        "notes": notes,
    }
    shown = [(title, table) for title, table in tables if table[1]]
    return Analysis(
        "Accuracy, categories and agreement", shown, notes, pd.DataFrame(records), numbers
    )


def _shares(rater: str, rows: "pd.DataFrame") -> Iterator[tuple[str, Share]]:
    """Yield the labels of a rater and their shares; none if there was nothing to rate."""
    rated = rows.dropna(subset=rater)
    if (rated[rater] == NOTHING).all():  # a judge who was never asked says nothing
        return
    for label in BEST_FIRST if rater in (JUDGE, PEOPLE) else ("passed",):
        hits = zip(rated["instance_id"], (rated[rater] == label).tolist(), strict=True)
        yield str(label), Share.clustered(hits)


def _share_table(cells: Cells, rater: str, labels: Sequence[str]) -> Table:
    header = ["model", *(text for label in labels for text in (label, "95%"))]
    groups = dict.fromkeys(group for group, name, _ in cells if name == rater)
    shares = [[cells[group, rater, str(label)] for label in labels] for group in groups]
    rows = [[text for share in own for text in (share.fraction, share.bounds)] for own in shares]
    return header, [[group, *texts] for group, texts in zip(groups, rows, strict=True)]


def _category_table(pairs: Sequence[tuple[str, PairAgreement]]) -> Table:
    rows = [
        [group, *_agreement(pair), pair.conflicts.fraction, pair.conflicts.bounds]
        for group, pair in pairs
    ]
    return ["model", "agreement", "95%", "kappa", "conflicts", "95%"], rows


def _binary_table(pairs: Sequence[tuple[str, PairAgreement]]) -> Table:
    rows = [[group, f"{pair.first} - {pair.second}", *_agreement(pair)] for group, pair in pairs]
    return ["model", "raters", "agreement", "95%", "kappa"], rows


def _agreement(pair: PairAgreement) -> list[str]:
    """Return the cells of an agreement: share, interval, kappa."""
    kappa = "-" if pair.kappa is None else f"{pair.kappa:.2f}"
    return [pair.agreement.fraction, pair.agreement.bounds, kappa]


def _notes(answers: Answers, confusion: Mapping[tuple[str, str], int]) -> list[str]:
    """Return explanations of the tables' terms, and of missing data."""
    lines = [
        f"Counted from {answers.source}. Intervals are Wilson's 95% intervals, with the number of instances as n."
    ]
    if answers.is_original:
        lines += facts.UNPUBLISHED
    else:
        lines.append(
            "Reproduced: every core case passed; robust: every case. Shares are of all instances; one without an "
            "answer passed nothing. The judge's are as in `lmrbench report`, people's of what they labelled."
        )
    if confusion:
        lines.append(
            "Agreement: the same category of three. Conflict: one says CC and the other LI."
        )
    return [*lines, *answers.notes]


def _numbers(share: Share) -> dict[str, Any]:
    low, high = share.interval
    return {
        "part": share.part,
        "whole": share.whole,
        "share": share.value,
        "low": low,
        "high": high,
    }


def _pair_dict(group: str, pair: PairAgreement) -> dict[str, Any]:
    return {
        "group": group,
        "first": pair.first,
        "second": pair.second,
        **_numbers(pair.agreement),
        "kappa": pair.kappa,
    }
