"""The Python API: the same verdicts from a list, a frame, a dataset or a file; judging inside a running event loop."""

import asyncio
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import pytest
from conftest import TOY_ANSWER
from openai_server import Server, opinion

import lmrbench_data as lmr
from lmrbench_data.build import write_dataset
from lmrbench_data.manifest import load_benchmark

WRONG = TOY_ANSWER.replace("*", "+")
ROWS = [
    {"instance_id": "toy-scale", "model_name_or_path": "good", "function": TOY_ANSWER, "sample": 0},
    {"instance_id": "toy-scale", "model_name_or_path": "bad", "function": WRONG, "sample": 3},
]


@pytest.fixture
def evaluate(tmp_path: Path, toy_row: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., lmr.Run]:
    """`lmr.evaluate` on the toy dataset, in local processes."""
    write_dataset([toy_row], tmp_path / "lmr-bench", load_benchmark())
    monkeypatch.chdir(tmp_path)
    return lambda rows, out=None, **options: lmr.evaluate(
        rows, out, dataset="lmr-bench", sandbox="local", **{"workers": 1, **options}
    )


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        yield running


def as_file(rows: list[dict[str, Any]]) -> str:
    pd.DataFrame(rows).to_json("answers.jsonl", orient="records", lines=True)
    return "answers.jsonl"


def with_holes(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """A frame as one gets it by joining two: what is missing is NaN, whole numbers are floats."""
    extra = {"instance_id": "toy-scale", "model_name_or_path": "good", "goal_file": "def scale(", "sample": 1}
    frame = pd.DataFrame([*rows, extra])
    frame.loc[0, "sample"] = None
    return frame[frame["goal_file"].isna()]


FORMS: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "list": lambda rows: rows,
    "generator": lambda rows: (row for row in rows),
    "frame": pd.DataFrame,
    "frame_with_holes": with_holes,
    "dataset": datasets.Dataset.from_list,
    "file": as_file,
    "path": lambda rows: Path(as_file(rows)),
}


@pytest.mark.parametrize("form", FORMS)
def test_predictions_may_be_rows_of_any_kind(form: str, evaluate: Callable[..., lmr.Run]) -> None:
    run = evaluate(FORMS[form](ROWS), "run")
    assert run.complete
    frame = run.to_pandas()
    assert sorted(frame[["model_name_or_path", "sample", "status", "judge"]].itertuples(index=False, name=None)) == [
        ("bad", 3, "failed", None),
        ("good", 0, "passed", None),
    ]
    assert {score.model: score.overall.robust for score in run.scores()} == {"good": 1, "bad": 0}


def test_the_same_rows_resume_and_a_run_can_be_opened_again(evaluate: Callable[..., lmr.Run]) -> None:
    first = evaluate(ROWS)
    again = evaluate([dict(row) for row in ROWS])
    assert again.path == first.path
    assert again.summary is not None
    assert (again.summary.kept, again.summary.jobs) == (2, 0)
    assert evaluate(ROWS[:1]).path != first.path
    opened = lmr.open_run(str(first.path))
    assert opened.results() == first.results()
    with pytest.raises(lmr.InputError, match=r"no run\.json"):
        lmr.open_run("lmr-bench")


def test_a_notebook_judges_inside_its_event_loop(
    evaluate: Callable[..., lmr.Run], server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    server.judge = lambda request: opinion("LC")
    run = evaluate(ROWS)

    async def cell() -> lmr.Run:
        return lmr.judge(run, "judge-1", base_url=server.base_url, use_cache=False)

    judged = asyncio.run(cell())
    assert judged.judging is not None
    assert judged.judging.complete
    assert set(judged.to_pandas()["judge"]) == {"LC"}
    report = lmr.report(judged)
    assert "LC" in report.to_markdown()
    assert report.save("report.html").read_text().startswith("<!doctype html>")


def test_progress_is_told_each_step(evaluate: Callable[..., lmr.Run]) -> None:
    class Counting(lmr.Progress):
        total, labels = 0, ()

        def start(self, total: int) -> None:
            self.total = total

        def step(self, label: str = "") -> None:
            self.labels = (*self.labels, label)

    progress = Counting()
    evaluate(ROWS, progress=progress)
    assert (progress.total, sorted(progress.labels)) == (2, ["failed", "robust"])


def test_mistakes_name_the_argument(evaluate: Callable[..., lmr.Run]) -> None:
    for options, message in (
        ({"instances": ["toy"]}, "instances: 'toy' is unknown"),
        ({"categories": ["x"]}, "categories: 'x' is unknown"),
        ({"out": __file__}, "out: .*: is not a run folder"),
    ):
        with pytest.raises(lmr.ArgumentError, match=message):
            evaluate(ROWS, **options)
    for rows in (7, b"rows", {"instance_id": "toy-scale"}):
        with pytest.raises(lmr.InputError, match="a path or rows are needed"):
            evaluate(rows)


def test_the_package_can_be_called() -> None:
    """`lmrbench_data.evaluate` is a folder of modules and a verb of the API, whichever was touched first."""
    import lmrbench_data.evaluate.verdict
    from lmrbench_data import api

    assert callable(lmr.evaluate)
    assert inspect.signature(lmr.evaluate) == inspect.signature(api.evaluate)
    assert lmrbench_data.evaluate.verdict.Status.PASSED == "passed"
