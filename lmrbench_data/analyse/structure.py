"""Regress success on the structure of repositories: the LMR-BENCH paper's Appendix G, Table 5.

Logistic regression of solved or not on measures of the repository and of the goal function (`repositories`), and on
dummies for the models, with errors clustered by paper. Measures are standardised: an odds ratio is for one standard
deviation more.
"""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, InputError
from ..base.extras import need
from ..base.text import counted, error_line
from ..base.text_table import Table
from ..dataset.rows import DatasetRow
from .judged_answers import JUDGE, NOTHING, PEOPLE, Answers, RatedAnswer
from .repositories import MeasuredRepository, original_repositories, task_repositories
from .result import Analysis

if TYPE_CHECKING:
    import pandas as pd

#: Measures by name, each from a repository; None where the data does not have it.
MEASURES: dict[str, Callable[[MeasuredRepository], float | None]] = {
    "average directory depth": lambda item: item.tree.average_directory_depth,
    "average branch factor": lambda item: item.tree.average_branch_factor,
    "directory imbalance": lambda item: item.tree.directory_imbalance,
    "goal length": lambda item: item.goal_length,
}
#: Raters who decide whether an answer is solved, besides the measures of the tests: solved is then CC.
RATERS = {JUDGE: "the judge says CC", PEOPLE: "people say CC"}
INTERCEPT = "intercept"
#: Clusters below which clustered errors are too small (Cameron and Miller 2015, Section VI).
FEW_CLUSTERS = 40
#: Answers of the rarer outcome per term below which estimates are unstable (Peduzzi et al. 1996).
EVENTS_A_TERM = 10
#: Log-odds per standard deviation beyond which the outcome is taken to be separated: there is no finite estimate.
SEPARATED = 15


@dataclass(frozen=True)
class Fit:
    """The result of a regression."""

    answers: int
    solved: int
    papers: int
    terms: Sequence[dict[str, Any]] = ()
    """Name, coefficient (change of the log-odds), error, interval, p and odds ratios; empty if there is a problem."""
    pseudo_r2: float | None = None
    """McFadden's."""
    problem: str = ""
    """The reason for a missing estimate."""

    @property
    def warnings(self) -> list[str]:
        """Reasons not to trust the numbers."""
        lines = []
        rarer, number = min(self.solved, self.answers - self.solved), len(self.terms) - 1
        if number > 0 and rarer < EVENTS_A_TERM * number:
            lines.append(
                f"Few answers: {rarer} of the rarer outcome for {counted(number, 'term')}, "
                f"{rarer / number:.1f} per term; with fewer than {EVENTS_A_TERM} the estimates are unstable."
            )
        if self.terms and self.papers < FEW_CLUSTERS:
            lines.append(
                f"Few papers: errors are clustered over {self.papers}; with fewer than {FEW_CLUSTERS} they come out "
                "too small, and so do the p values."
            )
        return lines


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
        header = ["term", "coefficient", "std. error", "odds ratio", "95 %", "p"]
        rows = [
            [
                term["name"],
                f"{term['coefficient']:+.3f}",
                f"{term['error']:.3f}",
                f"{term['odds_ratio']:.2f}",
                f"{term['odds_ratio_low']:.2f} - {term['odds_ratio_high']:.2f}",
                f"{term['p']:.3f}",
            ]
            for term in self.fit.terms
        ]
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
            f"{counted(fit.papers, 'paper')}, {fit.solved} solved ({RATERS.get(self.solved_by, self.solved_by)})"
            f"{quality}."
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
        return list(self.fit.terms)

    def to_dict(self) -> dict[str, Any]:
        """All numbers."""
        fit = self.fit
        return {
            "source": self.answers.source,
            "solved_by": self.solved_by,
            "answers": fit.answers,
            "solved": fit.solved,
            "papers": fit.papers,
            "pseudo_r2": fit.pseudo_r2,
            "problem": fit.problem,
            "reference": self.reference,
            "measures": {name: {"mean": mean, "sd": sd} for name, (mean, sd) in self.measures.items()},
            "terms": self.records(),
            "notes": self.notes(),
        }

    def draw(self, path: Path) -> None:
        """Draw the odds ratios."""
        from .figures import draw_odds

        if not self.fit.terms:
            raise InputError(f"{path}: not drawn, because there is no estimate ({self.fit.problem})")
        label = f"odds ratio of being solved, 95 % interval ({self.fit.answers} answers, {self.fit.papers} papers)"
        columns = "name", "odds_ratio", "odds_ratio_low", "odds_ratio_high"
        draw_odds([tuple(term[name] for name in columns) for term in self.fit.terms[1:]], label, path)


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
        names = ", ".join((*answers.measures, *RATERS))
        raise ArgumentError("solved_by", f"{solved_by!r} is unknown; one of: {names}")
    need("report", "a regression")
    import pandas as pd

    repositories, empty = original_repositories() if answers.is_original else (dict(task_repositories(rows)), [])
    rated = [
        (row, result, repositories.get(row.paper if answers.is_original else row.instance_id))
        for row in answers.rows
        if row.is_there and (result := _solved(row, solved_by)) is not None
    ]
    frame = pd.DataFrame(
        [
            {"group": row.group, "solved": int(result), "paper": row.paper or item.paper, "repository": item}
            for row, result, item in rated
            if item
        ]
    )
    if frame.empty:
        raise InputError(f"{answers.source}: no answer has a result by {solved_by}: there is nothing to explain")
    remarks = []
    if absent := sum(not row.is_there for row in answers.rows):
        remarks.append(f"Left out: {counted(absent, 'answer')} missing from the runs.")
    left = counted(len(rated) - len(frame), "answer")
    if empty:
        remarks.append(f"structure.csv has no measures of {', '.join(empty)}: {left} left out.")
    elif unknown := sorted({row.instance_id for row, _, item in rated if not item}):
        remarks.append(f"The repository is unknown for {', '.join(unknown)}: {left} left out.")
    rates = frame.groupby("group", sort=False)["solved"].mean()
    if rates.between(0, 1, inclusive="neither").any():  # a dummy would explain a group with one outcome by itself
        for group, rate in rates[(rates == 0) | (rates == 1)].items():
            remarks.append(f"Left out: {group}, with {'all' if rate else 'none'} of its answers solved.")
        frame = frame[frame["group"].map(rates).between(0, 1, inclusive="neither")]
    sizes, lacking = {}, []
    for name, measure in MEASURES.items():
        values = pd.to_numeric(frame["repository"].map(measure))
        if values.isna().any():
            lacking.append(name)
            continue
        mean, deviation = sizes[name] = float(values.mean()), float(values.std(ddof=0))
        frame = frame.assign(**{name: (values - mean) / (deviation or 1)})
        if not deviation:
            remarks.append(f"{name} is left out: it is the same for all answers.")
    if lacking:
        remarks.append(f"The data lacks: {', '.join(lacking)}.")
    groups = list(frame["group"].unique())
    fit = fit_logit(frame, [name for name, (_, deviation) in sizes.items() if deviation], groups)
    return Structure(answers, solved_by, fit, sizes, groups[0], remarks)


def fit_logit(frame: "pd.DataFrame", measures: Sequence[str], groups: Sequence[str]) -> Fit:
    """Regress `solved` (0 or 1) on measures and dummies for `group`, with errors clustered by `paper`.

    Args:
        groups: the values of `group`, the reference first.
    """
    import numpy as np
    import pandas as pd
    import statsmodels.formula.api as smf

    size = len(frame), int(frame["solved"].sum()), frame["paper"].nunique()
    if size[1] in (0, size[0]):
        every = "all" if size[1] else "none"
        return Fit(*size, problem=f"{every} of {counted(size[0], 'answer')} solved: there is nothing to explain")
    if size[2] < 2:
        return Fit(*size, problem="all answers are to one paper: errors cannot be clustered")
    frame = frame.assign(group=pd.Categorical(frame["group"], groups))
    names = {"Intercept": INTERCEPT, **{f"Q('{name}')": name for name in measures}}
    columns = [*list(names)[1:], *(["C(group)"] if len(groups) > 1 else [])]
    names |= {f"C(group)[T.{group}]": group for group in groups[1:]}
    model = smf.logit(f"solved ~ {' + '.join(columns) or '1'}", frame)
    if np.linalg.matrix_rank(model.exog) < model.exog.shape[1]:
        return Fit(*size, problem=f"the terms determine one another: {', '.join(list(names.values())[1:])}")
    papers = pd.factorize(frame["paper"])[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # checked below
        try:
            result = model.fit(disp=False, maxiter=200, cov_type="cluster", cov_kwds={"groups": papers})
        except (np.linalg.LinAlgError, ValueError, ArithmeticError) as error:
            return Fit(*size, problem=f"the model cannot be estimated ({error_line(error)})")
        table = pd.DataFrame({"coefficient": result.params, "error": result.bse, "p": result.pvalues})
        table[["low", "high"]] = result.conf_int()
    table = table.loc[list(names)].rename(names)
    if len(separated := table.index[table["coefficient"].abs() > SEPARATED]):
        which = ", ".join(map(str, separated))
        return Fit(*size, problem=f"the outcome follows from {which} (separation), so no finite estimate exists")
    if not result.mle_retvals["converged"] or not np.isfinite(table.to_numpy()).all():
        return Fit(*size, problem="the estimation did not converge")
    if not (table["error"] > 1e-8).all():
        problem = f"errors cannot be clustered: {counted(size[2], 'paper')} for {counted(len(table), 'coefficient')}"
        return Fit(*size, problem=problem)
    terms = [
        {
            "name": str(name),
            **{column: float(row[column]) for column in ("coefficient", "error", "low", "high", "p")},
            "odds_ratio": math.exp(row["coefficient"]),
            "odds_ratio_low": math.exp(row["low"]),
            "odds_ratio_high": math.exp(min(row["high"], 700)),
        }
        for name, row in table.iterrows()
    ]
    return Fit(*size, terms, float(result.prsquared))


def _solved(row: RatedAnswer, by: str) -> bool | None:
    label = row.label(by)
    return None if label in (None, NOTHING) else label in ("passed", "CC")
