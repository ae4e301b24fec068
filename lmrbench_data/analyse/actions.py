"""Count agents' actions by model and by outcome, as in the LMR-BENCH paper's Section 5.1 and Figures 5 and 6.

A share is of all actions of a group's sessions together. Its interval is the percentile bootstrap over sessions:
actions of one session are not independent.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.shares import Interval, percent
from ..base.text import counted
from ..base.text_table import Table
from .bootstrap import MIN_CLUSTERS, draw, interval
from .result import COLOURS, Analysis, figure_file, label_text
from .sessions import Sessions
from .trajectories import EXCLUDED, KINDS

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

ALL = "all"
PASSED, NOT_PASSED = "passed", "not passed"
OUTCOMES = {PASSED: True, NOT_PASSED: False}


@dataclass(frozen=True)
class Actions(Analysis):
    """Shares of the kinds of actions, by model and outcome."""

    sessions: Sessions
    shares: Sequence[dict[str, Any]]
    """One row for each model, outcome and kind: sessions, actions, total, share, low, high."""
    differences: Sequence[dict[str, Any]]
    """Kind, share in passed sessions minus share in the others, interval; empty without outcomes."""
    title: str = "What agents do"

    def of(self, model: str, outcome: str) -> dict[str, dict[str, Any]]:
        """The rows of a group by kind; empty if it has no sessions."""
        return {row["kind"]: row for row in self.shares if (row["model"], row["outcome"]) == (model, outcome)}

    @property
    def models(self) -> list[str]:
        """All models, without `all`."""
        return list(dict.fromkeys(row["model"] for row in self.shares if row["model"] != ALL))

    def tables(self) -> list[tuple[str, Table]]:
        """Shares by model and by outcome, and the difference between outcomes."""
        everybody = [ALL] if len(self.models) > 1 else []
        by_model = [(name, ALL) for name in [*self.models, *everybody]]
        by_outcome = [(name, outcome) for name in [*everybody, *self.models] for outcome in OUTCOMES]
        rows = [[row["kind"], _signed(row["value"]), _points(row["interval"])] for row in self.differences]
        tables = [
            ("By model", self._table(by_model, with_outcome=False)),
            ("By outcome", self._table(by_outcome, with_outcome=True)),
            ("Share of actions: sessions that passed minus the others", (["kind", "points", "95 %"], rows)),
        ]
        return [(title, table) for title, table in tables if table[1]]

    def notes(self) -> list[str]:
        """The method of counting."""
        frame = self.sessions.frame
        lines = [
            f"Counted from {self.sessions.source}. Shares are of all actions of a group; intervals are the 95 % "
            f"bootstrap over sessions, and there is none for fewer than {MIN_CLUSTERS}.",
            "message: messages and thoughts; run: shell and IPython. Excluded, as in the paper's Figure 5: "
            f"{counted(int(frame[EXCLUDED].sum()), 'other action')} (browsing and the like).",
        ]
        if self.differences:
            lines.append(
                f"Passed is by {self.sessions.outcome}. Models differ in what they do and in how often they pass: read "
                "the difference beside the shares of each model."
            )
        if unknown := int(frame["passed"].isna().sum()):
            lines.append(f"{counted(unknown, 'session has', 'sessions have')} no result: counted by model only.")
        return [*lines, *self.sessions.notes]

    def records(self) -> list[dict[str, Any]]:
        """One row for each model, outcome and kind."""
        return list(self.shares)

    def to_dict(self) -> dict[str, Any]:
        """All numbers, session by session too."""
        sessions = [
            {
                **{name: row[name] for name in ("model", "session", "passed")},
                "actions": {kind: row[kind] for kind in (*KINDS, EXCLUDED)},
            }
            for row in self.sessions.frame.to_dict("records")
        ]
        return {
            "source": self.sessions.source,
            "passed_means": self.sessions.outcome,
            "shares": self.records(),
            "differences": list(self.differences),
            "sessions": sessions,
            "notes": self.notes(),
        }

    def draw(self, path: Path) -> None:
        """Draw the shares by model and by outcome, with whiskers for intervals."""
        everybody = ALL if len(self.models) > 1 else self.models[0]
        panels = {"By model": {name: self.of(name, ALL) for name in self.models}}
        if self.differences:
            panels["By outcome, all models"] = {outcome: self.of(everybody, outcome) for outcome in OUTCOMES}
        with figure_file(path, 3.3 * len(panels)) as figure:
            colours = itertools.cycle(COLOURS)  # each panel has colours of its own: they mean something else
            plots = figure.subplots(len(panels), squeeze=False)[:, 0]
            for axes, (title, groups) in zip(plots, panels.items(), strict=True):
                width = 0.8 / len(groups)
                for number, (name, rows) in enumerate(groups.items()):
                    places = [place + (number - (len(groups) - 1) / 2) * width for place in range(len(KINDS))]
                    label = f"{label_text(name)} ({counted(rows[KINDS[0]]['sessions'], 'session')})"
                    heights = [100 * row["share"] for row in rows.values()]
                    axes.bar(places, heights, 0.92 * width, color=next(colours), label=label)
                    for place, row in zip(places, rows.values(), strict=True):
                        if row["low"] is not None:
                            axes.plot([place] * 2, [100 * row["low"], 100 * row["high"]], color="black", linewidth=1.2)
                axes.set_xticks(range(len(KINDS)), KINDS)
                axes.set(ylabel="% of actions", ylim=(0, None))
                axes.set_title(title, loc="left")
                axes.yaxis.grid(color="#d0d7de")
                axes.legend(fontsize=9)

    def _table(self, groups: Sequence[tuple[str, str]], *, with_outcome: bool) -> Table:
        header = ["model", *(["outcome"] if with_outcome else []), "sessions", "actions each", *KINDS]
        rows = []
        for model, outcome in groups:
            if group := self.of(model, outcome):
                first = group[KINDS[0]]
                cells = [str(first["sessions"]), f"{first['total'] / first['sessions']:.1f}"]
                rows.append([model, *([outcome] if with_outcome else []), *cells, *map(_cell, group.values())])
        return header, rows


def analyse_actions(sessions: Sessions) -> Actions:
    """Count the shares of the kinds of actions, with their intervals; equal sessions give equal numbers."""
    frame, shares = sessions.frame, list[dict[str, Any]]()
    models = dict(iter(frame.groupby("model", sort=False)))
    for model, own in {**models, **({ALL: frame} if len(models) > 1 else {})}.items():
        shares += _shares(str(model), ALL, own)
        for outcome, passed in OUTCOMES.items():
            shares += _shares(str(model), outcome, own[own["passed"] == passed])
    return Actions(sessions, shares, _differences(*(frame[frame["passed"] == passed] for passed in OUTCOMES.values())))


def _shares(model: str, outcome: str, frame: "pd.DataFrame") -> Iterator[dict[str, Any]]:
    """Yield the rows of a group; none if it is empty."""
    sums, drawn = frame[list(KINDS)].sum(), _drawn(frame)
    for place, kind in enumerate(KINDS) if len(frame) else ():
        low, high = (None, None) if drawn is None else interval(drawn[:, place])
        actions, total = int(sums[kind]), int(sums.sum())
        names = {"model": model, "outcome": outcome, "kind": kind}
        numbers = {"sessions": len(frame), "actions": actions, "total": total, "share": actions / total}
        yield {**names, **numbers, "low": low, "high": high}


def _differences(passed: "pd.DataFrame", others: "pd.DataFrame") -> list[dict[str, Any]]:
    if not (len(passed) and len(others)):
        return []
    sums = [frame[list(KINDS)].sum() for frame in (passed, others)]
    values = sums[0] / sums[0].sum() - sums[1] / sums[1].sum()
    one, other = _drawn(passed, seed=1), _drawn(others, seed=2)
    drawn = one - other if one is not None and other is not None else None
    return [
        {"kind": kind, "value": float(values[kind]), "interval": None if drawn is None else interval(drawn[:, place])}
        for place, kind in enumerate(KINDS)
    ]


def _drawn(frame: "pd.DataFrame", seed: int = 0) -> "NDArray[np.float64] | None":
    """Return shares (draws, kinds) of as many sessions, drawn with replacement; None for too few."""
    weights = draw(len(frame), seed)
    if weights is None:
        return None
    sums = weights @ frame[list(KINDS)].to_numpy(float)
    shares: NDArray[np.float64] = sums / sums.sum(axis=1, keepdims=True)
    return shares


def _cell(row: Mapping[str, Any]) -> str:
    bounds = "" if row["low"] is None else f" ({100 * row['low']:.0f}-{100 * row['high']:.0f})"
    return percent(row["share"]) + bounds


def _points(bounds: Interval | None) -> str:
    return "-" if bounds is None else f"{_signed(bounds[0])} to {_signed(bounds[1])}"


def _signed(share: float) -> str:
    """Print percentage points with their sign; negative zero becomes positive."""
    return f"{round(100 * share, 1) + 0.0:+.1f}"
