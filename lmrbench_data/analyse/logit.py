"""Logistic regression with clustered errors, or one line that says why there is no estimate.

Left out of the model, with the reason: a column that never changes, and one that follows from those before it. If the
outcome can be separated (Albert and Anderson 1984), maximum likelihood has no estimate, and none is given.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..base.extras import need
from ..base.text import counted, error_line

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

INTERCEPT = "intercept"
#: Clusters below which clustered errors are too small (Cameron and Miller 2015, Section VI).
FEW_CLUSTERS = 40
#: Answers of the rarer outcome per term below which estimates are unstable (Peduzzi et al. 1996).
EVENTS_A_TERM = 10
#: Variance inflation from which two columns carry nearly the same information.
HIGH_VIF = 10.0


@dataclass(frozen=True)
class Term:
    """One coefficient."""

    name: str
    coefficient: float
    """Change of the log-odds."""
    error: float
    """Standard error, clustered."""
    low: float
    high: float
    """95 % interval of the coefficient."""
    p: float
    vif: float | None
    """Variance inflation factor; None for the intercept."""

    @property
    def odds_ratio(self) -> tuple[float, float, float]:
        """The ratio, and its 95 % interval."""
        return math.exp(self.coefficient), math.exp(min(self.low, 700)), math.exp(min(self.high, 700))


@dataclass(frozen=True)
class Fit:
    """The result of a regression."""

    answers: int
    solved: int
    clusters: int
    terms: Sequence[Term] = ()
    """Empty if there is a problem."""
    pseudo_r2: float | None = None
    """McFadden's."""
    problem: str = ""
    """The reason for a missing estimate."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Column → why it is not in the model."""

    @property
    def warnings(self) -> list[str]:
        """Reasons not to trust the numbers."""
        found = [f"{name} is left out: {why}." for name, why in self.left_out.items()]
        if not self.terms:
            return found
        rarer, number = min(self.solved, self.answers - self.solved), len(self.terms) - 1
        if number and rarer < EVENTS_A_TERM * number:
            found.append(
                f"Few answers: {rarer} of the rarer outcome for {counted(number, 'term')}, "
                f"{rarer / number:.1f} per term; with fewer than {EVENTS_A_TERM} the estimates are unstable."
            )
        if self.clusters < FEW_CLUSTERS:
            found.append(
                f"Few papers: errors are clustered over {self.clusters}; with fewer than {FEW_CLUSTERS} they come out "
                "too small, and so do the p values."
            )
        high = [f"{term.name} ({term.vif:.0f})" for term in self.terms if term.vif and term.vif >= HIGH_VIF]
        if high:
            found.append(
                f"Collinear: variance inflation of {', '.join(high)}; these coefficients cannot be told apart."
            )
        return found


def fit_logit(columns: Mapping[str, Sequence[float]], solved: Sequence[bool], clusters: Sequence[str]) -> Fit:
    """Regress an outcome on columns and an intercept.

    Args:
        columns: name → value of each answer.
        clusters: the cluster of each answer.

    Raises:
        InputError: the extra `report` is not installed.
    """
    need("report", "a regression")
    import numpy as np

    outcome = np.asarray(solved, dtype=float)
    names = sorted(set(clusters))
    known = len(outcome), int(outcome.sum()), len(names)
    if not 0 < known[1] < known[0]:
        every = "all" if known[1] else "none"
        return Fit(*known, problem=f"{every} of {counted(known[0], 'answer')} solved: there is nothing to explain")
    if known[2] < 2:
        return Fit(*known, problem="all answers are to one paper: errors cannot be clustered")
    kept, design, left_out = _independent(columns, known[0])
    separated = _separating(design, outcome)
    if separated:
        which = ", ".join(kept[place - 1] for place in separated if place)
        problem = f"the outcome of some answers follows from {which} (separation), so no finite estimate exists"
        return Fit(*known, problem=problem, left_out=left_out)
    return _fit(kept, design, outcome, [names.index(name) for name in clusters], known, left_out)


def _fit(
    kept: Sequence[str],
    design: "NDArray[np.float64]",
    outcome: "NDArray[np.float64]",
    groups: Sequence[int],
    known: tuple[int, int, int],
    left_out: Mapping[str, str],
) -> Fit:
    import numpy as np
    from statsmodels.discrete.discrete_model import Logit
    from statsmodels.stats.outliers_influence import variance_inflation_factor

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they say is checked below
        try:
            found = Logit(outcome, design).fit(
                disp=False, maxiter=200, cov_type="cluster", cov_kwds={"groups": np.asarray(groups)}
            )
        except (np.linalg.LinAlgError, ValueError, FloatingPointError) as error:
            return Fit(*known, problem=f"the model cannot be estimated ({error_line(error)})", left_out=left_out)
        intervals = found.conf_int(alpha=0.05)
        inflation = [variance_inflation_factor(design, place) for place in range(1, design.shape[1])]
    errors = np.asarray(found.bse, dtype=float)
    if not found.mle_retvals["converged"] or not np.isfinite(errors).all():
        return Fit(*known, problem="the estimation did not converge", left_out=left_out)
    if not (errors > 1e-8).all():
        problem = f"errors cannot be clustered: {counted(known[2], 'paper')} for {counted(len(errors), 'coefficient')}"
        return Fit(*known, problem=problem, left_out=left_out)
    terms = [
        Term(
            name,
            float(found.params[place]),
            float(errors[place]),
            float(intervals[place][0]),
            float(intervals[place][1]),
            float(found.pvalues[place]),
            float(inflation[place - 1]) if place else None,
        )
        for place, name in enumerate([INTERCEPT, *kept])
    ]
    return Fit(*known, terms, float(found.prsquared), left_out=left_out)


def _independent(
    columns: Mapping[str, Sequence[float]], rows: int
) -> tuple[list[str], "NDArray[np.float64]", dict[str, str]]:
    """The columns that add something, the design matrix with the intercept first, and why others do not."""
    import numpy as np

    design, left_out = np.ones((rows, 1)), {}
    kept: list[str] = []
    for name, values in columns.items():
        column = np.asarray(values, dtype=float)[:, None]
        if np.ptp(column) == 0:
            left_out[name] = "it is the same for all answers"
            continue
        wider = np.hstack([design, column])
        if np.linalg.matrix_rank(wider) == wider.shape[1]:
            design, kept = wider, [*kept, name]
        else:
            left_out[name] = f"it follows from {', '.join(kept) or INTERCEPT}"
    return kept, design, left_out


def _separating(design: "NDArray[np.float64]", outcome: "NDArray[np.float64]") -> list[int]:
    """Columns of a direction that separates the outcome, wholly or in part; empty if there is none (Konis 2007)."""
    import numpy as np
    from scipy.optimize import linprog

    signed = design * (2 * outcome - 1)[:, None]
    # Is there a direction along which no answer gets less likely, and some get more so? Without limit it would grow.
    found = linprog(-signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(len(signed)), bounds=(-1, 1), method="highs")
    if found.x is None or -found.fun < 1e-7:
        return []
    return [place for place, value in enumerate(found.x) if abs(value) > 1e-7]
