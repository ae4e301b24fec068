"""Measure the cost of an answer in a warm container beside one of its own: the scorer part of `make bench`.

Both sides score distinct answers to one cheap instance with two workers. They alternate, so that a busy machine slows
both, and the first round warms up and does not count.
"""

import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import lmrbench_data as lmr
from lmrbench_data.dataset.load import load_rows
from lmrbench_evaluate.sandbox.docker import RUN_LABEL
from lmrbench_evaluate.sandbox.docker_client import connect

INSTANCE, WORKERS = "dpo-preference-loss", 2
MANY = 10_000


def scorer_ratio(folder: Path, rounds: int = 3, own: int = 8, shared: int = 80) -> Iterator[tuple[str, float, float]]:
    """Wall time of an answer, shared against a container of its own; seconds from nothing to the first score."""
    golden = _golden()
    spent = {"container": 0.0, "shared": 0.0}
    counts = {"container": own, "shared": shared}
    with (
        lmr.Scorer(instances=[INSTANCE], isolation="container", workers=WORKERS) as slow,
        lmr.Scorer(instances=[INSTANCE], workers=WORKERS) as fast,
    ):
        for number in range(rounds + 1):
            for name, scorer in (("container", slow), ("shared", fast)):
                seconds = _time(scorer, golden, counts[name], f"round {number}")
                print(f"    round {number}: {name} {counts[name] / seconds:.2f} answers a second", flush=True)
                spent[name] += seconds if number else 0.0
    ratio = spent["shared"] / shared / (spent["container"] / own)
    print(f"    {1 / ratio:.1f} times the answers a second")
    yield "time of an answer, shared / container", ratio, 1 / 20
    firsts = []
    for number in range(3):
        started = time.perf_counter()
        with lmr.Scorer(instances=[INSTANCE], workers=1) as scorer:
            _score(scorer, golden, [f"first {number}"])
            firsts.append(time.perf_counter() - started)
    yield "seconds from nothing to the first score", min(firsts), 3.0


def scorer_memory(folder: Path, many: int = MANY) -> Iterator[tuple[str, float, float]]:
    """Memory of harness, containers and daemon after many answers, against that after a tenth of them."""
    golden = _golden()
    found: list[tuple[float, float, float]] = []
    with lmr.Scorer(instances=[INSTANCE], workers=WORKERS) as scorer:
        label = f"{RUN_LABEL}={scorer._sandbox._docker.run_id}"  # type: ignore[attr-defined]
        for part in range(10):
            _time(scorer, golden, many // 10, f"part {part}")
            containers = {item["Id"] for item in connect().containers(filters={"label": label})}
            found.append((_resident_mb("self"), sum(map(_container_mb, containers)), _daemon_mb()))
            told = "harness {:.0f} MB, containers {:.0f} MB, daemon {:.0f} MB".format(*found[-1])
            print(f"    {(part + 1) * many // 10} answers: {told}", flush=True)
    for name, first, last in zip(("harness", "containers", "daemon"), found[0], found[-1], strict=True):
        yield f"memory of the {name}, after {many} answers / a tenth of them", last / first, 1.2


def _golden() -> str:
    return next(row["golden_file"] for row in load_rows("embedded") if row["instance_id"] == INSTANCE)


def _time(scorer: lmr.Scorer, golden: str, count: int, mark: str) -> float:
    started = time.perf_counter()
    _score(scorer, golden, [f"{mark}, answer {number}" for number in range(count)])
    return time.perf_counter() - started


def _score(scorer: lmr.Scorer, golden: str, marks: Sequence[str]) -> None:
    scores = scorer.score([{"instance_id": INSTANCE, "goal_file": f"{golden}\n# {mark}\n"} for mark in marks])
    assert all(score.reproduced for score in scores), next(score for score in scores if not score.reproduced)


def _resident_mb(process: str) -> float:
    text = Path(f"/proc/{process}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", text)
    assert found
    return int(found[1]) / 1024


def _container_mb(container: str) -> float:
    stats = connect().stats(container, stream=False, one_shot=True)["memory_stats"]
    return float(stats["usage"] - stats["stats"].get("total_inactive_file", 0)) / 2**20


def _daemon_mb() -> float:
    """The engine and its helpers, if they run on this machine."""
    names = {path.parent.name: path.read_text().strip() for path in Path("/proc").glob("[0-9]*/comm") if path.exists()}
    return sum(_resident_mb(process) for process, name in names.items() if name in ("dockerd", "containerd"))
