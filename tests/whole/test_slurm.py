"""The SLURM example: well-formed scripts, whose shares together evaluate every prediction exactly once."""

import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import lmrbench_data as lmr
from lmrbench_data.dataset.rows import DatasetRow
from support.shares import ANSWERED, INSTANCES, common, write_shared_world

SCRIPTS = Path(__file__).resolve().parents[2] / "examples" / "slurm"
#: Replaces SLURM's srun: runs the step's command here.
SRUN = """#!/bin/bash
while [[ $1 == --* ]]; do shift; done
exec "$@"
"""


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
    done = subprocess.run(["bash", SCRIPTS / name], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, f"usage: sbatch {name} PREDICTIONS OUT\n")
    asked = {"VENV": "nowhere", "SLURM_ARRAY_TASK_ID": "0"}
    done = subprocess.run(
        ["bash", SCRIPTS / name, "predictions.jsonl", "runs"],
        capture_output=True,
        text=True,
        env={**os.environ, **asked},
    )
    assert (done.returncode, done.stderr) == (2, "error: VENV: nowhere is not a virtual environment\n")


def test_job_outside_an_array_is_one_line() -> None:
    command = ["bash", SCRIPTS / "evaluate.sbatch", "predictions.jsonl", "runs"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "sbatch --array" in done.stderr


@pytest.mark.nightly
def test_shares_evaluate_every_prediction_once(tmp_path: Path, toy_row: DatasetRow) -> None:
    """In an array with numbers other than 0 and 1, and with a third task that has no work."""
    dataset, predictions = write_shared_world(tmp_path, toy_row)
    srun = tmp_path / "bin" / "srun"
    srun.parent.mkdir()
    srun.write_text(SRUN)
    srun.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{srun.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "DATASET": str(dataset),
        "SANDBOX": "local",
        "SLURM_CPUS_PER_TASK": "1",
    }

    def start(script: str, **variables: str) -> "subprocess.Popen[str]":
        command = ["bash", SCRIPTS / script, predictions, "runs/mine"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return subprocess.Popen(command, cwd=tmp_path, env={**environment, **variables}, **pipes)  # type: ignore[call-overload,no-any-return]

    array = {"SLURM_ARRAY_TASK_MIN": "3", "SLURM_ARRAY_TASK_STEP": "4", "SLURM_ARRAY_TASK_COUNT": "2"}
    jobs = [start("evaluate.sbatch", SLURM_ARRAY_TASK_ID=str(number), **array) for number in (3, 7)]
    for job in jobs:
        output, _ = job.communicate(timeout=250)
        assert job.returncode == 0, output
    shares = [lmr.open_run(path) for path in sorted((tmp_path / "runs" / "mine").glob("share-*"))]
    assert [sorted(run.facts["scope"]) for run in shares] == [sorted(INSTANCES[0::2]), sorted(INSTANCES[1::2])]
    rows = [row for run in shares for row in run.results()]
    keys = Counter((row["instance_id"], row["model_name_or_path"], row["sample"]) for row in rows)
    assert set(keys.values()) == {1}
    assert len(keys) == 3 * len(ANSWERED) == len(predictions.read_text().splitlines())

    lost = tmp_path / "runs" / "mine" / "share-1"
    lost.rename(tmp_path / "lost")
    job = start("merge.sbatch")
    output, _ = job.communicate(timeout=250)
    assert (job.returncode, output.count("\n")) == (1, 1)
    assert "runs/mine/share-1 is missing; submit the array again" in output
    (tmp_path / "lost").rename(lost)
    job = start("merge.sbatch")
    output, _ = job.communicate(timeout=250)
    assert job.returncode == 0, output
    assert "12 of 12 predictions were evaluated before" in output
    whole = lmr.open_run(tmp_path / "runs" / "mine" / "whole")
    assert whole.complete
    assert common(whole.results()) == common(rows)  # type: ignore[arg-type]


def test_array_task_without_instances_does_nothing(tmp_path: Path) -> None:
    """The list of instances is empty: no run folder, no error."""
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\ncat > /dev/null\necho 28\n")
    program.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "SLURM_ARRAY_TASK_ID": "40",
        "SLURM_ARRAY_TASK_COUNT": "41",
    }
    command = ["bash", SCRIPTS / "evaluate.sbatch", "predictions.jsonl", "runs/mine"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, "use a shorter array" in done.stdout) == (0, True)
    assert [path.name for path in (tmp_path / "runs" / "mine").iterdir()] == ["shares"]
