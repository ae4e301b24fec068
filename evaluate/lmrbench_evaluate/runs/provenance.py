"""What a run's numbers may stand for: whose tasks they are, who reached its verdicts, and where."""

import re
from collections.abc import Mapping
from typing import Any

from lmrbench_data.tasks.manifest import LMR_BENCH, LMR_BENCH_TITLE

#: In run.json, of a run whose verdicts somebody else reached: where it is from, and by which rule (`original/`).
IMPORTED = "imported"
#: In run.json: the name of the benchmark whose tasks these are; empty if they do not tell.
BENCHMARK = "benchmark"
_CANARY = re.compile(r"([a-z0-9][a-z0-9._-]*) canary GUID ")


def benchmark_of(canary: str) -> str:
    """The name of a benchmark, with which the canary begins that `dataset init` makes; empty if it has another form."""
    found = _CANARY.match(canary)
    return found[1] if found else ""


def shown_name(canary: str) -> str:
    """What readers are told a benchmark is called: LMR-Bench, or the name of somebody's own."""
    name = benchmark_of(canary) or LMR_BENCH
    return LMR_BENCH_TITLE if name == LMR_BENCH else name


def foreign_benchmark(facts: Mapping[str, Any]) -> str:
    """The name of the benchmark that a run is on if it is somebody's own; empty for LMR-Bench, and if nobody knows.

    Args:
        facts: run.json.
    """
    name = str(facts.get(BENCHMARK) or LMR_BENCH)
    return "" if name == LMR_BENCH else name


def is_imported(facts: Mapping[str, Any]) -> bool:
    """Whether somebody else reached the verdicts of a run.

    Args:
        facts: run.json.
    """
    return IMPORTED in facts


def why_unofficial(facts: Mapping[str, Any]) -> str:
    """Why a run may not stand on a leaderboard, as a clause; empty if it may, as far as its sandbox goes."""
    if is_imported(facts):
        return "it is imported: its verdicts were reached elsewhere"
    if not facts["official_sandbox"]:
        return f"it ran in the {facts['sandbox']} sandbox, which does not isolate; evaluate in docker"
    return ""
