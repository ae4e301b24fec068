"""Measure the performance that the project promises: `make bench`.

Parts, each of which can be named as an argument: start (--help, loading), memory (100 against 10,000 predictions), and,
in Docker and bubblewrap, gold (a run of all golden files against as many bare containers that import PyTorch) and
scorer (a scorer against a sandbox for each answer). Exit status 1 if a promise is not kept.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lmrbench as lmr
from lmrbench_data.dataset.load import load_rows
from lmrbench_evaluate.sandbox.docker import DockerSandbox
from lmrbench_evaluate.sandbox.docker_client import connect
from lmrbench_evaluate.sandbox.images import ensure_image

INSTANCE, WORKERS = "dpo-preference-loss", 2
LMRBENCH = str(Path(sys.executable).with_name("lmrbench"))
#: What was measured, its value, and the most that was promised.
Measured = Iterator[tuple[str, float, float]]


def start_times(folder: Path, rounds: int = 7) -> Measured:
    """Medians of `lmrbench --help` and of loading the embedded dataset, each in a new process."""
    yield "seconds of lmrbench --help", statistics.median(_seconds([LMRBENCH, "--help"]) for _ in range(rounds)), 0.3
    code = (
        "import time; start = time.perf_counter(); import lmrbench as lmr; rows = lmr.load();"
        "print(time.perf_counter() - start); assert len(rows)"
    )
    seconds = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(rounds)]
    yield "seconds of a load of the embedded dataset", statistics.median(seconds), 2.0


def memory_ratio(folder: Path) -> Measured:
    """Peak memory of the harness process with 10,000 predictions (samples over few distinct ones) against 100."""
    peaks = {}
    for count in (100, 10_000):
        answers = _answers([str(number % 4) for number in range(count)])
        predictions = folder / f"predictions-{count}.jsonl"
        predictions.write_text("".join(f"{json.dumps(answer)}\n" for answer in answers))
        out = str(folder / f"run-{count}")
        peaks[count] = _peak_mb([LMRBENCH, "evaluate", str(predictions), "--workers", str(WORKERS), "--out", out])
    yield "peak memory, 10,000 / 100 predictions", peaks[10_000] / peaks[100], 1.3


def gold_ratio(folder: Path) -> Measured:
    """Wall time of a run of the golden files against as many bare containers, with as many at a time."""
    rows = load_rows()
    with DockerSandbox() as sandbox:
        image = ensure_image(connect(), rows[0]["docker_image"])
        sandbox.prepare(rows[0]["docker_image"])
    bare = ["docker", "run", "--rm", "--network", "none", image, "python", "-c", "import torch"]
    started = time.perf_counter()
    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(lambda _: _seconds(bare), rows))
    containers = time.perf_counter() - started
    for kind in ("docker", "bwrap"):
        out = str(folder / f"gold-{kind}")
        taken = _seconds([LMRBENCH, "evaluate", "gold", "--sandbox", kind, "--workers", str(WORKERS), "--out", out])
        yield f"a run of the golden files in {kind} / {len(rows)} bare containers", taken / containers, 0.7


def scorer_ratio(folder: Path, rounds: int = 3) -> Measured:
    """Wall time of an answer, shared against a sandbox each; the first round warms up and does not count."""
    import_s = _seconds([sys.executable, "-c", "import torch"])
    for sandbox in ("docker", "bwrap"):
        counts, spent = {"container": 8, "shared": 80}, {"container": 0.0, "shared": 0.0}
        with (
            lmr.Scorer(instances=[INSTANCE], sandbox=sandbox, isolation="container", workers=WORKERS) as slow,
            lmr.Scorer(instances=[INSTANCE], sandbox=sandbox, workers=WORKERS) as fast,
        ):
            answers, started = _answers([f"first in {sandbox}"]), time.perf_counter()
            fast.score(answers)
            yield f"first score in {sandbox} / import torch", (time.perf_counter() - started) / import_s, 1.3
            for number in range(rounds + 1):
                for name, scorer in (("container", slow), ("shared", fast)):
                    started = time.perf_counter()
                    scores = scorer.score(_answers([f"{number} {answer}" for answer in range(counts[name])]))
                    assert all(score.reproduced for score in scores)
                    spent[name] += time.perf_counter() - started if number else 0.0
        ratio = spent["shared"] / counts["shared"] / (spent["container"] / counts["container"])
        yield f"time of an answer in {sandbox}, scorer / a sandbox each", ratio, 1 / 20


def _answers(marks: list[str]) -> list[dict[str, object]]:
    """Return golden answers made distinct by their marks: equal ones run once."""
    golden = next(row["golden_file"] for row in load_rows() if row["instance_id"] == INSTANCE)
    same = {"instance_id": INSTANCE, "model_name_or_path": "bench"}
    return [{**same, "goal_file": f"{golden}\n# {mark}\n", "sample": place} for place, mark in enumerate(marks)]


def _seconds(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - started


def _peak_mb(command: list[str]) -> float:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, command
    return usage.ru_maxrss / 1024


PARTS: dict[str, Callable[[Path], Measured]] = {
    "start": start_times,
    "memory": memory_ratio,
    "gold": gold_ratio,
    "scorer": scorer_ratio,
}

if __name__ == "__main__":
    kept = True
    with tempfile.TemporaryDirectory() as name:
        for part in sys.argv[1:] or PARTS:
            for what, measured, promised in PARTS[part](Path(name)):
                kept &= measured <= promised
                print("ok " if measured <= promised else "BAD", what, f"{measured:.3f} (promised: at most {promised})")
    sys.exit(not kept)
