"""Run jobs on threads, and decide when to give up: the rule holds for all work that a server or an engine can fail."""

import concurrent.futures
from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

#: Stop after this many consecutive failures of a server or an engine: it will not recover by itself.
GIVE_UP_AFTER = 5
_Job = TypeVar("_Job")
_Result = TypeVar("_Result")


class Failures:
    """Counts consecutive failures."""

    def __init__(self) -> None:
        self._count = 0

    def note(self, failed: bool) -> bool:
        """Note the end of a job; return whether to give up."""
        self._count = self._count + 1 if failed else 0
        return self._count >= GIVE_UP_AFTER


def run_jobs(
    jobs: Iterable[_Job],
    work: Callable[[_Job], _Result],
    workers: int,
    *,
    stop: Callable[[], None],
    go_on: Callable[[], bool] = lambda: True,
    ahead: int = 0,
) -> Generator[tuple[_Job, concurrent.futures.Future[_Result]]]:
    """Work on several jobs at a time and yield each with its result when it is done.

    Close the generator (`contextlib.closing`) to end early: no job is under way when that returns.

    Args:
        work: runs on the threads of the workers.
        stop: makes the calls of `work` that are under way return soon; called if the generator is closed early.
        go_on: asked before each job; no more jobs begin once it is false.
        ahead: jobs to queue beyond those under way, so that workers need not wait while the caller uses a result.
    """
    rest = iter(jobs)
    running: dict[concurrent.futures.Future[_Result], _Job] = {}
    pool = concurrent.futures.ThreadPoolExecutor(workers)

    def fill() -> None:
        while len(running) < workers + ahead and go_on():
            try:
                job = next(rest)
            except StopIteration:
                return
            running[pool.submit(work, job)] = job

    try:
        fill()
        while running:
            for future in concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED).done:
                yield running.pop(future), future
            fill()
    finally:
        if running:
            stop()
        pool.shutdown(wait=True, cancel_futures=True)
