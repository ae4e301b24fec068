"""Load of the machine during a run: the facts for run.json, and the sentence for reports."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..verdict.verdict import Cause, Verdict
from .engine import Load

#: Its key in run.json.
_KEY = "machine"


class MachineLoad:
    """Measures the load during a run."""

    def __init__(self, facts: Mapping[str, Any], measure: Callable[[], Load]) -> None:
        """Measure for the first time.

        Args:
            facts: run.json, which may hold the measurements of an earlier part of the run.
            measure: returns the load of the busiest machine.
        """
        known = facts.get(_KEY) or {}
        self._load = measure
        self._highest = float(known.get("load_average") or 0.0)
        self._slowed = int(known.get("slowed_answers") or 0)
        self._overloaded = bool(known.get("overloaded"))
        self._measure()

    def note(self, verdict: Verdict) -> None:
        """Measure after a verdict, and count it if the machine slowed it down."""
        self._slowed += verdict.slowed or verdict.cause is Cause.OVERLOAD
        self._measure()

    def facts(self) -> dict[str, Any]:
        """Return the measurements, for run.json."""
        machine = {
            "cores": self._load().cores,
            "load_average": round(self._highest, 1),
            "slowed_answers": self._slowed,
            "overloaded": bool(self._overloaded or self._slowed),
        }
        return {_KEY: machine}

    def _measure(self) -> None:
        average, cores, workers = self._load()
        self._highest = max(self._highest, average)
        self._overloaded = self._overloaded or average > cores + workers


def merged_load(facts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the measurements of several runs as those of one, for run.json: the highest load, all slowed answers.

    Args:
        facts: run.json of each.
    """
    known = [part[_KEY] for part in facts if part.get(_KEY)]
    if not known:
        return {}
    machine = {name: max(item[name] for item in known) for name in ("cores", "load_average", "overloaded")}
    return {_KEY: {**machine, "slowed_answers": sum(item["slowed_answers"] for item in known)}}
