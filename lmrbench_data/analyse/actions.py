"""Count agents' actions by model and by outcome, as in the LMR-BENCH paper's Section 5.1 and Figures 5 and 6.

A share is of all actions of a group's sessions together. Its interval is the percentile bootstrap over sessions:
actions of one session are not independent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.shares import percent
from ..base.text import counted
from ..base.text_table import Table
from .action_share import ActionShare
from .bootstrap import DRAWS, MIN_CLUSTERS
from .result import Analysis
from .sessions import Session, Sessions
from .trajectories import EXCLUDED, KINDS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ALL = "all"
PASSED, NOT_PASSED = "passed", "not passed"
_OUTCOMES = {PASSED: True, NOT_PASSED: False}


@dataclass(frozen=True)
class Difference:
    """The share of one kind in sessions that passed, minus the share in those that did not."""

    kind: str
    value: float
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class Actions(Analysis):
    """Shares of the kinds of actions, by model and outcome."""

    sessions: Sessions
    shares: Sequence[ActionShare]
    differences: Sequence[Difference]
    """Between outcomes, over all models; empty without outcomes."""
    title: str = "What agents do"

    def of(self, model: str, outcome: str) -> dict[str, ActionShare]:
        """The shares of a group by kind; empty if it has no sessions."""
        return {item.kind: item for item in self.shares if (item.model, item.outcome) == (model, outcome)}

    @property
    def models(self) -> list[str]:
        """All models, without `all`."""
        return list(dict.fromkeys(item.model for item in self.shares if item.model != ALL))

    def tables(self) -> list[tuple[str, Table]]:
        """Shares by model and by outcome, and the difference between outcomes."""
        everybody = [ALL] if len(self.models) > 1 else []
        by_model = [(name, ALL) for name in [*self.models, *everybody]]
        by_outcome = [(name, outcome) for name in [*everybody, *self.models] for outcome in _OUTCOMES]
        rows = [[i.kind, _signed(i.value), _points(i.interval)] for i in self.differences]
        found = [
            ("By model", self._table(by_model, with_outcome=False)),
            ("By outcome", self._table(by_outcome, with_outcome=True)),
            ("Share of actions: sessions that passed minus the others", (["kind", "points", "95 %"], rows)),
        ]
        return [(title, table) for title, table in found if table[1]]

    def notes(self) -> list[str]:
        """The method of counting."""
        rows = self.sessions.rows
        excluded = sum(row.actions[EXCLUDED] for row in rows)
        lines = [
            f"Counted from {self.sessions.source}. Shares are of all actions of a group; intervals are the 95 % "
            f"bootstrap over sessions, and there is none for fewer than {MIN_CLUSTERS}.",
            "message: messages and thoughts; run: shell and IPython. "
            f"Excluded, as in the paper's Figure 5: {counted(excluded, 'other action')} (browsing and the like).",
        ]
        if self.differences:
            lines.append(
                f"Passed is by {self.sessions.outcome}. Models differ in what they do and in how often they pass: read "
                "the difference beside the shares of each model."
            )
        if unknown := sum(row.passed is None for row in rows):
            lines.append(f"{counted(unknown, 'session has', 'sessions have')} no result: counted by model only.")
        return [*lines, *self.sessions.notes]

    def records(self) -> list[dict[str, Any]]:
        """One row for each model, outcome and kind."""
        return [
            {
                **{name: getattr(item, name) for name in ("model", "outcome", "kind", "sessions", "actions", "total")},
                "share": item.share,
                "low": item.interval and item.interval[0],
                "high": item.interval and item.interval[1],
            }
            for item in self.shares
        ]

    def to_dict(self) -> dict[str, Any]:
        """All numbers, session by session too."""
        rows = [
            {"model": row.model, "session": row.name, "passed": row.passed, "actions": _counts(row.actions)}
            for row in self.sessions.rows
        ]
        return {
            "source": self.sessions.source,
            "passed_means": self.sessions.outcome,
            "shares": self.records(),
            "differences": [vars(item) for item in self.differences],
            "sessions": rows,
            "notes": self.notes(),
        }

    def draw(self, path: Path) -> None:
        """The shares by model and by outcome as a picture, .png or .svg.

        Raises:
            InputError: the extra `report` is not installed.
        """
        from .figures import draw_shares

        everybody = ALL if len(self.models) > 1 else self.models[0]
        panels = {"By model": {name: self.of(name, ALL) for name in self.models}}
        if self.differences:
            panels["By outcome, all models"] = {outcome: self.of(everybody, outcome) for outcome in _OUTCOMES}
        draw_shares(panels, KINDS, path)

    def _table(self, groups: Sequence[tuple[str, str]], *, with_outcome: bool) -> Table:
        header = ["model", *(["outcome"] if with_outcome else []), "sessions", "actions each", *KINDS]
        rows = []
        for model, outcome in groups:
            if found := self.of(model, outcome):
                first = found[KINDS[0]]
                cells = [str(first.sessions), f"{first.total / first.sessions:.1f}"]
                shares = (f"{percent(item.share)}{_range(item.interval)}" for item in found.values())
                rows.append([model, *([outcome] if with_outcome else []), *cells, *shares])
        return header, rows


def analyse_actions(sessions: Sessions) -> Actions:
    """Count the shares of the kinds of actions, with their intervals; equal sessions give equal numbers."""
    models = list(dict.fromkeys(row.model for row in sessions.rows))
    shares = []
    for model in [*models, *([ALL] if len(models) > 1 else [])]:
        own = [row for row in sessions.rows if model in (ALL, row.model)]
        for outcome, wanted in {ALL: None, **_OUTCOMES}.items():
            group = own if wanted is None else [row for row in own if row.passed is wanted]
            if group:
                shares += _shares(model, outcome, group)
    passed, others = ([row for row in sessions.rows if row.passed is wanted] for wanted in (True, False))
    return Actions(sessions, shares, _differences(passed, others) if passed and others else [])


def _shares(model: str, outcome: str, rows: Sequence[Session]) -> list[ActionShare]:
    counts = _matrix(rows)
    sums, intervals = counts.sum(axis=0), _intervals(_drawn(rows))
    total = int(sums.sum())
    return [
        ActionShare(model, outcome, kind, len(rows), int(number), total, intervals[place] if intervals else None)
        for place, (kind, number) in enumerate(zip(KINDS, sums, strict=True))
    ]


def _differences(passed: Sequence[Session], others: Sequence[Session]) -> list[Difference]:
    values = _shares_of(_matrix(passed).sum(axis=0)) - _shares_of(_matrix(others).sum(axis=0))
    one, other = _drawn(passed, seed=1), _drawn(others, seed=2)
    intervals = _intervals(one - other) if one is not None and other is not None else None
    return [
        Difference(kind, float(values[place]), intervals[place] if intervals else None)
        for place, kind in enumerate(KINDS)
    ]


def _matrix(rows: Sequence[Session]) -> "NDArray[np.float64]":
    """Return the counts of actions, sessions by kinds."""
    import numpy as np

    return np.array([[row.actions[kind] for kind in KINDS] for row in rows], dtype=float)


def _shares_of(sums: "NDArray[np.float64]") -> "NDArray[np.float64]":
    import numpy as np

    return np.asarray(sums / sums.sum(axis=-1, keepdims=True))


def _drawn(rows: Sequence[Session], seed: int = 0) -> "NDArray[np.float64] | None":
    """Return shares (draws, kinds) of as many sessions, drawn with replacement; None for too few."""
    import numpy as np

    if len(rows) < MIN_CLUSTERS:
        return None
    weights = np.random.default_rng(seed).multinomial(len(rows), np.full(len(rows), 1 / len(rows)), DRAWS)
    return _shares_of(weights @ _matrix(rows))


def _intervals(drawn: "NDArray[np.float64] | None") -> list[tuple[float, float]] | None:
    import numpy as np

    if drawn is None:
        return None
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    return [(float(a), float(b)) for a, b in zip(low, high, strict=True)]


def _counts(actions: Mapping[str, int]) -> dict[str, int]:
    return {name: actions.get(name, 0) for name in (*KINDS, EXCLUDED)}


def _range(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f" ({100 * interval[0]:.0f}-{100 * interval[1]:.0f})"


def _points(interval: tuple[float, float] | None) -> str:
    return "-" if interval is None else f"{_signed(interval[0])} to {_signed(interval[1])}"


def _signed(share: float) -> str:
    """Print percentage points with their sign; negative zero becomes positive."""
    return f"{round(100 * share, 1) + 0.0:+.1f}"
