"""A published toy benchmark on a loopback Hub, and the command lines of its users, in separate processes."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from lmrbench.checks.proved import proofs, write_proofs
from lmrbench_data.loader import CONFIGS
from lmrbench_data.tasks.task_folders import load_tasks
from support import warm_cli
from support.hub_server import Hub
from support.toy import TOY_ANSWER, WRONG, write_toy_benchmark
from support.toy_choices import COUNTERFACTUAL, add_toy_choices
from support.toy_method import add_toy_method

LMRBENCH = str(Path(sys.executable).with_name("lmrbench"))
DATASET, RESULTS = "org/lmr-bench", "org/results"


def mark_as_checked(benchmark: Path) -> None:
    """Record the tasks of a benchmark as proved."""
    tasks = [task for config in CONFIGS for task in load_tasks((), benchmark, config)]
    write_proofs(benchmark, {name: proof for task in tasks for name, proof in proofs(task).items()})


def published_rows(hub: Hub) -> list[dict[str, Any]]:
    """Return the rows of the only run in the results dataset."""
    [name] = [name for name in hub.files(RESULTS) if name.startswith("data/")]
    return list(pq.read_table(io.BytesIO(hub.files(RESULTS)[name])).to_pylist())


class World:
    """A Hub with a maintainer `ann`, a submitter `bob`, and a working folder for both."""

    def __init__(self, folder: Path, hub: Hub) -> None:
        self.folder, self.hub = folder, hub
        hub.add_user("ann", "ann", "org")
        hub.add_user("bob", "bob")
        hub.add_user("reader", "bob", role="read")
        hub.add_user("old", "bob", expired=True)

    def lmrbench(
        self, *arguments: str | Path, token: str = "ann", program: str = "", **extra: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command, or a program, in a process of its own."""
        command = [sys.executable, "-c", program] if program else [LMRBENCH]
        own = {"HF_HUB_OFFLINE": "0", "LMRBENCH_CACHE": str(self.folder / "lmrbench-cache")}
        environment = {**os.environ, **self.hub.environment(self.folder / "cache", token), **own, **extra}
        done = warm_cli.run([*command, *map(str, arguments)], cwd=self.folder, env=environment, timeout=300)
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def ok(self, *arguments: str | Path, **options: str) -> str:
        done = self.lmrbench(*arguments, **options)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def submit(self, *options: str, token: str = "bob") -> subprocess.CompletedProcess[str]:
        return self.lmrbench("submit", "runs/models", "--dataset", DATASET, "--yes", *options, token=token)

    def verify(self, number: int, token: str = "ann") -> subprocess.CompletedProcess[str]:
        return self.lmrbench("verify", RESULTS, str(number), "--dataset", f"{DATASET}@v0.1.0", "--yes", token=token)

    def publish(self, configs: Sequence[str] = ("function",), *, check: str = "") -> None:
        """Build and push configurations of the toy benchmark as v0.1.0.

        Args:
            check: the one that is checked in Docker first; the others are marked as checked.
        """
        benchmark = write_toy_benchmark(self.folder / "benchmark")
        if "method" in configs:
            add_toy_method(benchmark)
        if "underspecified" in configs:
            add_toy_choices(benchmark, counterfactual=COUNTERFACTUAL[:1])
        for config in configs:
            self.ok("dataset", "record", "--config", config, "--benchmark", benchmark, "--sandbox", "local")
        if check:
            self.ok("dataset", "check", "--config", check, "--benchmark", benchmark, "--sandbox", "docker")
        self.ok("dataset", "build", "--benchmark", benchmark)
        if {*configs} - {check}:
            mark_as_checked(benchmark)
        self.ok("dataset", "push", DATASET, "--benchmark", benchmark, "--yes")

    def write_predictions(self) -> None:
        """Write predictions: model `good` with a right and a wrong sample, model `bad` with a wrong one."""
        task = {"instance_id": "toy-scale", "track": "paper"}
        rows = [
            {**task, "model_name_or_path": name, "function": code, "sample": sample}
            for name, code, sample in (("good", TOY_ANSWER, 0), ("bad", WRONG, 0), ("good", WRONG, 1))
        ]
        (self.folder / "predictions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
