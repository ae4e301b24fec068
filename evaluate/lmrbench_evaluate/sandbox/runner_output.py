"""Collect the output of a runner within its limits, and sum up its run, for all of our sandboxes."""

from collections.abc import Callable, Iterable

from .base import Ended, Limits, Outcome, runner_stream, used_cpu
from .meter import Meter


def collect_output(
    receive: Callable[[float], Iterable[tuple[bool, bytes]] | None],
    meter: Meter,
    limits: Limits,
    watch: Callable[[], Ended | None] = lambda: None,
) -> tuple[bytearray, str, Ended]:
    """Collect stdout and the log until both end or the run reaches a limit.

    Args:
        receive: waits for at most this many seconds; returns (is stdout, data) pairs, none if nothing arrived, and None
            at the end.
        watch: called after each wait; returns how the run must end because of a limit that only the sandbox knows.

    Raises:
        OverloadError: the machine has no time for the run.
        InfraError: the meter failed.
    """
    stdout, log, ended = bytearray(), bytearray(), None
    while ended is None:
        rest = meter.rest()
        if rest <= 0:
            ended = meter.check()
            continue
        pieces = receive(rest)
        if pieces is None:
            ended = Ended.EXITED
            break
        for is_stdout, data in pieces:
            if is_stdout:
                stdout += data
            else:
                log += data[: max(0, limits.log_kb * 1024 - len(log))]
        meter.hear(stdout)
        ended = Ended.OUTPUT_LIMIT if len(stdout) > limits.output_mb * 2**20 else watch()
    return stdout, log.decode("utf-8", "replace"), ended


def make_outcome(stdout: bytearray, log: str, ended: Ended, duration_s: float, meter: Meter, problem: str) -> Outcome:
    """Return the outcome of a run.

    Args:
        problem: the reason if the runner did not start.

    Raises:
        InfraError: the runner did not start.
    """
    cpu = used_cpu(stdout) if ended is Ended.EXITED else None
    sent = runner_stream(stdout, ended, problem)
    return Outcome(sent, log, ended, duration_s, meter.cpu if cpu is None else cpu)
