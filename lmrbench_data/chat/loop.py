"""Run asynchronous work from code that is not: a script has no event loop, a notebook has one."""

import asyncio
import concurrent.futures
from collections.abc import Coroutine
from typing import Any


def run_to_end(work: Coroutine[Any, Any, None]) -> None:
    """Run to the end, also from inside an event loop: a notebook has one."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work)
    else:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, work).result()
