"""Measure the performance that the project promises, both sides of every ratio in one run: `make bench`.

Parts, each of which can be named as an argument: docker (golden predictions against bare `docker run` under xargs),
start (--help, loading), memory (100 against 10,000 predictions), scorer and scorer-memory (`bench_scorer.py`). Exit
status 1 if a promise is not kept.
"""

import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench_scorer import scorer_memory, scorer_ratio

from lmrbench_data.dataset.load import load_rows
from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.rebuild.workspace import rebuild, workspace_tar
from lmrbench_evaluate.runner import bootstrap
from lmrbench_evaluate.verdict.expected import read_expected, row_cases

WORKERS = 2
LMRBENCH = str(Path(sys.executable).with_name("lmrbench"))


def main() -> None:
    """Run the named parts, or all."""
    parts: dict[str, Callable[[Path], Iterator[tuple[str, float, float]]]] = {
        "docker": docker_ratio,
        "start": start_times,
        "memory": memory_ratio,
        "scorer": scorer_ratio,
        "scorer-memory": scorer_memory,
    }
    kept = True
    with tempfile.TemporaryDirectory() as name:
        for part in sys.argv[1:] or parts:
            for what, measured, promised in parts[part](Path(name)):
                kept &= measured <= promised
                print(
                    f"{'ok ' if measured <= promised else 'BAD'} {what}: {measured:.3f} (promised: at most {promised})",
                    flush=True,
                )
    sys.exit(not kept)


def docker_ratio(folder: Path, rounds: int = 4, copies: int = 3) -> Iterator[tuple[str, float, float]]:
    """Wall time of `lmrbench evaluate` against the same runner commands as bare containers under `xargs -P`.

    Every golden file is evaluated `copies` times a round, made distinct by a comment: equal predictions run once.
    The sides alternate; the first round warms up and does not count.
    """
    rows = load_rows("embedded")
    commands = folder / "commands"
    commands.write_text("\n".join(_bare_command(row, folder) for _ in range(copies) for row in rows) + "\n")
    bare, harness = [], []
    for number in range(rounds + 1):
        predictions = folder / f"round-{number}.jsonl"
        with predictions.open("w") as file:
            for copy in range(copies):
                for row in rows:
                    content = row["golden_file"] + f"\n# round {number}, copy {copy}\n"
                    file.write(json.dumps(_prediction(row, goal_file=content, sample=copy)) + "\n")
        command = [LMRBENCH, "evaluate", str(predictions), "--sandbox", "docker", "--workers", str(WORKERS), "--json"]
        pair = (
            _seconds(["xargs", "-P", str(WORKERS), "-d", "\n", "-n", "1", "-a", str(commands), "sh", "-c"]),
            _seconds([*command, "--out", str(folder / f"run-{number}")]),
        )
        print(f"    round {number}: bare {pair[0]:.2f} s, lmrbench {pair[1]:.2f} s", flush=True)
        if number:
            bare.append(pair[0])
            harness.append(pair[1])
    print(f"    {len(rows) * copies} containers a round; sums {sum(bare):.2f} s and {sum(harness):.2f} s")
    yield "wall time of all golden predictions, lmrbench / bare docker run", sum(harness) / sum(bare), 1.05


def start_times(folder: Path, rounds: int = 7) -> Iterator[tuple[str, float, float]]:
    """Medians of `lmrbench --help` and of loading the embedded dataset a second time, each in a new process.

    The load is timed inside the process, from before the first import to the verified `datasets.Dataset`.
    """
    yield "seconds of lmrbench --help", statistics.median(_seconds([LMRBENCH, "--help"]) for _ in range(rounds)), 0.3
    load_rows("embedded")
    code = (
        "import time; start = time.perf_counter(); from lmrbench_data.loader import load; rows = load('embedded');"
        "print(time.perf_counter() - start); assert len(rows)"
    )
    seconds = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(rounds)]
    yield "seconds of a second load of the embedded dataset", statistics.median(seconds), 1.0


def memory_ratio(folder: Path) -> Iterator[tuple[str, float, float]]:
    """Peak memory of the harness process with 10,000 predictions (samples over few distinct ones) against 100."""
    rows = load_rows("embedded")
    distinct = [(row, row["golden_file"] + f"\n# variant {i}\n") for i in range(2) for row in rows[:2]]
    peaks = {}
    for count in (100, 10_000):
        predictions = folder / f"predictions-{count}.jsonl"
        with predictions.open("w") as file:
            for sample in range(count):
                row, content = distinct[sample % len(distinct)]
                file.write(json.dumps(_prediction(row, goal_file=content, sample=sample)) + "\n")
        command = [
            LMRBENCH,
            "evaluate",
            str(predictions),
            "--workers",
            str(WORKERS),
            "--out",
            str(folder / f"m-{count}"),
        ]
        peaks[count] = _peak_mb(command)
        print(f"    {count} predictions: {peaks[count]:.0f} MB", flush=True)
    yield "peak memory, 10,000 / 100 predictions", peaks[10_000] / peaks[100], 1.3


def _prediction(row: dict[str, Any], **answer: Any) -> dict[str, Any]:
    return {"instance_id": row["instance_id"], "model_name_or_path": "bench", **answer}


def _bare_command(row: dict[str, Any], folder: Path) -> str:
    """A `docker run` with the limits of the docker sandbox, fed with the workspace of the golden file."""
    tests = row["tests"]
    runs = [(frame.case, frame.seed) for frame in read_expected(row)]
    golden = rebuild(row, Prediction(row["instance_id"], "gold", "goal_file", row["golden_file"]))
    workspace = workspace_tar(golden, row_cases(row), runs=runs, limit_s=tests["timeout_s"])
    path = folder / f"{row['instance_id']}.tar"
    path.write_bytes(workspace)
    program = folder / "bootstrap.py"
    program.write_text(bootstrap())
    flags = (
        f"--rm -i --network none --read-only --tmpfs /work:rw,nosuid,nodev,size=256m,mode=1777 "
        f"--tmpfs /tmp:rw,nosuid,nodev,size=256m,mode=1777 --cap-drop ALL --security-opt no-new-privileges "
        f"--memory {tests['memory_mb']}m --memory-swap {tests['memory_mb']}m --pids-limit 256 --cpus 1 --ipc none "
        f"--ulimit core=0 --ulimit nofile=1024 --log-driver none --user 65534:65534 --env HOME=/work --env LANG=C.UTF-8"
    )
    run = f'python -I -c "$(cat {shlex.quote(str(program))})" {len(workspace)} /work'
    return f"docker run {flags} {row['docker_image']} {run} < {shlex.quote(str(path))} > /dev/null"


def _seconds(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - started


def _peak_mb(command: list[str]) -> float:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"{' '.join(command)} failed")
    return usage.ru_maxrss / 1024


if __name__ == "__main__":
    main()
