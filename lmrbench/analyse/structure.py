"""Regress success on the structure of repositories: the LMR-BENCH paper's Appendix G, Table 5.

Logistic regression of solved or not on measures of the repository and of the goal function, and on
dummies for the models, with errors clustered by paper. Measures are standardised: an odds ratio is
for one standard deviation more. Depth and branch factor are defined so that they give the numbers
of structure.csv, which has no other measures; the definitions of imbalance and goal length are
our own.
"""

import ast
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Any, NamedTuple

from lmrbench_data.base.errors import ArgumentError, InputError
from lmrbench_data.base.extras import require_extra
from lmrbench_data.base.source import find_function
from lmrbench_data.base.text import plural
from lmrbench_data.dataset.rows import DatasetRow, only_functions
from lmrbench_data.loader import read_archive
from lmrbench_evaluate.reports.text_table import Table

from ..original import facts
from .answers import JUDGE, NOTHING, PEOPLE, Answers
from .result import Analysis

if TYPE_CHECKING:
    import pandas as pd

DEPTH = "average directory depth"
BRANCHES = "average branch factor"
IMBALANCE = "directory imbalance"
LENGTH = "goal length"
MEASURES = (DEPTH, BRANCHES, IMBALANCE, LENGTH)
#: Raters who decide whether an answer is solved, beside the measures of the tests: CC is solved.
RATERS = {JUDGE: "the judge says CC", PEOPLE: "people say CC"}
#: Labels of a solved answer, by tests and by raters.
SOLVED = ("passed", "CC")
INTERCEPT = "intercept"
#: Clusters below which clustered errors are too small (Cameron and Miller 2015, Section VI).
FEW_CLUSTERS = 40
#: Answers of the rarer outcome per term below which estimates are unstable (Peduzzi et al. 1996).
EVENTS_A_TERM = 10
#: Log-odds per standard deviation beyond which the outcome counts as separated: no finite estimate.
SEPARATED = 15
#: Largest log-odds whose exponential is a float.
MAX_LOG_ODDS = 700


class Fit(NamedTuple):
    """The result of a regression."""

    terms: Sequence[Mapping[str, Any]] = ()
    """Name, coefficient (change of the log-odds), error, interval, p and odds ratios; none after a
    problem."""
    pseudo_r2: float | None = None
    """McFadden's."""
    problem: str = ""
    """The reason for a missing estimate."""


def analyse_structure(
    answers: Answers, rows: Sequence[DatasetRow] = (), solved_by: str = ""
) -> Analysis:
    """Regress success on structure; needs the extra `report`.

    Args:
        rows: those of the runs' dataset. The original's repositories are in structure.csv, which
            has two of the four measures.
        solved_by: a measure of the tests, `judge` or `people` (solved is then CC); the leading
            measure by default.
    """
    solved_by = solved_by or answers.measures[0]
    _check_rater(solved_by, [*answers.measures, *RATERS])
    require_extra("report", "a regression")

    remarks: list[str] = []
    measured = _measured(answers, rows, solved_by, remarks)
    frame = _without_uniform_groups(measured, remarks)
    numbers = {
        "source": answers.source,
        "solved_by": solved_by,
        **_numbers(frame, _varying(frame, remarks)),
    }
    return _present(numbers, [*remarks, *answers.notes])


def _check_rater(solved_by: str, raters: Sequence[str]) -> None:
    if solved_by not in raters:
        problem = f"{solved_by!r} is unknown; one of: {', '.join(raters)}"
        raise ArgumentError("solved_by", problem)


def _numbers(frame: "pd.DataFrame", measures: list[str]) -> dict[str, Any]:
    """Return the sizes of a sample, and the regression on its standardised measures."""
    columns = frame[measures]
    frame[measures] = (columns - columns.mean()) / columns.std(ddof=0)
    fit = fit_logit(frame, measures)
    return {
        "answers": len(frame),
        "solved": int(frame["solved"].sum()),
        "papers": frame["paper"].nunique(),
        "pseudo_r2": fit.pseudo_r2,
        "problem": fit.problem,
        "reference": str(frame["group"].iloc[0]),
        "terms": list(fit.terms),
    }


def _present(numbers: dict[str, Any], remarks: Sequence[str]) -> Analysis:
    import pandas as pd

    numbers["notes"] = [*_notes(numbers), *remarks]
    terms = numbers["terms"]
    tables = [("Logistic regression of solved or not", _term_table(terms))] if terms else []
    records = pd.DataFrame(terms)
    return Analysis("Repository structure and success", tables, numbers["notes"], records, numbers)


# --- data -----------------------------------------------------------------------------------------


def _measured(
    answers: Answers, rows: Sequence[DatasetRow], solved_by: str, remarks: list[str]
) -> "pd.DataFrame":
    """Return the rated answers that have measures, with `solved` (0 or 1), `paper` and measures."""
    rated = _rated(answers.frame, solved_by, remarks)
    measured = _join_measures(rated, None if answers.is_original else rows)
    has_measures = measured[DEPTH].notna()
    if not has_measures.any():
        raise InputError(
            f"{answers.source}: no answer has a result by {solved_by}: there is nothing to explain"
        )
    if not has_measures.all():
        left_out = plural(int((~has_measures).sum()), "answer")
        remarks.append(f"Left out: {left_out} of repositories without measures.")
    return measured[has_measures]


def _rated(frame: "pd.DataFrame", solved_by: str, remarks: list[str]) -> "pd.DataFrame":
    """Return the answers that have a label, with `solved` (0 or 1)."""
    present = frame[frame["is_there"]]
    missing = len(frame) - len(present)
    if missing:
        remarks.append(f"Left out: {plural(missing, 'answer')} missing from the runs.")
    labels = present[solved_by]
    rated = present[labels.notna() & (labels != NOTHING)]
    return rated.assign(solved=rated[solved_by].isin(SOLVED).astype(int))


def _join_measures(rated: "pd.DataFrame", rows: Collection[DatasetRow] | None) -> "pd.DataFrame":
    """Add the measures of these rows, or without any, those of the original."""
    if rows is None:
        return rated.join(original_measures(), on="paper")
    return rated.join(task_measures(rows), on="instance_id")


def _without_uniform_groups(frame: "pd.DataFrame", remarks: list[str]) -> "pd.DataFrame":
    """Leave out groups with one outcome: a dummy would explain each by itself.

    All stay if no group has both outcomes; the regression then says that it explains nothing.
    """
    rates = frame.groupby("group", sort=False)["solved"].mean()
    uniform = rates[rates.isin([0, 1])]
    if len(uniform) == len(rates):
        return frame
    for group, rate in uniform.items():
        share = "all" if rate else "none"
        remarks.append(f"Left out: {group}, with {share} of its answers solved.")
    return frame[~frame["group"].isin(uniform.index)]


def _varying(frame: "pd.DataFrame", remarks: list[str]) -> list[str]:
    """Return the measures that the data has and that are not the same for all answers."""
    varying = [name for name in MEASURES if name in frame and frame[name].nunique() > 1]
    left_out = [name for name in MEASURES if name not in varying]
    if left_out:
        remarks.append(f"Left out, as missing or the same for all answers: {', '.join(left_out)}.")
    return varying


# --- regression -----------------------------------------------------------------------------------


def fit_logit(frame: "pd.DataFrame", measures: Sequence[str]) -> Fit:
    """Regress `solved` (0 or 1) on measures and dummies for `group`, with errors by `paper`.

    The first group is the reference.
    """
    import statsmodels.api as sm

    solved = frame["solved"]
    if solved.nunique() < 2:
        return Fit(problem=_uniform_problem(solved))
    result = _fit(sm.Logit(solved, _terms(frame, measures)), frame["paper"])
    if result is None:
        reason = "the terms determine the outcome or one another, or too few papers differ"
        return Fit(problem=reason)
    estimates = _estimates(result).reset_index(names="name")
    return Fit(estimates.to_dict("records"), float(result.prsquared))


def _uniform_problem(solved: "pd.Series[int]") -> str:
    share = "all" if solved.any() else "none"
    return f"{share} of {plural(len(solved), 'answer')} solved: there is nothing to explain"


def _terms(frame: "pd.DataFrame", measures: Sequence[str]) -> "pd.DataFrame":
    """Return the intercept, the measures and a dummy for each group except the first."""
    import pandas as pd

    groups = frame["group"]
    dummies = pd.get_dummies(groups)[groups.unique()[1:]]
    terms = frame[list(measures)].join(dummies).astype(float)
    terms.insert(0, INTERCEPT, 1.0)
    return terms


def _fit(model: Any, papers: "pd.Series[str]") -> Any:
    """Return the result of a regression with clustered errors; None if there is no estimate."""
    import numpy as np
    import pandas as pd
    from statsmodels.tools.sm_exceptions import ModelWarning

    if np.linalg.matrix_rank(model.exog) < model.exog.shape[1]:
        return None
    numbers, _ = pd.factorize(papers)
    clusters = {"groups": numbers}
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModelWarning)  # separated, or not converged
        try:
            result = model.fit(disp=False, maxiter=200, cov_type="cluster", cov_kwds=clusters)
        except (ModelWarning, np.linalg.LinAlgError, ValueError, ArithmeticError):
            return None
    return result if _is_finite(result) else None


def _is_finite(result: Any) -> bool:
    is_separated = (result.params.abs() > SEPARATED).any()
    has_errors = (result.bse >= 1e-8).all()  # not with too few papers
    return bool(has_errors and not is_separated)


def _estimates(result: Any) -> "pd.DataFrame":
    """Return coefficients, errors, intervals, p and odds ratios of a regression by term."""
    import numpy as np
    import pandas as pd

    bounds = result.conf_int()
    columns = {
        "coefficient": result.params,
        "error": result.bse,
        "low": bounds[0],
        "high": bounds[1],
        "p": result.pvalues,
    }
    table = pd.DataFrame(columns)
    table["odds_ratio"] = np.exp(table["coefficient"])
    table["odds_ratio_low"] = np.exp(table["low"])
    table["odds_ratio_high"] = np.exp(table["high"].clip(upper=MAX_LOG_ODDS))
    return table


# --- text -----------------------------------------------------------------------------------------


def _term_table(terms: Iterable[Mapping[str, Any]]) -> Table:
    cells = {
        "term": "{name}",
        "coefficient": "{coefficient:+.3f}",
        "std. error": "{error:.3f}",
        "odds ratio": "{odds_ratio:.2f}",
        "95%": "{odds_ratio_low:.2f} - {odds_ratio_high:.2f}",
        "p": "{p:.3f}",
    }
    rows = []
    for term in terms:
        rows.append([text.format(**term) for text in cells.values()])
    return list(cells), rows


def _notes(numbers: Mapping[str, Any]) -> list[str]:
    """Return how the model was estimated, and reasons not to trust it."""
    summary = _summary(numbers)
    if numbers["problem"]:
        return [f"{summary}.", f"No estimate: {numbers['problem']}."]
    return [
        f"{summary}, McFadden's pseudo R2 {numbers['pseudo_r2']:.3f}.",
        "Odds ratios of measures are for an increase of one standard deviation; those of models "
        f"are relative to {numbers['reference']}. Errors are clustered by paper; p is two-sided, "
        "by the normal.",
        f"With fewer than {EVENTS_A_TERM} answers of the rarer outcome per term, estimates are "
        f"unstable; with fewer than {FEW_CLUSTERS} papers, errors and p come out too small.",
    ]


def _summary(numbers: Mapping[str, Any]) -> str:
    answers = plural(numbers["answers"], "answer")
    papers = plural(numbers["papers"], "paper")
    solved = numbers["solved"]
    solver = RATERS.get(numbers["solved_by"], numbers["solved_by"])
    return f"Counted from {numbers['source']}: {answers} to {papers}, {solved} solved ({solver})"


# --- measures -------------------------------------------------------------------------------------


def measure_tree(paths: Iterable[str]) -> dict[str, float]:
    """Measure a repository as a tree of directories; the root is a directory, but not an entry.

    Depth is the mean depth of all entries (files and directories), where those of the root have
    depth 1. The branch factor is the mean number of subdirectories of the directories that have
    any, 0 if none has. Imbalance is standard deviation over mean of the number of entries of a
    directory.

    Args:
        paths: its files, relative, with `/`; directories are those of the files.
    """
    files = {PurePosixPath(path) for path in paths}
    directories = _directories(files)
    entries = files | directories
    depths = [len(entry.parts) for entry in entries]
    sizes = Counter(entry.parent for entry in entries).values()
    branches = Counter(directory.parent for directory in directories).values()
    return {
        DEPTH: fmean(depths),
        BRANCHES: fmean(branches) if branches else 0.0,
        IMBALANCE: pstdev(sizes) / fmean(sizes),
    }


def _directories(files: Iterable[PurePosixPath]) -> set[PurePosixPath]:
    directories: set[PurePosixPath] = set()
    for file in files:
        directories.update(file.parents)
    return directories - {PurePosixPath()}


def goal_length(source: str, function: str) -> int:
    """Count the lines of a function as Python prints its syntax tree.

    These have no blank lines, comments or docstring.
    """
    node = find_function(source, function).node
    if ast.get_docstring(node, clean=False) is not None:
        node.body.pop(0)
    return ast.unparse(node).count("\n") + 1


def original_measures() -> "pd.DataFrame":
    """Return depth and branch factor of the original's repositories by number of paper."""
    frame = facts.structures().query("files > 0")
    frame.index = frame["paper"].astype(str)
    names = {"average_directory_depth": DEPTH, "average_branch_factor": BRANCHES}
    return frame[list(names)].rename(columns=names)


def task_measures(rows: Collection[DatasetRow]) -> "pd.DataFrame":
    """Return the paper of each row, and the measures of its masked repository and reference."""
    import pandas as pd

    only_functions(rows, "the analysis of structure")
    records = {}
    for row in rows:
        length = goal_length(row["golden_file"], row["goal_function"])
        tree = measure_tree(read_archive(row["repo_archive"]))
        records[row["instance_id"]] = {"paper": row["paper_url"], **tree, LENGTH: length}
    return pd.DataFrame.from_dict(records, orient="index", columns=["paper", *MEASURES])
