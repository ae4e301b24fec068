"""Training on the verdicts: the example with TRL, its reward function, and the examples on the page."""

import csv
import functools
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import lmrbench as lmr
from lmrbench_data.dataset.build import write_dataset
from lmrbench_data.dataset.load import load_rows
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.tasks.manifest import load_benchmark

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "train_grpo.py"
INSTANCE = "empathy-gap-delta"


@pytest.fixture(scope="module")
def example() -> Any:
    return SimpleNamespace(**runpy.run_path(str(EXAMPLE)))


@pytest.fixture(scope="module")
def rows() -> list[DatasetRow]:
    return load_rows()


def lines(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


class ReadyScores:
    """Replaces a scorer: gives these shares; each answer's text is its status."""

    def __init__(self, *shares: float | None) -> None:
        self._shares = shares

    def score(self, rows: list[dict[str, str]]) -> list[lmr.Score]:
        pairs = zip(rows, self._shares, strict=True)
        return [lmr.Score(INSTANCE, share, share == 1.0, False, row["function"]) for row, share in pairs]


def test_a_failure_of_the_machinery_is_left_out(example: Any, rows: list[DatasetRow], tmp_path: Path) -> None:
    """It has no reward, shaped or not, and no part in the means; shaping is worth less than a case of any instance."""
    reward = example.Reward(ReadyScores(None, 1.0, 0.0, 0.0, 0.2), tmp_path / "r.csv")
    texts = ["infra_error", "passed", "malformed", "failed", "failed"]
    completions = [[{"role": "assistant", "content": text}] for text in texts]
    found = reward(completions, instance_id=[INSTANCE] * 5, trainer_state=SimpleNamespace(global_step=0), prompts=None)
    assert found[0] is None
    assert found[1] == pytest.approx(1.0)
    assert found[2] == 0.0
    assert found[2] < found[3] < found[4] < found[1]
    [line] = lines(tmp_path / "r.csv")
    assert (line["step"], line["answers"], line["left_out"]) == ("1", "5", "1")
    assert (float(line["share"]), float(line["reproduced"])) == (0.3, 0.25)
    assert float(line["reward"]) == pytest.approx(sum(found[1:]) / 4, abs=1e-4)
    for row in rows:
        cases = [case for case in row["tests"]["cases"] if case["core"]]
        runs = sum(len(row["tests"]["seeds"]) if case["varies"] else 1 for case in cases)
        assert 1 / runs > example.SHAPING, row["instance_id"]


@pytest.mark.agents
def test_two_steps_of_grpo(tmp_path: Path) -> None:
    """Real TRL: a model with random weights answers right and wrong; the updates use the logged rewards."""
    command = [sys.executable, EXAMPLE, "--instance", INSTANCE, "--isolation", "container", "--sandbox", "local"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'evaluate'}", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    found = lines(tmp_path / "rewards.csv")
    assert [(line["step"], line["answers"], line["left_out"]) for line in found] == [("1", "8", "0"), ("2", "8", "0")]
    used = [float(value) for value in re.findall(r"'reward': '([^']+)'", done.stdout)]
    spread = [float(value) for value in re.findall(r"'reward_std': '([^']+)'", done.stdout)]
    moved = [float(value) for value in re.findall(r"'grad_norm': '([^']+)'", done.stdout)]
    assert used == pytest.approx([float(line["reward"]) for line in found], abs=1e-3)
    assert all(0 < float(line["share"]) < 1 for line in found)
    assert all(value > 0 for value in [*spread, *moved])
    assert (len(spread), len(moved)) == (2, 2)


@pytest.mark.slow
def test_the_examples_of_the_page_run(rows: list[DatasetRow], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    [row] = [row for row in rows if row["instance_id"] == INSTANCE]
    write_dataset([row], tmp_path / "one", load_benchmark())  # loads sooner than all rows
    local = {"dataset": str(tmp_path / "one"), "isolation": "container", "sandbox": "local"}
    monkeypatch.setattr(lmr, "Scorer", functools.partial(lmr.Scorer, **local))
    names: dict[str, Any] = {"replies": [row["golden_file"], "I cannot."]}
    for block in blocks:
        exec(block, names)
    assert names["rewards"] == [1.0, 0.0]
    assert [score.status for score in names["scores"]] == ["passed", "malformed"]
    assert row["goal_function"] in names["messages"][-1]["content"]
    papers = {row["instance_id"]: row["paper_title"] for row in rows}
    kept = {papers[name] for name in names["train"]}
    assert len(kept) == len(set(papers.values())) - 6
    assert not kept & names["held_out"]
