"""Work through jobs that ask a model: several workers, one rule for giving up, one cost limit."""

import asyncio
import concurrent.futures
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..base.jobs import Failures, Progress
from .budget import Budget, CostLimitError
from .client import ChatClient, RequestError
from .refusals import Cause

Job = Callable[[], Awaitable[str]]
"""Does a job, records its result, returns a label. A RequestError counts; others end the pass."""


@dataclass
class JobSummary:
    """The outcome of one pass over the missing jobs."""

    kept: int = 0
    """Jobs that earlier passes did."""
    errors: int = 0
    first_error: str = ""
    stopped: str = ""
    """The reason why the pass ended early."""
    out_of_budget: bool = False
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


def do_jobs(
    jobs: Sequence[Job],
    client: ChatClient,
    summary: JobSummary,
    workers: int,
    progress: Progress | None,
) -> None:
    """Do the missing jobs, several at a time; no request is in flight afterwards."""
    progress = progress or Progress()
    failures = Failures()
    # Refused by a content filter before the server was known to answer others.
    filtered: list[Job] = []
    client.answers_others = summary.kept > 0

    async def take(queue: Iterator[Job]) -> None:
        for job in queue:
            if summary.stopped or summary.out_of_budget:
                return
            try:
                label = await job()
                failures.note(failed=False)
            except CostLimitError:
                summary.out_of_budget = True
                return
            except RequestError as error:
                if failures.note(failed=not error.reached) and not summary.stopped:
                    summary.stopped = f"the server {client.server} keeps failing ({error})"
                if error.cause is Cause.FILTER and job not in filtered:
                    filtered.append(job)
                    continue
                summary.fail(str(error))
                label = "error"
            progress.step(label)

    async def take_all() -> None:
        queue = iter(jobs)
        async with client:
            tasks = [asyncio.create_task(take(queue)) for _ in range(min(workers, len(jobs)))]
            try:
                await asyncio.gather(*tasks)
                await take(iter(filtered))
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    progress.start(len(jobs))
    run_to_end(take_all())
    summary.close(client.budget)


def run_to_end(work: Coroutine[Any, Any, None]) -> None:
    """Run asynchronous work to its end, even inside the running event loop of a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, work).result()
