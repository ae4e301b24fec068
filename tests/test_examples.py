"""The examples run as they stand, and the notebook's saved outputs are those of a clean run."""

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

import lmrbench_data as lmr
from lmrbench_data.evaluate.sandbox.base import Sandbox
from lmrbench_data.loader import load_rows

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
NOTEBOOK = EXAMPLES / "quickstart.ipynb"


def outputs(notebook: Any) -> str:
    """All that its cells showed, as text."""
    shown = []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            assert output.output_type != "error", output.evalue
            shown.append(output.get("text") or output.data.get("text/markdown") or output.data["text/plain"])
    return "\n".join(shown)


@pytest.mark.slow
def test_the_notebook_runs_and_the_right_answer_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMRBENCH_EXAMPLE_SANDBOX", "local")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, kernel_name="python3", timeout=240, resources={"metadata": {"path": tmp_path}}).execute()
    assert "| empathy-gap-delta | pass | fail |" in outputs(notebook)
    assert list(tmp_path.iterdir()) == []


def test_saved_outputs_are_of_one_clean_run_in_docker() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert not [output for cell in cells for output in cell.outputs if output.get("name") == "stderr"]
    shown = outputs(notebook)
    assert "sandbox docker" in shown
    assert "| empathy-gap-delta | pass | fail |" in shown
    text = NOTEBOOK.read_text(encoding="utf-8")
    for trace in (str(NOTEBOOK.parents[1]), "/tmp/", "/home/", "/root/", "Warning"):
        assert trace not in text


@pytest.mark.docker
def test_the_example_of_a_sandbox_evaluates(
    docker_sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [row] = [row for row in load_rows() if row["instance_id"] == "empathy-gap-delta"]
    docker_sandbox.prepare(row["docker_image"])
    monkeypatch.syspath_prepend(EXAMPLES)
    run = lmr.evaluate("gold", tmp_path / "run", instances=[row["instance_id"]], sandbox="own_sandbox:CommandSandbox")
    [result] = run.results()
    assert (result["status"], result["sandbox"]) == ("passed", "command")
