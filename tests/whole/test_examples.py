"""The examples run as they stand, and the notebook's saved outputs are those of a clean run."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lmrbench as lmr
from lmrbench_data.dataset.load import load_rows
from lmrbench_evaluate.sandbox.base import Sandbox
from support.toy import IN_DEPTH

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NOTEBOOK = EXAMPLES / "quickstart.ipynb"
SCRIPTED = EXAMPLES.parent / "benchmark" / "examples" / "scripted_model.py"
LMRBENCH = str(Path(sys.executable).with_name("lmrbench"))


def outputs(notebook: Any) -> str:
    """All output of its cells, as text."""
    shown = []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            assert output.output_type != "error", output.evalue
            shown.append(output.get("text") or output.data.get("text/markdown") or output.data["text/plain"])
    return "\n".join(shown)


@pytest.mark.nightly
def test_notebook_runs_and_the_right_answer_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMRBENCH_EXAMPLE_SANDBOX", "local")
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(
        notebook, kernel_name="python3", timeout=240, resources={"metadata": {"path": tmp_path}}
    ).execute()
    assert "| empathy-gap-delta | robust | failed |" in outputs(notebook)
    assert list(tmp_path.iterdir()) == []


def test_saved_outputs_are_of_one_clean_run_in_docker() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert "sandbox docker" in text
    assert "| empathy-gap-delta | robust | failed |" in text
    for trace in (str(NOTEBOOK.parents[1]), "/tmp/", "/home/", "/root/", "Warning", '"stderr"', 'e": "error"'):
        assert trace not in text


@pytest.mark.docker
def test_example_sandbox_evaluates(docker_sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [row] = load_rows(instances=["empathy-gap-delta"])
    docker_sandbox.prepare(row["docker_image"])
    monkeypatch.syspath_prepend(EXAMPLES)
    run = lmr.evaluate("gold", tmp_path / "run", instances=[row["instance_id"]], sandbox="own_sandbox:CommandSandbox")
    [result] = run.results()
    assert (result["status"], result["sandbox"]) == ("passed", "command")


@pytest.mark.slow
def test_demo_takes_a_scripted_model_to_a_report(tmp_path: Path) -> None:
    """The demo's own command except for the sandbox; each answer gets the verdict that the script intends."""
    plan = subprocess.run(
        ["make", "-n", "demo", f"BIN={Path(LMRBENCH).parent}"], cwd=EXAMPLES.parent, text=True, capture_output=True
    )
    [line] = [line for line in plan.stdout.replace("\\\n", " ").splitlines() if "scripted_model.py" in line]
    line = line.replace("benchmark/examples/scripted_model.py", str(SCRIPTED))
    if not IN_DEPTH:
        line = re.sub("--instance (dpo|simpo)[^ ]+", "", line)
    done = subprocess.run(f"{line} --sandbox local", shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    results = map(json.loads, (tmp_path / "runs" / "demo-model" / "results.jsonl").read_text().splitlines())
    intended = {
        "step-length-prompt-construction": ("passed", "passed"),
        "empathy-gap-delta": ("passed", "failed"),
        "nsa-selected-and-sliding-attention": ("malformed", "malformed"),
    }
    if IN_DEPTH:  # those that import torch
        intended |= {"dpo-preference-loss": ("passed", "passed"), "simpo-loss": ("failed", "failed")}
    assert {row["instance_id"]: (row["core_status"], row["status"]) for row in results} == intended
    assert "tokens out" in done.stdout
