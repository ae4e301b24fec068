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
from lmrbench_data.base.text_table import Table
from lmrbench_data.dataset.rows import DatasetRow, only_functions
from lmrbench_data.loader import read_archive

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
    import pandas as pd

    solved_by = solved_by or answers.measures[0]
    raters = [*answers.measures, *RATERS]
    if solved_by not in raters:
        problem = f"{solved_by!r} is unknown; one of: {', '.join(raters)}"
        raise ArgumentError("solved_by", problem)
    require_extra("report", "a regression")

    remarks: list[str] = []
    frame = _measured(answers, rows, solved_by, remarks)
    frame = _without_uniform_groups(frame, remarks)
    measures = _varying(frame, remarks)
    sizes = pd.DataFrame({"mean": frame[measures].mean(), "sd": frame[measures].std(ddof=0)})
    frame[measures] = (frame[measures] - sizes["mean"]) / sizes["sd"]
    fit = fit_logit(frame, measures)
    numbers = {
        "source": answers.source,
        "solved_by": solved_by,
        "answers": len(frame),
        "solved": int(frame["solved"].sum()),
        "papers": frame["paper"].nunique(),
        "pseudo_r2": fit.pseudo_r2,
        "problem": fit.problem,
        "reference": str(frame["group"].iloc[0]),
        "measures": sizes.to_dict("index"),
        "terms": list(fit.terms),
    }
    return _present(numbers, [*remarks, *answers.notes])


def _present(numbers: dict[str, Any], remarks: Sequence[str]) -> Analysis:
    import pandas as pd

    numbers["notes"] = [*_notes(numbers), *remarks]
    tables = [("Measures over the answers", _size_table(numbers["measures"]))]
    if numbers["terms"]:
        tables.insert(0, ("Logistic regression of solved or not", _term_table(numbers["terms"])))
    records = pd.DataFrame(numbers["terms"])
    return Analysis("Repository structure and success", tables, numbers["notes"], records, numbers)


# --- data -----------------------------------------------------------------------------------------


def _measured(
    answers: Answers, rows: Sequence[DatasetRow], solved_by: str, remarks: list[str]
) -> "pd.DataFrame":
    """Return the rated answers that have measures, with `solved` (0 or 1), `paper` and measures."""
    frame = answers.frame
    missing = int((~frame["is_there"]).sum())
    if missing:
        remarks.append(f"Left out: {plural(missing, 'answer')} missing from the runs.")
    labels = frame[solved_by]
    rated = frame[frame["is_there"] & labels.notna() & (labels != NOTHING)]
    rated = rated.assign(solved=rated[solved_by].isin(SOLVED).astype(int))
    if answers.is_original:
        measured = rated.join(original_measures(), on="paper")
    else:
        measured = rated.join(task_measures(rows), on="instance_id")
    unmeasured = measured[measured[DEPTH].isna()]
    if len(unmeasured) == len(measured):
        raise InputError(
            f"{answers.source}: no answer has a result by {solved_by}: there is nothing to explain"
        )
    if len(unmeasured):
        left_out = f"{plural(len(unmeasured), 'answer')} left out."
        if answers.is_original:
            folders = ", ".join(facts.unmeasured_folders())
            remarks.append(f"structure.csv has no measures of {folders}: {left_out}")
        else:
            instances = ", ".join(sorted(set(unmeasured["instance_id"])))
            remarks.append(f"There are no measures of {instances}: {left_out}")
    return measured.dropna(subset=DEPTH)


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
    import pandas as pd
    import statsmodels.api as sm

    solved = frame["solved"]
    if solved.nunique() < 2:
        share = "all" if solved.any() else "none"
        count = plural(len(frame), "answer")
        return Fit(problem=f"{share} of {count} solved: there is nothing to explain")
    dummies = pd.get_dummies(frame["group"])[frame["group"].unique()[1:]]
    terms = frame[list(measures)].join(dummies).astype(float)
    terms.insert(0, INTERCEPT, 1.0)
    result = _fit(sm.Logit(solved, terms), pd.factorize(frame["paper"])[0])
    if result is None:
        reason = "the terms determine the outcome or one another, or too few papers differ"
        return Fit(problem=reason)
    estimates = _estimates(result).reset_index(names="name").to_dict("records")
    return Fit(estimates, float(result.prsquared))


def _fit(model: Any, papers: Any) -> Any:
    """Return the result of a regression with clustered errors; None if there is no estimate."""
    import numpy as np
    from statsmodels.tools.sm_exceptions import ModelWarning

    if np.linalg.matrix_rank(model.exog) < model.exog.shape[1]:
        return None
    clusters = {"groups": papers}
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModelWarning)  # separated, or not converged
        try:
            result = model.fit(disp=False, maxiter=200, cov_type="cluster", cov_kwds=clusters)
        except (ModelWarning, np.linalg.LinAlgError, ValueError, ArithmeticError):
            return None
    is_separated = (result.params.abs() > SEPARATED).any()
    has_errors = (result.bse >= 1e-8).all()  # not with too few papers
    return None if is_separated or not has_errors else result


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


def _size_table(sizes: Mapping[str, Mapping[str, float]]) -> Table:
    rows = [[name, f"{size['mean']:.2f}", f"{size['sd']:.2f}"] for name, size in sizes.items()]
    return ["measure", "mean", "one standard deviation"], rows


def _notes(numbers: Mapping[str, Any]) -> list[str]:
    """Return how the model was estimated, and reasons not to trust it."""
    answers, solved, papers = numbers["answers"], numbers["solved"], numbers["papers"]
    solver = RATERS.get(numbers["solved_by"], numbers["solved_by"])
    summary = (
        f"Counted from {numbers['source']}: {plural(answers, 'answer')} to "
        f"{plural(papers, 'paper')}, {solved} solved ({solver})"
    )
    if numbers["problem"]:
        return [f"{summary}.", f"No estimate: {numbers['problem']}."]
    lines = [
        f"{summary}, McFadden's pseudo R2 {numbers['pseudo_r2']:.3f}.",
        "Odds ratios of measures are for an increase of one standard deviation; those of models "
        f"are relative to {numbers['reference']}. Errors are clustered by paper; p is two-sided, "
        "by the normal.",
    ]
    rarer = min(solved, answers - solved)
    terms = len(numbers["terms"]) - 1
    if rarer < EVENTS_A_TERM * terms:
        lines.append(
            f"Few answers: {rarer} of the rarer outcome for {plural(terms, 'term')}, "
            f"{rarer / terms:.1f} per term; with fewer than {EVENTS_A_TERM} the estimates are "
            "unstable."
        )
    if papers < FEW_CLUSTERS:
        lines.append(
            f"Few papers: errors are clustered over {papers}; with fewer than {FEW_CLUSTERS} they "
            "come out too small, and so do the p values."
        )
    return lines


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
    directories = {parent for file in files for parent in file.parents} - {PurePosixPath()}
    entries = files | directories
    depths = [len(entry.parts) for entry in entries]
    sizes = Counter(entry.parent for entry in entries).values()
    branches = Counter(directory.parent for directory in directories).values()
    return {
        DEPTH: fmean(depths),
        BRANCHES: fmean(branches) if branches else 0.0,
        IMBALANCE: pstdev(sizes) / fmean(sizes),
    }


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
