"""Work through jobs that ask a model: one queue, several workers, one rule for giving up, one cost limit.

Results are written one by one, so a stopped pass loses nothing: the next one does only the jobs that are missing.
"""

import asyncio
import concurrent.futures
from collections.abc import Coroutine, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ..base.jobs import Failures, Progress
from .budget import Budget, CostLimit
from .client import ChatClient, RequestFailed
from .refusals import Cause

_Job = TypeVar("_Job")


@dataclass
class JobSummary:
    """The outcome of one pass over the missing jobs."""

    kept: int = 0
    """Jobs that were done before."""
    errors: int = 0
    """Jobs that failed and are still missing."""
    first_error: str = ""
    stopped: str = ""
    """The reason why the pass ended early; empty if it did not."""
    out_of_budget: bool = False
    """True if the cost limit ended it."""
    cost_usd: float | None = None
    """US dollars, earlier passes included; None if a price or a count is missing."""

    @property
    def complete(self) -> bool:
        """True if all jobs are done."""
        return not (self.stopped or self.errors or self.out_of_budget)

    def fail(self, reason: str) -> None:
        """Count a job that failed."""
        self.errors += 1
        self.first_error = self.first_error or reason

    def close(self, budget: Budget) -> None:
        """Note a reached cost limit once no request is in flight."""
        if self.out_of_budget:
            self.stopped = budget.why


class JobPass(Generic[_Job]):
    """One pass over the missing jobs; a subclass lists them and does one.

    Args:
        client: the connection to the model, with its budget.
        workers: jobs under way at a time.
        progress: receives the label of each job.
    """

    def __init__(self, client: ChatClient, summary: JobSummary, workers: int, progress: Progress | None) -> None:
        self.client, self.summary = client, summary
        self.workers, self.progress = workers, progress or Progress()
        self._failures = Failures()
        self._filtered: list[tuple[_Job, RequestFailed]] = []
        """Jobs that a content filter refused before the server was known to answer others."""

    def plan(self) -> Sequence[_Job]:
        """Return the missing jobs."""
        raise NotImplementedError

    async def work(self, job: _Job) -> str:
        """Do one job and record its result; return the label for the progress.

        Raises:
            CostLimit: the budget allows no more requests.
            RequestFailed: the job failed.
            LMRBenchError: no further job makes sense.
        """
        raise NotImplementedError

    def run(self) -> None:
        """Do the missing jobs; no request is in flight afterwards."""
        jobs = self.plan()
        self.client.answers_others = self.summary.kept > 0
        run_to_end(self._run(jobs))
        self.summary.close(self.client.budget)

    async def _run(self, jobs: Sequence[_Job]) -> None:
        self.progress.start(len(jobs))
        queue = iter(jobs)
        async with self.client:
            tasks = [asyncio.create_task(self._take(queue)) for _ in range(min(self.workers, len(jobs)))]
            try:
                await asyncio.gather(*tasks)
                if self.client.answers_others:  # so a filter's refusals are answers
                    await self._take(iter([job for job, _ in self._filtered]))
                else:
                    for _, error in self._filtered:
                        self.summary.fail(str(error))
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _take(self, queue: Iterator[_Job]) -> None:
        """Take jobs from the queue until it is empty or the pass is over."""
        summary = self.summary
        while not (summary.stopped or summary.out_of_budget) and (job := next(queue, None)) is not None:
            try:
                label = await self.work(job)
                self._failures.note(failed=False)
            except CostLimit:
                summary.out_of_budget = True
                return
            except RequestFailed as error:
                if error.cause is Cause.FILTER:
                    self._filtered.append((job, error))
                else:
                    summary.fail(str(error))
                label = "error"
                if self._failures.note(failed=not error.reached) and not summary.stopped:
                    summary.stopped = f"the server {self.client.server} keeps failing ({error})"
            self.progress.step(label)


def run_to_end(work: Coroutine[Any, Any, None]) -> None:
    """Run asynchronous work to its end, even inside the running event loop of a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work)
    else:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, work).result()
