"""Run the checks one after the other, each within its own time, and hide secrets in what they say.

A check runs on a thread that is left behind if it takes too long: a dead network file system or a daemon that does
not answer cannot be interrupted. Libraries are imported before the clock starts, because a busy machine takes its time.
"""

import importlib
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from lmrbench_data.base.errors import LMRBenchError
from lmrbench_data.base.text import error_line, one_line

from .finding import Finding, Status, problem
from .redact import redact

#: Seconds for one check.
LIMIT_S = 5


@dataclass(frozen=True)
class Check:
    """Something to look at."""

    name: str
    look: Callable[[], Iterable[Finding]]
    libraries: Sequence[str] = ()
    """Imported before the clock starts."""
    limit_s: float = LIMIT_S
    if_late: Status = Status.PROBLEM
    """The status if the check takes too long."""
    fix: str = ""
    """What to do then."""


def examine(check: Check) -> list[Finding]:
    """Return what a check found; a check that fails or takes too long is a finding, too."""
    for name in check.libraries:
        importlib.import_module(name)
    findings: list[Finding] = []
    thread = threading.Thread(target=lambda: findings.extend(_look(check)), name=check.name, daemon=True)
    thread.start()
    thread.join(check.limit_s)
    if thread.is_alive():
        findings = [Finding(check.name, check.if_late, f"no answer within {check.limit_s:g} s", check.fix)]
    return [replace(item, found=redact(one_line(item.found)), fix=redact(item.fix)) for item in findings]


def _look(check: Check) -> list[Finding]:
    try:
        return list(check.look())
    except (LMRBenchError, OSError) as error:
        found, _, fix = error_line(error).partition("; ")
        return [problem(check.name, found, fix)]
    except Exception as error:
        text = f"a bug in lmrbench, please report it: {type(error).__name__}: {error_line(error)}"
        return [problem(check.name, text)]
