"""Run the checks one after the other, each within its own time, and hide secrets in their findings.

A check runs on a thread that is left behind if it takes too long: a dead network file system or a daemon that does
not answer cannot be interrupted. Only waiting counts, because on a busy machine computing takes a while: libraries are
imported before the clock starts, and a check that is computing when its time is up gets more time.
"""

import contextlib
import importlib
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from lmrbench_data.base.errors import LMRBenchError
from lmrbench_data.base.text import error_line, one_line

from .finding import Finding, Status, problem
from .redact import redact

#: Seconds for one check.
LIMIT_S = 5
#: A check whose thread used this share of a processor was computing; it gets its time again, at most this many times.
_COMPUTING, _TIMES = 0.05, 10


@dataclass(frozen=True)
class Check:
    """One check of the doctor."""

    name: str
    look: Callable[[], Iterable[Finding]]
    libraries: Sequence[str] = ()
    """Imported before the clock starts."""
    limit_s: float = LIMIT_S
    if_late: Status = Status.PROBLEM
    """The status if the check takes too long."""
    fix: str = ""
    """Advice for that case."""


def examine(check: Check) -> list[Finding]:
    """Return the finding of a check; to fail or to take too long is a finding, too."""
    for name in check.libraries:
        importlib.import_module(name)
    findings: list[Finding] = []
    clock = _Clock()

    def run() -> None:
        clock.start()
        findings.extend(_look(check))

    thread = threading.Thread(target=run, name=check.name, daemon=True)
    thread.start()
    for _ in range(_TIMES):
        before = clock.seconds()
        thread.join(check.limit_s)
        if not thread.is_alive() or clock.seconds() - before < _COMPUTING * check.limit_s:
            break
    if thread.is_alive():
        findings = [Finding(check.name, check.if_late, f"no answer within {check.limit_s:g} s", check.fix)]
    return [replace(item, found=redact(one_line(item.found)), fix=redact(item.fix)) for item in findings]


class _Clock:
    """The CPU time of a thread; that of the process where the system does not tell them apart (macOS)."""

    def __init__(self) -> None:
        self._number: int | None = None

    def start(self) -> None:
        """Measure the thread that calls this."""
        if hasattr(time, "pthread_getcpuclockid"):
            self._number = time.pthread_getcpuclockid(threading.get_ident())

    def seconds(self) -> float:
        """Return the CPU seconds so far; 0 once the thread has ended."""
        if not hasattr(time, "pthread_getcpuclockid"):
            return time.process_time()
        with contextlib.suppress(OSError):
            return time.clock_gettime(self._number) if self._number is not None else 0.0
        return 0.0


def _look(check: Check) -> list[Finding]:
    try:
        return list(check.look())
    except (LMRBenchError, OSError) as error:
        found, _, fix = error_line(error).partition("; ")
        return [problem(check.name, found, fix)]
    except Exception as error:
        text = f"a bug in lmrbench, please report it: {type(error).__name__}: {error_line(error)}"
        return [problem(check.name, text)]
