"""Regress success on the structure of repositories: the LMR-BENCH paper's Appendix G, Table 5.

Logistic regression of solved or not on measures of the repository and of the goal function, and on dummies for the
models, with errors clustered by paper. Measures are standardised: an odds ratio is for one standard deviation more.
Depth and branch factor are defined so that they give the numbers of structure.csv, which has no other measures; the
definitions of imbalance and goal length are our own.
"""

import ast
import math
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import PurePosixPath
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Any, NamedTuple

from lmrbench_data.base.errors import ArgumentError, InputError
from lmrbench_data.base.extras import require_extra
from lmrbench_data.base.source import find_function
from lmrbench_data.base.text import one_line, plural
from lmrbench_data.base.text_table import Table
from lmrbench_data.dataset.rows import DatasetRow, only_functions
from lmrbench_data.loader import read_archive

from ..original import facts
from .answers import JUDGE, NOTHING, PEOPLE, Answers
from .result import Analysis

if TYPE_CHECKING:
    import pandas as pd

DEPTH, BRANCHES = "average directory depth", "average branch factor"
IMBALANCE, LENGTH = "directory imbalance", "goal length"
MEASURES = (DEPTH, BRANCHES, IMBALANCE, LENGTH)
#: Raters who decide whether an answer is solved, besides the measures of the tests: solved is then CC.
RATERS = {JUDGE: "the judge says CC", PEOPLE: "people say CC"}
INTERCEPT = "intercept"
#: Clusters below which clustered errors are too small (Cameron and Miller 2015, Section VI).
FEW_CLUSTERS = 40
#: Answers of the rarer outcome per term below which estimates are unstable (Peduzzi et al. 1996).
EVENTS_A_TERM = 10
#: Log-odds per standard deviation beyond which the outcome is taken to be separated: there is no finite estimate.
SEPARATED = 15


class Fit(NamedTuple):
    """The result of a regression."""

    terms: Sequence[dict[str, Any]] = ()
    """Name, coefficient (change of the log-odds), error, interval, p and odds ratios; empty if there is a problem."""
    pseudo_r2: float | None = None
    """McFadden's."""
    problem: str = ""
    """The reason for a missing estimate."""


def analyse_structure(
    answers: Answers, rows: Sequence[DatasetRow] = (), solved_by: str = ""
) -> Analysis:
    """Regress success on structure.

    Args:
        rows: those of the runs' dataset. The original's repositories are in structure.csv, which has two of the four
            measures.
        solved_by: a measure of the tests, `judge` or `people` (solved is then CC); the leading measure by default.
    """
    solved_by = solved_by or answers.measures[0]
    if solved_by not in (*answers.measures, *RATERS):
        names = ", ".join((*answers.measures, *RATERS))
        raise ArgumentError("solved_by", f"{solved_by!r} is unknown; one of: {names}")
    require_extra("report", "a regression")
    import pandas as pd

    frame, remarks = _measured(answers, rows, solved_by)
    rates = frame.groupby("group", sort=False)["solved"].mean()
    if rates.between(
        0, 1, inclusive="neither"
    ).any():  # a dummy would explain a group with one outcome by itself
        for group, rate in rates[(rates == 0) | (rates == 1)].items():
            remarks.append(
                f"Left out: {group}, with {'all' if rate else 'none'} of its answers solved."
            )
        frame = frame[frame["group"].map(rates).between(0, 1, inclusive="neither")]
    used = frame[list(MEASURES)].dropna(axis="columns")
    mean, spread = used.mean(), used.std(ddof=0)
    remarks += [
        f"{name} is left out: it is the same for all answers." for name in used if not spread[name]
    ]
    if lacking := [name for name in MEASURES if name not in used]:
        remarks.append(f"The data lacks: {', '.join(lacking)}.")
    frame = frame.assign(**((used - mean) / spread.replace(0, 1)))
    fit = fit_logit(frame, [name for name in used if spread[name]])
    size = {
        "answers": len(frame),
        "solved": int(frame["solved"].sum()),
        "papers": frame["paper"].nunique(),
    }
    reference = str(frame["group"].iloc[0])
    notes = [*_notes(answers, fit, size, reference, solved_by), *remarks, *answers.notes]
    measures = {name: {"mean": float(mean[name]), "sd": float(spread[name])} for name in used}
    sizes = [[name, f"{row['mean']:.2f}", f"{row['sd']:.2f}"] for name, row in measures.items()]
    tables: list[tuple[str, Table]] = [
        *([("Logistic regression of solved or not", _table(fit))] if fit.terms else []),
        ("Measures over the answers", (["measure", "mean", "one standard deviation"], sizes)),
    ]
    numbers = {
        "source": answers.source,
        "solved_by": solved_by,
        **size,
        "pseudo_r2": fit.pseudo_r2,
        "problem": fit.problem,
        "reference": reference,
        "measures": measures,
        "terms": list(fit.terms),
        "notes": notes,
    }
    return Analysis(
        "Repository structure and success", tables, notes, pd.DataFrame(fit.terms), numbers
    )


def _measured(
    answers: Answers, rows: Sequence[DatasetRow], solved_by: str
) -> tuple["pd.DataFrame", list[str]]:
    """Return the answers with group, paper, solved (0 or 1) and measures; and remarks on those left out."""
    import pandas as pd

    measured, empty = original_measures() if answers.is_original else (task_measures(rows), [])
    papers = {row["instance_id"]: row["paper_url"] for row in rows}
    rated = (
        answers.frame[answers.frame["is_there"]]
        .replace({solved_by: NOTHING}, None)
        .dropna(subset=solved_by)
    )
    rated["solved"] = rated[solved_by].isin(["passed", "CC"]).astype(int)
    rated["paper"] = rated["paper"].fillna(rated["instance_id"].map(papers))
    owner = rated["paper" if answers.is_original else "instance_id"]
    measures = pd.DataFrame([measured.get(name, {}) for name in owner], rated.index, MEASURES)
    frame = rated.join(measures).dropna(subset=DEPTH)
    if frame.empty:
        raise InputError(
            f"{answers.source}: no answer has a result by {solved_by}: there is nothing to explain"
        )
    remarks = []
    if absent := int((~answers.frame["is_there"]).sum()):
        remarks.append(f"Left out: {plural(absent, 'answer')} missing from the runs.")
    if unmeasured := len(rated) - len(frame):
        missing = empty or sorted(set(rated["instance_id"]) - set(frame["instance_id"]))
        where = "structure.csv has" if answers.is_original else "There are"
        remarks.append(
            f"{where} no measures of {', '.join(missing)}: {plural(unmeasured, 'answer')} left out."
        )
    return frame, remarks


def fit_logit(frame: "pd.DataFrame", measures: Sequence[str]) -> Fit:
    """Regress `solved` (0 or 1) on measures and dummies for `group`, with errors clustered by `paper`.

    The first group is the reference.
    """
    import numpy as np
    import pandas as pd
    import statsmodels.formula.api as smf

    if frame["solved"].nunique() < 2:
        every = "all" if frame["solved"].any() else "none"
        return Fit(
            problem=f"{every} of {plural(len(frame), 'answer')} solved: there is nothing to explain"
        )
    groups = list(frame["group"].unique())
    frame = frame.assign(group=pd.Categorical(frame["group"], groups))
    names = {"Intercept": INTERCEPT, **{f"Q('{name}')": name for name in measures}}
    columns = [*list(names)[1:], *(["C(group)"] if len(groups) > 1 else [])]
    names |= {f"C(group)[T.{group}]": group for group in groups[1:]}
    model = smf.logit(f"solved ~ {' + '.join(columns) or '1'}", frame)
    cluster = {"groups": pd.factorize(frame["paper"])[0]}
    reason = "the terms determine the outcome or one another, or too few papers differ"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = model.fit(disp=False, maxiter=200, cov_type="cluster", cov_kwds=cluster)
            table = pd.DataFrame({"coefficient": result.params, "error": result.bse})
            table[["low", "high"]] = result.conf_int()
            table["p"] = result.pvalues
        except (np.linalg.LinAlgError, ValueError, ArithmeticError) as error:
            return Fit(problem=f"{reason} ({one_line(str(error))})")
    table = table.loc[list(names)].rename(names)
    if (
        np.linalg.matrix_rank(model.exog) < len(table)
        or not result.mle_retvals["converged"]
        or not np.isfinite(table.to_numpy()).all()
        or (table["coefficient"].abs() > SEPARATED).any()
        or (table["error"] < 1e-8).any()
    ):
        messages = "; ".join(dict.fromkeys(one_line(str(warning.message)) for warning in caught))
        return Fit(problem=reason + (f" ({messages})" if messages else ""))
    table["odds_ratio"] = table["coefficient"].map(math.exp)
    table["odds_ratio_low"] = table["low"].map(math.exp)
    table["odds_ratio_high"] = table["high"].clip(upper=700).map(math.exp)
    terms = [{"name": str(name), **row} for name, row in table.to_dict("index").items()]
    return Fit(terms, float(result.prsquared))


def _table(fit: Fit) -> Table:
    cells = {
        "term": "{name}",
        "coefficient": "{coefficient:+.3f}",
        "std. error": "{error:.3f}",
        "odds ratio": "{odds_ratio:.2f}",
        "95%": "{odds_ratio_low:.2f} - {odds_ratio_high:.2f}",
        "p": "{p:.3f}",
    }
    return list(cells), [[text.format(**term) for text in cells.values()] for term in fit.terms]


def _notes(
    answers: Answers, fit: Fit, size: dict[str, int], reference: str, solved_by: str
) -> list[str]:
    """Return how the model was estimated, and reasons not to trust it."""
    quality = f", McFadden's pseudo R2 {fit.pseudo_r2:.3f}" if fit.pseudo_r2 is not None else ""
    lines = [
        f"Counted from {answers.source}: {plural(size['answers'], 'answer')} to {plural(size['papers'], 'paper')}, "
        f"{size['solved']} solved ({RATERS.get(solved_by, solved_by)}){quality}."
    ]
    if fit.problem:
        return [*lines, f"No estimate: {fit.problem}."]
    lines.append(
        "Odds ratios of measures are for an increase of one standard deviation; those of models are relative "
        f"to {reference}. Errors are clustered by paper; p is two-sided, by the normal."
    )
    rarer, number = min(size["solved"], size["answers"] - size["solved"]), len(fit.terms) - 1
    if number and rarer < EVENTS_A_TERM * number:
        lines.append(
            f"Few answers: {rarer} of the rarer outcome for {plural(number, 'term')}, "
            f"{rarer / number:.1f} per term; with fewer than {EVENTS_A_TERM} the estimates are unstable."
        )
    if size["papers"] < FEW_CLUSTERS:
        lines.append(
            f"Few papers: errors are clustered over {size['papers']}; with fewer than {FEW_CLUSTERS} they come out "
            "too small, and so do the p values."
        )
    return lines


# --- measures ---------------------------------------------------------------------------------------------------------


def measure_tree(paths: Iterable[str]) -> dict[str, float]:
    """Measure a repository as a tree of directories; the root is a directory, but not an entry.

    Depth is the mean depth of all entries (files and directories), where those of the root have depth 1. The branch
    factor is the mean number of subdirectories of the directories that have any, 0 if none has. Imbalance is standard
    deviation over mean of the number of entries of a directory.

    Args:
        paths: its files, relative, with `/`; directories are those of the files.
    """
    files = {PurePosixPath(path) for path in paths}
    root = PurePosixPath(".")
    directories = {parent for file in files for parent in file.parents if parent != root}
    entries = files | directories
    sizes = Counter(entry.parent for entry in entries)
    below = Counter(entry.parent for entry in directories)
    held = [sizes[directory] for directory in (root, *directories)]
    return {
        DEPTH: fmean(len(entry.parts) for entry in entries),
        BRANCHES: fmean(below.values()) if below else 0.0,
        IMBALANCE: pstdev(held) / fmean(held),
    }


def goal_length(source: str, function: str) -> int:
    """Count the lines of a function as Python prints its syntax tree: no blank lines, comments or docstring."""
    node = find_function(source, function).node
    if ast.get_docstring(node, clean=False) is not None:
        node.body.pop(0)
    return ast.unparse(node).count("\n") + 1


def original_measures() -> tuple[dict[str, dict[str, float]], list[str]]:
    """Return the measures in structure.csv by number of paper, and the folders without measures."""
    frame = (
        facts.structures()
    )  # two of the empty ones stand under another paper's number (10 under 1, 21 under 2)
    names = {"average_directory_depth": DEPTH, "average_branch_factor": BRANCHES}
    measured = frame[frame["files"] > 0].rename(columns=names).set_index("paper")[[DEPTH, BRANCHES]]
    measures = {str(paper): row for paper, row in measured.to_dict("index").items()}
    return measures, frame.loc[frame["files"] == 0, "folder"].tolist()


def task_measures(rows: Collection[DatasetRow]) -> dict[str, dict[str, float]]:
    """Return the measures of each row's masked repository and reference, by instance."""
    only_functions(rows, "the analysis of structure")
    return {
        row["instance_id"]: {
            **measure_tree(read_archive(row["repo_archive"])),
            LENGTH: goal_length(row["golden_file"], row["goal_function"]),
        }
        for row in rows
    }
