"""The SLURM example: well-formed scripts, whose shares together evaluate every prediction exactly once."""

import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import lmrbench as lmr
from lmrbench_data.dataset.rows import DatasetRow
from support.shares import ANSWERED, INSTANCES, common, write_shared_world

SCRIPTS = Path(__file__).resolve().parents[2] / "examples" / "slurm"
#: Replaces SLURM's srun: runs the step's command here.
SRUN = """#!/bin/bash
while [[ $1 == --* ]]; do shift; done
exec "$@"
"""


def bash(script: str, *arguments: Path | str, cwd: Path | None = None, **variables: str) -> Any:
    """Run a script with these variables; return its status and all its output."""
    command = ["bash", SCRIPTS / script, *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    done = subprocess.run(command, cwd=cwd, env={**os.environ, **variables}, timeout=250, **pipes)  # type: ignore[call-overload]
    return done.returncode, done.stdout


@pytest.mark.parametrize("name", ["evaluate.sbatch", "merge.sbatch"])
def test_script_is_well_formed(name: str) -> None:
    subprocess.run(["bash", "-n", SCRIPTS / name], check=True)
    if shellcheck := shutil.which("shellcheck"):
        done = subprocess.run([shellcheck, SCRIPTS / name], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
    lines = (SCRIPTS / name).read_text(encoding="utf-8").splitlines()
    last = max(number for number, line in enumerate(lines) if line.startswith("#SBATCH"))
    first = next(number for number, line in enumerate(lines) if line and not line.startswith("#"))
    assert last < first, "sbatch reads no options after the first command"
    assert bash(name) == (2, f"usage: sbatch {name} PREDICTIONS OUT\n")
    done = bash(name, "predictions.jsonl", "runs", VENV="nowhere", SLURM_ARRAY_TASK_ID="0")
    assert done == (2, "error: VENV: nowhere is not a virtual environment\n")
    if name == "evaluate.sbatch":  # outside an array
        status, output = bash(name, "predictions.jsonl", "runs")
        assert (status, output.count("\n"), "sbatch --array" in output) == (2, 1, True)


@pytest.mark.nightly
def test_shares_evaluate_every_prediction_once(tmp_path: Path, toy_row: DatasetRow) -> None:
    """In an array with numbers other than 0 and 1, and with a third task that has no work."""
    dataset, predictions = write_shared_world(tmp_path, toy_row)
    srun = tmp_path / "bin" / "srun"
    srun.parent.mkdir()
    srun.write_text(SRUN)
    srun.chmod(0o755)
    path = f"{srun.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    facts = {"PATH": path, "DATASET": str(dataset), "SANDBOX": "local", "SLURM_CPUS_PER_TASK": "1"}
    array = {"SLURM_ARRAY_TASK_MIN": "3", "SLURM_ARRAY_TASK_STEP": "4", "SLURM_ARRAY_TASK_COUNT": "2"}

    def start(script: str, **variables: str) -> Any:
        return bash(script, predictions, "runs/mine", cwd=tmp_path, **facts, **variables)

    for number in (3, 7):
        status, output = start("evaluate.sbatch", SLURM_ARRAY_TASK_ID=str(number), **array)
        assert status == 0, output
    shares = [lmr.open_run(path) for path in sorted((tmp_path / "runs" / "mine").glob("share-*"))]
    assert [sorted(run.facts["scope"]) for run in shares] == [sorted(INSTANCES[0::2]), sorted(INSTANCES[1::2])]
    rows = [row for run in shares for row in run.results()]
    keys = Counter((row["instance_id"], row["model_name_or_path"], row["sample"]) for row in rows)
    assert set(keys.values()) == {1}
    assert len(keys) == 3 * len(ANSWERED) == len(predictions.read_text().splitlines())

    lost = tmp_path / "runs" / "mine" / "share-1"
    lost.rename(tmp_path / "lost")
    status, output = start("merge.sbatch")
    assert (status, output.count("\n")) == (1, 1)
    assert "runs/mine/share-1 is missing; submit the array again" in output
    (tmp_path / "lost").rename(lost)
    status, output = start("merge.sbatch")
    assert status == 0, output
    assert "12 of 12 predictions were evaluated before" in output
    whole = lmr.open_run(tmp_path / "runs" / "mine" / "whole")
    assert whole.complete
    assert common(whole.results()) == common(rows)  # type: ignore[arg-type]


def test_array_task_without_instances_does_nothing(tmp_path: Path) -> None:
    """The list of instances is empty: no run folder, no error."""
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\ncat > /dev/null\necho 28\n")
    program.chmod(0o755)
    facts = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURM_ARRAY_TASK_ID": "40", "SLURM_ARRAY_TASK_COUNT": "41"}
    status, output = bash("evaluate.sbatch", "predictions.jsonl", "runs/mine", cwd=tmp_path, **facts)
    assert (status, "use a shorter array" in output) == (0, True)
    assert [path.name for path in (tmp_path / "runs" / "mine").iterdir()] == ["shares"]
