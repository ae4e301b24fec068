"""The Python API: the same verdicts from a list, a frame, a dataset or a file; judging inside a running event loop."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import lmrbench as lmr
from lmrbench_data.dataset.rows import DatasetRow
from support.openai_server import Server, opinion
from support.toy import TOY_ANSWER, WRONG, write_toys

ROWS = [
    {"instance_id": "toy-scale", "model_name_or_path": "good", "function": TOY_ANSWER, "sample": 0},
    {"instance_id": "toy-scale", "model_name_or_path": "bad", "function": WRONG, "sample": 3},
]


def with_holes(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """A frame as a join of two gives it: missing values are NaN, whole numbers are floats."""
    extra = {"instance_id": "toy-scale", "model_name_or_path": "good", "goal_file": "def scale(", "sample": 1}
    frame = pd.DataFrame([*rows, extra])
    frame.loc[0, "sample"] = None
    return frame[frame["goal_file"].isna()]


FORMS: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "list": lambda rows: rows,
    "generator": lambda rows: (row for row in rows),
    "frame_with_holes": with_holes,
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
    assert {score.model: score.overall.robust for score in run.report().scores} == {"good": 1, "bad": 0}


def test_the_same_rows_resume_and_a_run_can_be_opened_again(evaluate: Callable[..., lmr.Run]) -> None:
    first = evaluate(ROWS)
    again = evaluate([dict(row) for row in ROWS])
    assert again.path == first.path
    assert again.summary is not None
    assert (again.summary.kept, again.summary.jobs) == (2, 0)
    opened = lmr.open_run(str(first.path))
    assert opened.results() == first.results()
    shown = {name for name in dir(opened) if not name.startswith("_")}
    assert shown == {"complete", "facts", "judging", "path", "report", "results", "summary", "to_pandas"}
    with pytest.raises(lmr.InputError, match=r"no run\.json"):
        lmr.open_run("lmr-bench")


def test_rows_come_in_the_order_of_the_predictions(evaluate: Callable[..., lmr.Run]) -> None:
    """results.jsonl has them in order of completion; the run returns them in the order of the answers."""
    slow = f"import time\ntime.sleep(2)\n{TOY_ANSWER}"
    answers = [slow, WRONG, "def scale(:", TOY_ANSWER, slow]
    rows = [
        {"instance_id": "toy-scale", "model_name_or_path": f"m{9 - n}", "function": a} for n, a in enumerate(answers)
    ]
    run = evaluate(rows, "run", workers=2)
    names = [row["model_name_or_path"] for row in rows]
    assert [row["model_name_or_path"] for row in run.results()] == names
    assert list(run.to_pandas()["status"]) == ["passed", "failed", "malformed", "passed", "passed"]
    written = [json.loads(line) for line in (run.path / "results.jsonl").read_text().splitlines()]
    assert [row["model_name_or_path"] for row in written] != names
    assert sorted(row["model_name_or_path"] for row in written) == sorted(names)
    turned = evaluate(rows[::-1], "run")
    assert turned.summary is not None
    assert turned.summary.jobs == 0
    assert [row["model_name_or_path"] for row in turned.results()] == names[::-1]


def test_answers_without_sample_are_numbered(
    evaluate: Callable[..., lmr.Run], caplog: pytest.LogCaptureFixture
) -> None:
    """Several answers of a model to an instance are its samples; only a repeated number is a duplicate."""
    row = {"instance_id": "toy-scale", "model_name_or_path": "m"}
    answers = [WRONG, TOY_ANSWER, TOY_ANSWER]
    rows = [{**row, "sample": 1, "function": WRONG}, *({**row, "function": answer} for answer in answers)]
    run = evaluate([*rows, {**rows[0], "function": TOY_ANSWER}])
    assert [(row["sample"], row["status"]) for row in run.results()] == [
        (1, "failed"),
        (0, "failed"),
        (2, "passed"),
        (3, "passed"),
    ]
    assert "2 rows without `sample` counted as further samples" in caplog.text
    assert run.summary is not None
    assert [str(bad) for bad in run.summary.bad_rows] == [
        "row 4: duplicate of row 0 (same instance, model, setting, track and sample)"
    ]


def test_instances_without_an_answer_are_said(
    toy_row: DatasetRow, evaluate: Callable[..., lmr.Run], caplog: pytest.LogCaptureFixture
) -> None:
    write_toys(Path("lmr-bench"), toy_row, "toy-a", "toy-b", "toy-c")
    row = {**ROWS[0], "instance_id": "toy-b"}
    run = evaluate([row])
    assert "2 of 3 instances: no answer, so they count as not passed; to leave them out" in caplog.text
    assert run.report().scores[0].overall.as_dict()["robust"]["share"] == 0.3333
    chosen = evaluate([row], instances=["toy-b"])
    assert chosen.report().scores[0].overall.as_dict()["robust"]["share"] == 1.0
    assert chosen.path.name.startswith("memory-")
    assert chosen.path != run.path


def test_each_selection_of_gold_has_a_folder(evaluate: Callable[..., lmr.Run], toy_row: DatasetRow) -> None:
    """`evaluate gold -i A`, then `-i C`: nobody named a folder, so nobody is told to name another."""
    write_toys(Path("lmr-bench"), toy_row, "toy-a", "toy-b")
    one, other, both = (evaluate("gold", instances=names) for names in (["toy-a"], ["toy-b"], ["toy-b", "toy-a"]))
    assert [run.complete for run in (one, other, both)] == [True] * 3
    assert evaluate("gold").path == Path("runs/gold")
    assert evaluate("gold", instances=["toy-a", "toy-b", "toy-a"]).path == both.path
    with pytest.raises(lmr.ArgumentError, match=r"different timeout_scale \(1.0, now 2.0\), and"):
        evaluate("gold", timeout_scale=2)
    for names, kept in ((["toy-b"], 0), ([], 1)):
        wider = evaluate("gold", out="wider", instances=names)
        assert (wider.summary and wider.summary.kept, wider.complete) == (kept, True)
    with pytest.raises(lmr.ArgumentError, match="wider holds a run that also covers toy-a; choose these `instances`"):
        evaluate("gold", out="wider", instances=["toy-b"])


def test_a_notebook_judges_inside_its_event_loop(
    evaluate: Callable[..., lmr.Run], model_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    model_server.judge = lambda request: opinion("LC")
    run = evaluate(ROWS)

    async def cell() -> lmr.Run:
        return lmr.judge(run, "judge-1", base_url=model_server.base_url)

    judged = asyncio.run(cell())
    assert judged.judging is not None
    assert judged.judging.complete
    assert set(judged.to_pandas()["judge"]) == {"LC"}
    report = lmr.report(judged)
    assert "LC" in report.to_markdown()
    assert report.save("report.html").read_text().startswith("<!doctype html>")


def test_mistakes_name_the_argument(evaluate: Callable[..., lmr.Run]) -> None:
    for options, message in (
        ({"instances": ["toy"]}, "instances: 'toy' is unknown"),
        ({"categories": ["x"]}, "categories: 'x' must be one of"),
        ({"out": __file__}, "out: .*: is not a run folder"),
        ({"out": "x" * 300}, "out: x+: the name is too long"),
    ):
        with pytest.raises(lmr.ArgumentError, match=message):
            evaluate(ROWS, **options)
    with pytest.raises(lmr.ArgumentError, match=r"sandbox: expected auto, .* or an open Sandbox or engine, not None"):
        lmr.evaluate(ROWS, sandbox=None)  # type: ignore[arg-type]
    with pytest.raises(lmr.InputError, match=r"no run\.json: no such folder"):
        lmr.open_run("x" * 300)
    with pytest.raises(lmr.InputError, match="must be a path or rows"):
        evaluate({"instance_id": "toy-scale"})
    for series in (pd.DataFrame(ROWS)["function"], pd.Series(ROWS[0])):
        with pytest.raises(lmr.InputError, match=r"no row can be evaluated \(row 0: a row must be a JSON object"):
            evaluate(series)
