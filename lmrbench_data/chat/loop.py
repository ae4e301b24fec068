"""Run asynchronous work from synchronous code, such as a cell of a notebook."""

import asyncio
import concurrent.futures
from collections.abc import Coroutine
from typing import Any


def run_to_end(work: Coroutine[Any, Any, None]) -> None:
    """Run to the end, even inside a running event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work)
    else:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, work).result()
