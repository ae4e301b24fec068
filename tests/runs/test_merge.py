"""Shares of an evaluation become one run: each result once, the same scores as without shares."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import lmrbench as lmr
from lmrbench_data.base.errors import ArgumentError, InputError
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_evaluate.reports.scores import score_runs
from lmrbench_evaluate.runs.merge import merge_runs
from support.command_line import in_process
from support.shares import ANSWERED, INSTANCES, common, write_shared_world


class Shared:
    """A folder with predictions, and evaluations of them."""

    def __init__(self, folder: Path, row: DatasetRow) -> None:
        self.folder = folder
        self.dataset, self.predictions = write_shared_world(folder, row)

    def evaluate(self, name: str, instances: Sequence[str] = (), **more: Any) -> Path:
        options = {"dataset": str(self.dataset), "sandbox": "local", "workers": 1, "instances": instances, **more}
        return lmr.evaluate(self.predictions, self.folder / name, **options).path


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, toy_row: DatasetRow) -> Shared:
    """A whole evaluation and two shares, one of which has an instance without an answer."""
    made = Shared(tmp_path_factory.mktemp("shared"), toy_row)
    made.evaluate("all")
    for number in (0, 1):
        made.evaluate(f"share-{number}", INSTANCES[number::2])
    return made


@pytest.fixture
def parts(shared: Shared) -> list[Path]:
    return [shared.folder / "share-0", shared.folder / "share-1"]


def results(path: Path) -> list[str]:
    return common(lmr.open_run(path).results())  # type: ignore[arg-type]


def test_a_merged_run_is_the_whole_run(shared: Shared, parts: list[Path], tmp_path: Path) -> None:
    done = in_process("merge", *map(str, parts), "--out", str(tmp_path / "whole"))
    assert done.returncode == 0, done.stderr
    merged, whole = lmr.open_run(tmp_path / "whole"), lmr.open_run(shared.folder / "all")
    assert merged.complete
    assert len(merged.results()) == 3 * len(ANSWERED)
    assert results(merged.path) == results(whole.path)
    assert merged.facts["scope"] == whole.facts["scope"]
    ours, theirs = ([score.as_dict() for score in score_runs([run.path])] for run in (merged, whole))
    for score in (*ours, *theirs):
        del score["run"]
    assert ours == theirs
    assert (merged.path / "report.md").is_file()
    before = (merged.path / "results.jsonl").read_bytes()
    merge_runs(parts, merged.path)
    assert (merged.path / "results.jsonl").read_bytes() == before


def test_what_a_share_left_open_is_evaluated_in_the_merged_run(shared: Shared, tmp_path: Path) -> None:
    """A share that was killed lacks results; one whose instances have no answer lacks nothing."""
    names = {"killed": INSTANCES[:2], "rest": INSTANCES[2:4]}
    parts = [shared.evaluate(f"{tmp_path.name}-{name}", chosen) for name, chosen in names.items()]
    with pytest.raises(InputError, match="none for the chosen instances"):
        shared.evaluate(f"{tmp_path.name}-none", INSTANCES[4:])
    parts.append(shared.folder / f"{tmp_path.name}-none")
    kept = (parts[0] / "results.jsonl").read_bytes().splitlines(keepends=True)[:2]
    (parts[0] / "results.jsonl").write_bytes(b"".join(kept))
    facts = json.loads((parts[0] / "run.json").read_text())
    (parts[0] / "run.json").write_text(json.dumps({**facts, "complete": False}))
    whole = tmp_path / "whole"
    done = in_process("merge", *map(str, parts), "--out", str(whole), "--json")
    assert done.returncode == 3
    assert f"not complete: {parts[0]}; re-run" in done.stderr
    assert not lmr.open_run(whole).complete
    run = lmr.evaluate(shared.predictions, whole, dataset=str(shared.dataset), sandbox="local", workers=1)
    assert run.summary is not None
    assert (run.summary.kept, run.complete) == (8, True)
    assert results(whole) == results(shared.folder / "all")


@pytest.mark.parametrize("left", [0, 2])
def test_a_damaged_share_that_was_complete_is_said(
    left: int, shared: Shared, parts: list[Path], tmp_path: Path
) -> None:
    """The merged run was called complete with the results of the other share alone."""
    damaged = tmp_path / "damaged"
    shutil.copytree(parts[0], damaged)
    lines = (damaged / "results.jsonl").read_bytes().splitlines(keepends=True)[:left]
    (damaged / "results.jsonl").write_bytes(b"".join(lines))
    done = in_process("merge", str(damaged), str(parts[1]), "--out", str(tmp_path / "whole"))
    assert done.returncode == 3
    assert f"not complete: {damaged}; re-run" in done.stderr
    assert not lmr.open_run(tmp_path / "whole").complete


def test_runs_that_cannot_be_mixed_are_refused(shared: Shared, parts: list[Path], tmp_path: Path) -> None:
    slow = shared.evaluate(f"{tmp_path.name}-slow", INSTANCES[1::2], timeout_scale=2.0)
    seeded = shared.evaluate(f"{tmp_path.name}-seeded", INSTANCES[:1], fresh_seeds=1)
    others = shared.evaluate(f"{tmp_path.name}-others", INSTANCES[1:2], fresh_seeds=1)
    for wrong, message in (
        ([parts[0], slow], "differ in timeout_scale"),
        ([seeded, others], "differ in fresh_seeds"),
        ([parts[0], shared.folder / "all"], "instance toy-a is in"),
        ([parts[0], parts[0]], "name each run once"),
        ([parts[0], tmp_path], "no run.json"),
    ):
        with pytest.raises(InputError, match=message):
            merge_runs(wrong, tmp_path / "whole")
        assert not (tmp_path / "whole").exists()
    for out in (parts[0], shared.dataset):
        with pytest.raises(ArgumentError, match="out"):
            merge_runs(parts, out)
    complete = Path(shutil.copytree(shared.folder / "all", tmp_path / "complete"))
    fewer = Path(shutil.copytree(parts[0], tmp_path / "fewer"))
    lines = (fewer / "predictions.jsonl").read_bytes().splitlines(keepends=True)
    (fewer / "predictions.jsonl").write_bytes(b"".join(lines[1:]))
    files = [path for path in complete.rglob("*") if path.is_file()]
    before = [path.read_bytes() for path in files]
    done = in_process("merge", fewer, parts[1], "--out", complete)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "lack: sample 0 of 'good' (unstated) for toy-a; name another folder" in done.stderr
    assert "(`--replace`)" in done.stderr
    assert [path.read_bytes() for path in files] == before
    assert in_process("merge", fewer, parts[1], "--out", complete, "--replace").returncode == 0
    assert len(results(parts[0])) + len(results(parts[1])) == 3 * len(ANSWERED)


def test_runs_of_an_older_harness_can_be_merged_again(parts: list[Path], tmp_path: Path) -> None:
    """Their run.json has no hash of the recordings."""
    older = [Path(shutil.copytree(path, tmp_path / path.name)) for path in parts]
    for path in older:
        facts = json.loads((path / "run.json").read_text())
        del facts["recordings_sha256"]
        (path / "run.json").write_text(json.dumps(facts))
    first = merge_runs(older, tmp_path / "whole")
    assert list(merge_runs(older, first.path).rows()) == list(first.rows())
