"""Provenance of a run: its benchmark, and whether it may be on a leaderboard."""

import re
from collections.abc import Mapping
from typing import Any

from lmrbench_data.tasks.manifest import LMR_BENCH, LMR_BENCH_TITLE

#: Key of run.json: the name of the benchmark; empty if unknown.
BENCHMARK = "benchmark"
_CANARY = re.compile(r"([a-z0-9][a-z0-9._-]*) canary GUID ")


def benchmark_of(canary: str) -> str:
    """Read the name of a benchmark from a canary that `dataset init` made; empty for any other."""
    found = _CANARY.match(canary)
    return found[1] if found else ""


def benchmark_title(canary: str) -> str:
    """Return the name of a benchmark for readers: LMR-Bench, or that of a private one."""
    name = benchmark_of(canary) or LMR_BENCH
    return LMR_BENCH_TITLE if name == LMR_BENCH else name


def foreign_benchmark(facts: Mapping[str, Any]) -> str:
    """Return the name of the private benchmark that a run is on; empty for LMR-Bench, and if unknown.

    Args:
        facts: run.json.
    """
    name = str(facts.get(BENCHMARK) or LMR_BENCH)
    return "" if name == LMR_BENCH else name


def unofficial_reason(facts: Mapping[str, Any]) -> str:
    """Return why a run may not be on a leaderboard, as a clause; empty if its sandbox does not prevent it."""
    if not facts["official_sandbox"]:
        return f"it ran in the {facts['sandbox']} sandbox, which does not isolate; evaluate in docker"
    return ""
