"""The examples run as they stand, and the notebook's saved outputs are those of a clean run."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

import lmrbench_data as lmr
from lmrbench_data.dataset.load import load_rows
from lmrbench_evaluate.sandbox.base import Sandbox

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


@pytest.mark.slow
def test_the_notebook_runs_and_the_right_answer_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMRBENCH_EXAMPLE_SANDBOX", "local")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, kernel_name="python3", timeout=240, resources={"metadata": {"path": tmp_path}}).execute()
    assert "| empathy-gap-delta | robust | failed |" in outputs(notebook)
    assert list(tmp_path.iterdir()) == []


def test_saved_outputs_are_of_one_clean_run_in_docker() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert not [output for cell in cells for output in cell.outputs if output.get("name") == "stderr"]
    shown = outputs(notebook)
    assert "sandbox docker" in shown
    assert "| empathy-gap-delta | robust | failed |" in shown
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


@pytest.mark.slow
def test_the_demo_takes_a_scripted_model_from_nothing_to_a_report(tmp_path: Path) -> None:
    """The demo's own command except for the sandbox; each answer gets the verdict that the script intends."""
    plan = subprocess.run(
        ["make", "-n", "demo", f"BIN={Path(LMRBENCH).parent}"], cwd=EXAMPLES.parent, text=True, capture_output=True
    )
    [line] = [line for line in plan.stdout.replace("\\\n", " ").splitlines() if "scripted_model.py" in line]
    line = line.replace("benchmark/examples/scripted_model.py", str(SCRIPTED))
    done = subprocess.run(f"{line} --sandbox local", shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    results = map(json.loads, (tmp_path / "runs" / "demo-model" / "results.jsonl").read_text().splitlines())
    assert {row["instance_id"]: (row["core_status"], row["status"]) for row in results} == {
        "dpo-preference-loss": ("passed", "passed"),
        "step-length-prompt-construction": ("passed", "passed"),
        "empathy-gap-delta": ("passed", "failed"),
        "simpo-loss": ("failed", "failed"),
        "nsa-selected-and-sliding-attention": ("malformed", "malformed"),
    }
    assert "tokens out" in done.stdout


@pytest.mark.slow
def test_the_scripted_model_says_what_its_script_has_and_nothing_else(tmp_path: Path) -> None:
    """In every setting: it reads the request, not the text around it."""
    out = tmp_path / "answers.jsonl"
    with subprocess.Popen([sys.executable, str(SCRIPTED)], stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        url = server.stderr.readline().split()[-1]
        for setting in ("standard", "paper-only", "full-repo"):
            assert lmr.generate("scripted", out, base_url=url, setting=setting).complete
        server.terminate()
    noted: dict[str, list[Any]] = {}
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(rows) == 3 * len(load_rows())
    for row in rows:
        noted.setdefault(row["instance_id"], []).append(row["metadata"].get("tolerated"))
        assert row["metadata"]["output_tokens"] == len(row["function"].split())
    answered = {instance: notes for instance, notes in noted.items() if notes != [None] * 3}
    assert answered == {
        "dpo-preference-loss": [["prose", "fences", "more than the function"]] * 3,
        "step-length-prompt-construction": [[]] * 3,
        "empathy-gap-delta": [["more than the function"]] * 3,
        "simpo-loss": [["more than the function"]] * 3,
    }
    cut = [row["metadata"]["finish_reason"] for row in rows if row["instance_id"].startswith("nsa-")]
    assert cut == ["length"] * 3
    failing = subprocess.run([sys.executable, str(SCRIPTED), "--", "sh", "-c", "exit 7"], timeout=60)
    assert failing.returncode == 7
