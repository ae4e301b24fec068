"""Run asynchronous work from code that is not, a notebook's among it; share jobs out among workers."""

import asyncio
import concurrent.futures
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any, TypeVar

_Job = TypeVar("_Job")


def run_to_end(work: Coroutine[Any, Any, None]) -> None:
    """Run to the end, also from inside an event loop: a notebook has one."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work)
    else:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, work).result()


async def share_out(
    jobs: Sequence[_Job], workers: int, work: Callable[[Iterator[_Job]], Coroutine[Any, Any, None]]
) -> None:
    """Have workers take jobs from one queue until it is empty; whatever ends this early, nothing is left under way.

    Args:
        work: what each worker does with the queue.
    """
    queue = iter(jobs)
    tasks = [asyncio.create_task(work(queue)) for _ in range(min(workers, len(jobs)))]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
