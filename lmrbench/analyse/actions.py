"""Count agents' actions by model and outcome: the LMR-BENCH paper's Section 5.1, Figures 5 and 6.

A share is of all actions of a group's sessions together. Its interval is the percentile bootstrap
over sessions: actions of one session are not independent. Random draws use a fixed seed: equal
sessions give equal numbers.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from lmrbench_data.base.proportions import percent
from lmrbench_data.base.text import plural
from lmrbench_evaluate.reports.text_table import Table

from .result import Analysis, by_group
from .sessions import EXCLUDED, KINDS, Sessions

if TYPE_CHECKING:
    import pandas as pd

#: Number of draws of the bootstrap.
DRAWS = 2000
#: With fewer sessions, resampling says nothing about new ones.
MIN_SESSIONS = 5


def analyse_actions(sessions: Sessions) -> Analysis:
    """Count the shares of the kinds of actions, with their intervals."""
    import pandas as pd

    records = list(_shares_by_outcome(sessions.frame))
    notes = _notes(sessions)
    shares = pd.DataFrame(records)
    numbers = {
        "source": sessions.source,
        "passed_means": sessions.outcome,
        "shares": records,
        "sessions": sessions.frame.to_dict("records"),
        "notes": notes,
    }
    tables = [("Shares of actions", _table(shares))]
    return Analysis("What agents do", tables, notes, shares, numbers)


def _shares_by_outcome(sessions: "pd.DataFrame") -> Iterator[dict[str, Any]]:
    for model, rows in by_group(sessions, "model"):
        passed = rows["passed"]
        yield from _shares(model, "all", rows)
        yield from _shares(model, "passed", rows[passed.isin([True])])
        yield from _shares(model, "not passed", rows[passed.isin([False])])


def _shares(model: str, outcome: str, sessions: "pd.DataFrame") -> Iterator[dict[str, Any]]:
    """Yield a row for each kind; none if there are no sessions."""
    counts = sessions[list(KINDS)]
    sums = counts.sum()
    total = int(sums.sum())
    for kind, (low, high) in zip(KINDS, _intervals(counts), strict=False):
        actions = int(sums[kind])
        yield {
            "model": model,
            "outcome": outcome,
            "kind": kind,
            "sessions": len(sessions),
            "actions": actions,
            "total": total,
            "share": actions / total,
            "low": low,
            "high": high,
        }


def _intervals(counts: "pd.DataFrame") -> Iterable[tuple[float | None, float | None]]:
    """Return the bootstrapped interval of the share of each kind; none for few sessions."""
    import numpy as np

    sessions = len(counts)
    if not sessions:
        return []
    if sessions < MIN_SESSIONS:
        return [(None, None)] * len(KINDS)
    probabilities = [1 / sessions] * sessions
    times_drawn = np.random.default_rng(0).multinomial(sessions, probabilities, DRAWS)
    actions = times_drawn @ counts.to_numpy(float)
    shares = actions / actions.sum(axis=1, keepdims=True)
    return map(tuple, np.percentile(shares, [2.5, 97.5], axis=0).T.tolist())


def _table(shares: "pd.DataFrame") -> Table:
    rows = []
    for (model, outcome), kinds in shares.groupby(["model", "outcome"], sort=False):
        sessions = kinds["sessions"].iloc[0]
        actions_each = kinds["total"].iloc[0] / sessions
        cells = [_cell(kind) for kind in kinds.itertuples()]
        rows.append([model, outcome, str(sessions), f"{actions_each:.1f}", *cells])
    return ["model", "outcome", "sessions", "actions each", *KINDS], rows


def _cell(row: Any) -> str:
    share = percent(row.share)
    if row.sessions < MIN_SESSIONS:
        return share
    return f"{share} ({100 * row.low:.0f}-{100 * row.high:.0f})"


def _notes(sessions: Sessions) -> list[str]:
    """Return the method of counting."""
    excluded = int(sessions.frame[EXCLUDED].sum())
    return [
        f"Counted from {sessions.source}. Shares are of all actions of a group; intervals are the "
        f"95% bootstrap over sessions, and there is none for fewer than {MIN_SESSIONS}.",
        "message: messages and thoughts; run: shell and IPython. Excluded, as in the paper's "
        f"Figure 5: {plural(excluded, 'other action')} (browsing and the like).",
        *_outcome_notes(sessions),
        *sessions.notes,
    ]


def _outcome_notes(sessions: Sessions) -> Iterator[str]:
    passed = sessions.frame["passed"]
    unknown = int(passed.isna().sum())
    if unknown < len(passed):
        yield f"Passed is by {sessions.outcome}."
    if unknown:
        count = plural(unknown, "session has", "sessions have")
        yield f"{count} no result: counted by model only."
