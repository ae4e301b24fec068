"""Run jobs in parallel, report progress, and give up by one rule for all servers and engines."""

import concurrent.futures
from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

#: Consecutive failures after which a server or an engine will not recover by itself.
GIVE_UP_AFTER = 5
_Job = TypeVar("_Job")
_Result = TypeVar("_Result")


class Progress:
    """Receives progress steps and shows nothing; subclasses display them."""

    def start(self, total: int) -> None:
        """Begin work of `total` steps."""

    def step(self, label: str = "") -> None:
        """Finish a step with the result `label`: a status, a category, a name."""


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
    stop: Callable[[], None] | None = None,
    may_start: Callable[[], bool] = lambda: True,
) -> Generator[tuple[_Job, concurrent.futures.Future[_Result]]]:
    """Work on several jobs at a time, on threads of this process, as `follow_jobs` does.

    Args:
        stop: makes the calls of `work` that are under way return soon. Without it they go on after
            an early end, until the caller closes what they run in.
    """
    pool = concurrent.futures.ThreadPoolExecutor(workers)
    try:
        end = stop or (lambda: None)
        yield from follow_jobs(
            jobs, lambda job: pool.submit(work, job), slots=workers, stop=end, may_start=may_start
        )
    finally:
        pool.shutdown(wait=stop is not None, cancel_futures=True)


def follow_jobs(
    jobs: Iterable[_Job],
    submit: Callable[[_Job], concurrent.futures.Future[_Result]],
    *,
    slots: int,
    stop: Callable[[], None],
    may_start: Callable[[], bool] = lambda: True,
) -> Generator[tuple[_Job, concurrent.futures.Future[_Result]]]:
    """Submit jobs, wherever they run, and yield each with its result when it is done.

    Close the generator (`contextlib.closing`) to end early.

    Args:
        submit: starts or queues a job.
        slots: number of jobs to have submitted at a time.
        stop: ends the jobs that are under way; called if the generator is closed early.
        may_start: asked before each job; no more jobs begin once it is false.
    """
    rest = iter(jobs)
    running: dict[concurrent.futures.Future[_Result], _Job] = {}

    def fill() -> None:
        while len(running) < slots and may_start():
            try:
                job = next(rest)
            except StopIteration:
                return
            running[submit(job)] = job

    try:
        fill()
        while running:
            for future in concurrent.futures.wait(
                running, return_when=concurrent.futures.FIRST_COMPLETED
            ).done:
                yield running.pop(future), future
            fill()
    finally:
        if running:
            stop()
