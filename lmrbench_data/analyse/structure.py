"""Regress success on the structure of repositories: the LMR-BENCH paper's Appendix G, Table 5.

Logistic regression of solved or not on measures of the repository and of the goal function (`repositories`), and on
dummies for the models, with errors clustered by paper (`logit`). Measures are standardised: an odds ratio is for one
standard deviation more.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from lmrbench_evaluate.judge.category import BEST_FIRST

from ..base.errors import ArgumentError, InputError
from ..base.text import counted
from ..base.text_table import Table
from ..dataset.rows import DatasetRow
from .judged_answers import Answers, RatedAnswer
from .logit import Fit, Term, fit_logit
from .repositories import MeasuredRepository, original_repositories, task_repositories
from .result import Analysis

#: Measures by name, each from a repository; None where the data does not have it.
MEASURES: dict[str, Callable[[MeasuredRepository], float | None]] = {
    "average directory depth": lambda item: item.tree.average_directory_depth,
    "average branch factor": lambda item: item.tree.average_branch_factor,
    "directory imbalance": lambda item: item.tree.directory_imbalance,
    "goal length": lambda item: item.goal_length,
}
#: Raters who decide whether an answer is solved, besides the measures of the tests: solved is then CC.
RATERS = ("judge", "people")


@dataclass(frozen=True)
class Structure(Analysis):
    """The regression of success on structure."""

    answers: Answers
    solved_by: str
    fit: Fit
    measures: Mapping[str, tuple[float, float]]
    """Name → mean and standard deviation over the answers."""
    reference: str
    """The model that the dummies compare with."""
    remarks: Sequence[str]
    """Missing data, and answers that are left out."""
    title: str = "Repository structure and success"

    def tables(self) -> list[tuple[str, Table]]:
        """Return the coefficients, and the means and standard deviations of the measures."""
        header = ["term", "coefficient", "std. error", "odds ratio", "95 %", "p", "VIF"]
        rows = [_row(term) for term in self.fit.terms]
        sizes = [[name, f"{mean:.2f}", f"{deviation:.2f}"] for name, (mean, deviation) in self.measures.items()]
        return [
            *([("Logistic regression of solved or not", (header, rows))] if rows else []),
            ("Measures over the answers", (["measure", "mean", "one standard deviation"], sizes)),
        ]

    def notes(self) -> list[str]:
        """The estimation of the model, and reasons not to trust it."""
        fit = self.fit
        quality = f", McFadden's pseudo R2 {fit.pseudo_r2:.3f}" if fit.pseudo_r2 is not None else ""
        lines = [
            f"Counted from {self.answers.source}: {counted(fit.answers, 'answer')} to "
            f"{counted(fit.clusters, 'paper')}, {fit.solved} solved ({self._means()}){quality}."
        ]
        if fit.problem:
            lines.append(f"No estimate: {fit.problem}.")
        else:
            lines.append(
                "Odds ratios of measures are for an increase of one standard deviation; those of models are relative "
                f"to {self.reference}. Errors are clustered by paper; p is two-sided, by the normal."
            )
        return [*lines, *fit.warnings, *self.remarks, *self.answers.notes]

    def records(self) -> list[dict[str, Any]]:
        """One row for each term."""
        names = ("name", "coefficient", "error", "low", "high", "p", "vif")
        ratios = ("odds_ratio", "odds_ratio_low", "odds_ratio_high")
        return [
            {**{name: getattr(term, name) for name in names}, **dict(zip(ratios, term.odds_ratio, strict=True))}
            for term in self.fit.terms
        ]

    def to_dict(self) -> dict[str, Any]:
        """All numbers."""
        fit = self.fit
        return {
            "source": self.answers.source,
            "solved_by": self.solved_by,
            "answers": fit.answers,
            "solved": fit.solved,
            "papers": fit.clusters,
            "pseudo_r2": fit.pseudo_r2,
            "problem": fit.problem,
            "left_out": dict(fit.left_out),
            "reference": self.reference,
            "measures": {name: {"mean": mean, "sd": sd} for name, (mean, sd) in self.measures.items()},
            "terms": self.records(),
            "notes": self.notes(),
        }

    def draw(self, path: Path) -> None:
        """The odds ratios as a picture, .png or .svg.

        Raises:
            InputError: there is no estimate, or the extra `report` is not installed.
        """
        from .figures import draw_odds

        if not self.fit.terms:
            raise InputError(f"{path}: not drawn, because there is no estimate ({self.fit.problem})")
        label = f"odds ratio of being solved, 95 % interval ({self.fit.answers} answers, {self.fit.clusters} papers)"
        draw_odds([(term.name, *term.odds_ratio) for term in self.fit.terms[1:]], label, path)

    def _means(self) -> str:
        verb = {"judge": "the judge says CC", "people": "people say CC"}
        return verb.get(self.solved_by, self.solved_by)


def analyse_structure(answers: Answers, rows: Sequence[DatasetRow] = (), solved_by: str = "") -> Structure:
    """Regress success on structure.

    Args:
        rows: those of the runs' dataset. The original's repositories are in structure.csv, which has two of the four
            measures.
        solved_by: a measure of the tests, `judge` or `people` (solved is then CC); the leading measure by default.

    Raises:
        ArgumentError: `solved_by` is none of these.
        InputError: no answer has this result, or the extra `report` is not installed.
    """
    solved_by = solved_by or answers.measures[0]
    if solved_by not in (*answers.measures, *RATERS):
        known = ", ".join((*answers.measures, *RATERS))
        raise ArgumentError("solved_by", f"{solved_by!r} is unknown; one of: {known}")
    empty: list[str] = []
    if answers.is_original:
        repositories, empty = original_repositories()
        found = [(row, repositories.get(row.paper)) for row in answers.rows]
    else:
        of_task = dict(task_repositories(rows))
        found = [(row, of_task.get(row.instance_id)) for row in answers.rows]
    rated = [
        (row, item, result) for row, item in found if row.is_there and (result := _solved(row, solved_by)) is not None
    ]
    used = [(row, item, result) for row, item, result in rated if item is not None]
    if not used:
        raise InputError(f"{answers.source}: no answer has a result by {solved_by}: there is nothing to explain")
    remarks = []
    if absent := sum(not row.is_there for row in answers.rows):
        remarks.append(f"Left out: {counted(absent, 'answer')} missing from the runs.")
    left = counted(len(rated) - len(used), "answer")
    if empty:
        remarks.append(f"structure.csv has no measures of {', '.join(empty)}: {left} left out.")
    elif len(used) < len(rated):
        unknown = sorted({row.instance_id for row, item, _ in rated if item is None})
        remarks.append(f"The repository is unknown for {', '.join(unknown)}: {left} left out.")
    used = _with_both(used, remarks)
    columns, sizes, lacking = {}, {}, []
    for name, measure in MEASURES.items():
        values = [measure(item) for _, item, _ in used]
        known_values = [value for value in values if value is not None]
        if len(known_values) < len(values):
            lacking.append(name)
            continue
        mean, deviation = fmean(known_values), pstdev(known_values)
        sizes[name] = mean, deviation
        columns[name] = [(value - mean) / (deviation or 1) for value in known_values]
    if lacking:
        remarks.append(f"The data lacks: {', '.join(lacking)}.")
    groups = list(dict.fromkeys(row.group for row, _, _ in used))
    for group in groups[1:]:
        columns[group] = [float(row.group == group) for row, _, _ in used]
    fit = fit_logit(columns, [result for _, _, result in used], [row.paper or item.paper for row, item, _ in used])
    return Structure(answers, solved_by, fit, sizes, groups[0], remarks)


def _with_both(
    used: list[tuple[RatedAnswer, MeasuredRepository, bool]], remarks: list[str]
) -> list[tuple[RatedAnswer, MeasuredRepository, bool]]:
    """Return the answers of groups that solved some and not others; a dummy would explain any other group by itself."""
    results: dict[str, set[bool]] = {}
    for row, _, result in used:
        results.setdefault(row.group, set()).add(result)
    if all(len(found) == 1 for found in results.values()):
        return used  # the regression says why there is none
    for group, found in results.items():
        if len(found) == 1:
            remarks.append(f"Left out: {group}, with {'all' if True in found else 'none'} of its answers solved.")
    return [item for item in used if len(results[item[0].group]) == 2]


def _solved(row: RatedAnswer, by: str) -> bool | None:
    if by not in RATERS:
        return row.passed[by]
    label = row.judge if by == "judge" else row.people
    return label == "CC" if label in BEST_FIRST else None


def _row(term: Term) -> list[str]:
    ratio, low, high = term.odds_ratio
    numbers = f"{term.coefficient:+.3f}", f"{term.error:.3f}", f"{ratio:.2f}", f"{low:.2f} - {high:.2f}"
    return [term.name, *numbers, f"{term.p:.3f}", "-" if term.vif is None else f"{term.vif:.1f}"]
