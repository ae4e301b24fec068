"""Measure what a second node of a Ray cluster adds: the ray part of `make bench`.

Both nodes are on this machine, so the answers wait and compute nothing; what they lose is Ray's own time.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from lmrbench_data.base.errors import InfraError
from lmrbench_evaluate.runs.engine import Engine, Threads
from lmrbench_evaluate.runs.evaluation import evaluate
from lmrbench_evaluate.runs.ray_engine import RayEngine
from lmrbench_evaluate.runs.settings import RunSettings
from lmrbench_evaluate.sandbox.local import LocalSandbox
from support.toy import recorded_rows, write_toy_benchmark

ANSWERS, WAIT_S = 16, 1
ROOT = Path(__file__).resolve().parents[1]
FUNCTION = (
    f"import time\n\ndef scale(values, factor):\n    time.sleep({WAIT_S})\n    return [x * factor for x in values]\n"
)


def ray_ratio(folder: Path) -> Iterator[tuple[str, float, float]]:
    """Twice the rate of one thread, against the rate of two nodes of one CPU each."""
    from ray.cluster_utils import Cluster

    os.environ |= {"PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "evaluate", ROOT / "tests")))}
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0"}
    with LocalSandbox() as sandbox:
        [row] = recorded_rows(write_toy_benchmark(folder / "benchmark"), sandbox)[:1]

        def rate(name: str, engine: Callable[[], Engine], count: int) -> float:
            """Return answers a second; the engine starts outside the measured time."""
            answers = [
                {
                    "instance_id": row["instance_id"],
                    "model_name_or_path": "m",
                    "sample": number,
                    "function": f"{FUNCTION}# {number}\n",
                }
                for number in range(count)
            ]
            with engine() as used:
                started = time.perf_counter()
                summary = evaluate(answers, RunSettings(out=folder / name), [row], used)
                seconds = time.perf_counter() - started
            if summary.infra_errors:
                raise InfraError(f"{name}: {summary.infra_errors} answers were not evaluated")
            print(f"    {name}: {count / seconds:.3f} answers a second", flush=True)
            return count / seconds

        one = rate("one thread", lambda: Threads(sandbox, 1), ANSWERS // 4)
        Path(tempfile.gettempdir(), "ray").mkdir(exist_ok=True)
        cluster = Cluster()
        try:
            for _ in range(2):
                cluster.add_node(num_cpus=1, include_dashboard=False, object_store_memory=80_000_000)
            address = cluster.address
            two = rate("two nodes", lambda: RayEngine(address, "local", None), ANSWERS)
        finally:
            cluster.shutdown()
    yield "twice the rate of one thread / rate of two nodes", 2 * one / two, 1 / 0.9
