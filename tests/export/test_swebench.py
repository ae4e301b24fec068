"""Exports for SWE-bench agents: real repositories, and patches that come back as predictions."""

import json
import subprocess
from pathlib import Path

import pytest
from datasets import load_dataset

import lmrbench_data as lmr
from lmrbench_data.dataset.build import write_dataset
from lmrbench_data.dataset.rows import DatasetRow, golden_files_of
from lmrbench_data.loader import read_archive
from lmrbench_data.tasks.manifest import load_benchmark
from support.command_line import in_process

SWEBENCH_COLUMNS = {
    *("repo", "instance_id", "base_commit", "patch", "test_patch", "problem_statement", "hints_text", "created_at"),
    *("version", "FAIL_TO_PASS", "PASS_TO_PASS", "environment_setup_commit"),
}


@pytest.fixture
def exported(toy_row: DatasetRow, method_row: DatasetRow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The toy function and the toy method, exported."""
    monkeypatch.chdir(tmp_path)
    write_dataset([toy_row], tmp_path / "toy", load_benchmark(), others={"method": [method_row]})
    done = in_process("export", "swebench", "out", "--dataset", "toy")
    assert done.returncode == 0, done.stderr
    return tmp_path / "out"


def output_of(clone: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=clone, check=True, capture_output=True, text=True).stdout


def test_a_patch_against_the_exported_commit_evaluates_to_reproduced(
    exported: Path, toy_row: DatasetRow, method_row: DatasetRow, tmp_path: Path
) -> None:
    rows = [json.loads(line) for line in (exported / "instances.jsonl").read_text().splitlines()]
    predictions = []
    for row, ours in zip(rows, [method_row, toy_row], strict=True):
        clone = tmp_path / f"clone-{row['instance_id']}"
        subprocess.run(["git", "clone", "-q", exported / "repos" / f"{row['instance_id']}.bundle", clone], check=True)
        assert output_of(clone, "rev-parse", "HEAD").strip() == row["base_commit"]
        shown = {
            str(path.relative_to(clone)) for path in clone.rglob("*") if path.is_file() and ".git" not in path.parts
        }
        assert shown == set(read_archive(ours["repo_archive"]))
        for path, text in golden_files_of(ours).items():
            (clone / path).write_text(text)
        patch = output_of(clone, "diff", row["base_commit"])
        for model, model_patch in (("agent", patch), ("reference", row["patch"]), ("idle", "")):
            predictions.append(
                {"instance_id": row["instance_id"], "model_name_or_path": model, "model_patch": model_patch}
            )
    for config, instance in (("function", "toy-scale"), ("method", "toy-method")):
        kept = [row for row in predictions if row["instance_id"] == instance]
        file = tmp_path / f"{config}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in kept))
        run = lmr.evaluate(file, tmp_path / config, dataset="toy", config=config, sandbox="local", workers=1)
        found = {row["model_name_or_path"]: row["core_status"] for row in run.rows()}
        assert found == {"agent": "passed", "reference": "passed", "idle": "malformed"}


def test_rows_have_the_columns_of_swe_bench_and_two_exports_are_equal(exported: Path, tmp_path: Path) -> None:
    rows = load_dataset("json", data_files=str(exported / "instances.jsonl"), split="train")
    assert set(rows.column_names) == SWEBENCH_COLUMNS | {"image_name", "config"}
    assert rows["config"] == ["method", "function"]
    function = rows[1]
    assert "Each number is multiplied by a factor." in function["problem_statement"]
    assert json.loads(function["FAIL_TO_PASS"]) == ["case_random_values[0]", "case_random_values[1]"]
    in_process("export", "swebench", "again", "--dataset", "toy")
    for path in exported.rglob("*"):
        if path.is_file():
            assert path.read_bytes() == (tmp_path / "again" / path.relative_to(exported)).read_bytes(), path


def test_an_export_of_fewer_instances_does_not_remove_the_others(exported: Path) -> None:
    before = {path: path.read_bytes() for path in exported.rglob("*") if path.is_file()}
    done = in_process("export", "swebench", "out", "--dataset", "toy", "--instance", "toy-scale")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "out: contains other instances (1, such as toy-method); give a new folder" in done.stderr
    assert before == {path: path.read_bytes() for path in exported.rglob("*") if path.is_file()}
