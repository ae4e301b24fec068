"""Count agents' actions by model and by outcome, as in the LMR-BENCH paper's Section 5.1 and Figures 5 and 6.

A share is of all actions of a group's sessions together. Its interval is the percentile bootstrap over sessions:
actions of one session are not independent. Random draws use a fixed seed: equal sessions give equal numbers.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from lmrbench_data.base.proportions import percent
from lmrbench_data.base.text import plural
from lmrbench_data.base.text_table import Table

from .result import Analysis
from .sessions import EXCLUDED, KINDS, Sessions

if TYPE_CHECKING:
    import pandas as pd

ALL = "all"
PASSED, NOT_PASSED = "passed", "not passed"
#: Outcome → value of `passed`; None is any.
OUTCOMES = {ALL: None, PASSED: True, NOT_PASSED: False}
#: Number of draws of the bootstrap; with fewer sessions, resampling says nothing about new ones.
DRAWS, MIN_SESSIONS = 2000, 5


def analyse_actions(sessions: Sessions) -> Analysis:
    """Count the shares of the kinds of actions, with their intervals."""
    import pandas as pd

    frame = sessions.frame
    models = {str(name): rows for name, rows in frame.groupby("model", sort=False)}
    if len(models) > 1:
        models[ALL] = frame
    records: list[dict[str, Any]] = []
    for name, rows in models.items():
        for outcome, passed in OUTCOMES.items():
            records += _shares(
                name, outcome, rows if passed is None else rows[rows["passed"] == passed]
            )
    shares = pd.DataFrame(records)
    notes = _notes(sessions)
    numbers = {
        "source": sessions.source,
        "passed_means": sessions.outcome,
        "shares": records,
        "sessions": frame.to_dict("records"),
        "notes": notes,
    }
    return Analysis(
        "What agents do", [("Shares of actions", _table(shares))], notes, shares, numbers
    )


def _shares(model: str, outcome: str, frame: "pd.DataFrame") -> Iterator[dict[str, Any]]:
    """Yield a row for each kind; none if there are no sessions."""
    import numpy as np

    sessions, counts = len(frame), frame[list(KINDS)]
    sums, drawn = counts.sum(), None
    if sessions >= MIN_SESSIONS:  # how often each session is drawn, for each draw
        weights = np.random.default_rng(0).multinomial(
            sessions, np.full(sessions, 1 / sessions), DRAWS
        )
        drawn = weights @ counts.to_numpy(float)
    for place, kind in enumerate(KINDS) if sessions else ():
        low, high = (None, None)
        if drawn is not None:
            low, high = np.percentile(drawn[:, place] / drawn.sum(axis=1), [2.5, 97.5]).tolist()
        actions, total = int(sums[kind]), int(sums.sum())
        names = {"model": model, "outcome": outcome, "kind": kind}
        numbers = {
            "sessions": sessions,
            "actions": actions,
            "total": total,
            "share": actions / total,
        }
        yield {**names, **numbers, "low": low, "high": high}


def _table(shares: "pd.DataFrame") -> Table:
    rows = []
    for (model, outcome), own in shares.groupby(["model", "outcome"], sort=False):
        sessions, total = own[["sessions", "total"]].iloc[0]
        cells = [percent(row["share"]) + _bounds(row) for row in own.to_dict("records")]
        rows.append([str(model), str(outcome), str(sessions), f"{total / sessions:.1f}", *cells])
    return ["model", "outcome", "sessions", "actions each", *KINDS], rows


def _notes(sessions: Sessions) -> list[str]:
    """Return the method of counting."""
    frame = sessions.frame
    lines = [
        f"Counted from {sessions.source}. Shares are of all actions of a group; intervals are the 95% "
        f"bootstrap over sessions, and there is none for fewer than {MIN_SESSIONS}.",
        "message: messages and thoughts; run: shell and IPython. Excluded, as in the paper's Figure 5: "
        f"{plural(int(frame[EXCLUDED].sum()), 'other action')} (browsing and the like).",
    ]
    if frame["passed"].notna().any():
        lines.append(f"Passed is by {sessions.outcome}.")
    if unknown := int(frame["passed"].isna().sum()):
        lines.append(
            f"{plural(unknown, 'session has', 'sessions have')} no result: counted by model only."
        )
    return [*lines, *sessions.notes]


def _bounds(row: Mapping[Any, Any]) -> str:
    has_interval = row["low"] is not None and row["low"] == row["low"]
    return f" ({100 * row['low']:.0f}-{100 * row['high']:.0f})" if has_interval else ""
