"""Reports are recomputed from the result rows, give both rates, and show names as they are, whatever is in them."""

import contextlib
import csv
import io
import itertools
import json
import os
import pty
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import warm_cli
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from lmrbench_data.errors import InputError
from lmrbench_data.evaluate.predictions import Prediction, PredictionFile
from lmrbench_data.evaluate.reports.report import make_report
from lmrbench_data.evaluate.reports.scores import ModelScore, score_runs
from lmrbench_data.evaluate.reports.text import MAX_REASONS
from lmrbench_data.evaluate.verdict import Status

SCOPE = {"a-one": "Alpha", "a-two": "Alpha", "b-one": "Beta"}


def result(instance_id: str, status: str, *, model: str = "m", **changes: Any) -> dict[str, Any]:
    """A row of results.jsonl with one case."""
    case = {"name": "first", "seed": 0, "status": status, "detail": f"why {status}\nmore"}
    row = {"instance_id": instance_id, "model_name_or_path": model, "setting": "", "sample": 0, "status": status}
    return {**row, "prediction_sha256": "x", "detail": "", "cases": [case], **changes}


def write_run(folder: Path, rows: Sequence[dict[str, Any]], **facts: Any) -> Path:
    """A run folder as `lmrbench evaluate` leaves it."""
    folder.mkdir(parents=True, exist_ok=True)
    every = {
        "run_id": f"{folder.name}-1",
        "dataset": "embedded",
        "dataset_sha256": "0" * 64,
        "benchmark_version": "1.0",
        "harness_version": "0.1",
        "sandbox": "docker",
        "official_sandbox": True,
        "timeout_scale": 1.0,
        "fresh_seed_count": 0,
        "scope": SCOPE,
        "started_at": "2026-01-01T00:00:00+00:00",
        "complete": True,
    }
    (folder / "run.json").write_text(json.dumps({**every, **facts}))
    (folder / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def report_dict(paths: Sequence[Path]) -> dict[str, Any]:
    return make_report(paths).to_dict()


def render_markdown(paths: Sequence[Path]) -> str:
    return make_report(paths).to_markdown()


def score_run(path: Path) -> list[ModelScore]:
    return score_runs([path])


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-c", "from lmrbench_data.cli import main; main()", "report", *map(str, arguments)]
    return warm_cli.run(program, capture_output=True, text=True)


# --- numbers ----------------------------------------------------------------------------------------------------------

statuses = st.sampled_from([str(status) for status in Status])
some_rows = st.lists(
    st.builds(
        lambda instance_id, status, model, sample, setting: result(
            instance_id, status, model=model, sample=sample, setting=setting
        ),
        st.sampled_from([*SCOPE, "out-of-scope"]),
        statuses,
        st.sampled_from(["m", "n"]),
        st.integers(0, 2),
        st.sampled_from(["", "agent"]),
    ),
    max_size=25,
)


@settings(max_examples=30, deadline=None)
@given(some_rows)
def test_totals_are_those_of_the_rows(tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]) -> None:
    """Against a second, simpler computation: the last row of each prediction, the same weight for each instance."""
    path = write_run(tmp_path_factory.mktemp("run"), rows)
    last = {(r["model_name_or_path"], r["setting"], r["instance_id"], r["sample"]): r["status"] for r in rows}
    last = {key: status for key, status in last.items() if key[2] in SCOPE}
    scores = report_dict([path])["scores"]
    assert {(s["model_name_or_path"], s["setting"]) for s in scores} == {key[:2] for key in last}
    for score in scores:
        mine = {key[2:]: s for key, s in last.items() if key[:2] == (score["model_name_or_path"], score["setting"])}
        samples = max(Counter(instance_id for instance_id, _ in mine).values())
        overall = score["overall"]
        passed = sum(status == "passed" for status in mine.values())
        graded = sum(status != "infra_error" for status in mine.values())
        assert overall["total"] == samples * len(SCOPE)
        assert (overall["passed"], overall["graded"]) == (passed, graded)
        assert overall["accuracy"] == round(passed / (samples * len(SCOPE)), 4)
        assert overall["accuracy_of_graded"] == (round(passed / graded, 4) if graded else None)
        assert sum(overall["statuses"].values()) == overall["total"]
        assert overall["statuses"].get("missing", 0) == samples * len(SCOPE) - len(mine)
        assert score["complete"] == ("infra_error" not in mine.values())
        for category in ("Alpha", "Beta"):
            members = [name for name, of in SCOPE.items() if of == category]
            here = score["categories"][category]
            assert here["total"] == samples * len(members)
            assert here["passed"] == sum(s == "passed" for (name, _), s in mine.items() if name in members)
        for name in SCOPE:
            assert sum(score["instances"][name].values()) == samples


def test_summary_of_a_small_run(tmp_path: Path) -> None:
    """Once with all numbers written out: one passed, one infra error, one without prediction."""
    path = write_run(tmp_path / "run", [result("a-one", "passed"), result("a-two", "infra_error")], complete=False)
    [score] = report_dict([path])["scores"]
    assert score["overall"] == {
        "total": 3,
        "passed": 1,
        "graded": 1,
        "accuracy": 0.3333,
        "accuracy_ci95": [0.0615, 0.7923],
        "accuracy_of_graded": 1.0,
        "statuses": {"passed": 1, "infra_error": 1, "missing": 1},
        "judge": None,
    }
    assert not score["complete"]
    text = render_markdown([path])
    assert "**incomplete**" in text
    assert "| m \\[incomplete\\] | 1/3 | 33.3 % | 6.1 - 79.2 | 100.0 % | 1 | 1 |" in text
    assert "| a-two | m | infra\\_error | first, seed 0: why infra\\_error |" in text


def test_rows_count_once_and_only_for_predictions_of_the_run(tmp_path: Path) -> None:
    """A resumed run appends rows; predictions may have been changed or taken away since."""
    old, new = Prediction("a-one", "m", "function", "old"), Prediction("a-one", "m", "function", "new")
    gone = Prediction("a-two", "m", "function", "gone")
    rows = [
        result("a-one", "infra_error", prediction_sha256=new.sha256),
        result("a-one", "passed", prediction_sha256=new.sha256),
        result("a-one", "failed", prediction_sha256=old.sha256),
        result("a-two", "passed", prediction_sha256=gone.sha256),
    ]
    path = write_run(tmp_path, rows)
    with (path / "predictions.jsonl").open("wb") as file:
        PredictionFile.append(file, new)
    [score] = score_run(path)
    assert dict(score.overall.counts) == {"passed": 1, "missing": 2}
    (path / "predictions.jsonl").unlink()
    [score] = score_run(path)
    assert dict(score.overall.counts) == {"failed": 1, "passed": 1, "missing": 1}, "the last of each row then"


def test_several_runs_stand_side_by_side(tmp_path: Path) -> None:
    first = write_run(tmp_path / "x" / "run", [result(name, "passed") for name in SCOPE])
    second = write_run(tmp_path / "y" / "run", [result(name, "failed") for name in SCOPE], official_sandbox=False)
    third = write_run(tmp_path / "other", [result("a-one", "passed", model="n", setting="agent")])
    text = render_markdown([first, second, third])
    runs = [f"{first}: m", f"{second}: m", "n (agent)"]
    assert f"| category | {' | '.join(runs)} |".replace("_", "\\_") in text
    assert "| Alpha | 2/2 | 0/2 | 1/2 |" in text
    assert "| a-one | pass | fail | pass |" in text
    assert "| b-one | pass | fail | missing |" in text
    assert text.count("not for a leaderboard") == 1
    assert [score["run"] for score in report_dict([first, second, third])["scores"]] == [
        str(first),
        str(second),
        "other",
    ]
    done = command(first, third, "--out", tmp_path / "deep" / "report.md")
    assert done.returncode == 0
    assert (tmp_path / "deep" / "report.md").read_text() == render_markdown([first, third])
    assert json.loads(command(first, third, "--json").stdout) == report_dict([first, third])


def test_samples_and_pairs(tmp_path: Path) -> None:
    """pass@k averages over instances; pairs take first samples, leave infra errors out and count missing as failed."""
    verdicts = {"a-one": ["passed", "failed"], "a-two": ["failed", "passed"], "b-one": ["failed"]}
    rows = [
        result(name, status, sample=number) for name, each in verdicts.items() for number, status in enumerate(each)
    ]
    many = write_run(tmp_path / "many", rows)
    other = [result("a-one", "failed", model="n"), result("a-two", "infra_error", model="n")]
    made = report_dict([many, write_run(tmp_path / "single", other)])
    first, second = made["scores"]
    assert (first["samples"], first["pass_at_k"]) == (2, {"1": 0.3333, "2": 0.6667})
    assert first["overall"]["accuracy_ci95"] == [0.0615, 0.7923], "of 3 instances, not of 6 rows"
    assert second["pass_at_k"] == {}
    assert made["pairs"] == [
        {
            "first": "m",
            "second": "n",
            "instances": 2,
            "both": 0,
            "only_first": 1,
            "only_second": 0,
            "neither": 1,
            "p": 1.0,
            "p_holm": 1.0,
        }
    ]
    assert "| m | n | 2 | 0 | 1 | 0 | 1 | 1 | 1 |" in render_markdown([many, tmp_path / "single"])


def test_csv_has_a_row_for_each_answer(tmp_path: Path) -> None:
    names = ["=cmd()", 'a,"b"\nc']
    path = write_run(tmp_path / "run", [result("a-one", "passed", model=name) for name in names])
    done = command(path, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {row["model_name_or_path"] for row in rows} == {"'=cmd()", names[1]}, "no formula in a spreadsheet"
    assert {(row["run"], row["instance_id"], row["category"], row["status"], row["judge"]) for row in rows} == {
        ("run", "a-one", "Alpha", "passed", "")
    }
    for name in ("out.csv", "out.json", "out.md"):
        assert command(path, "--out", tmp_path / name).returncode == 0
    assert (tmp_path / "out.csv").read_text() == done.stdout
    assert json.loads((tmp_path / "out.json").read_text()) == report_dict([path])


def test_many_failures_are_counted_not_listed(tmp_path: Path) -> None:
    rows = [result("a-one", "failed", sample=number) for number in range(MAX_REASONS + 7)]
    text = render_markdown([write_run(tmp_path, rows)])
    assert text.count("why failed") == MAX_REASONS
    assert "7 more are in results.jsonl." in text


def test_no_results_yet(tmp_path: Path) -> None:
    path = write_run(tmp_path, [])
    assert command(path).stdout == "no results yet\n"
    (path / "results.jsonl").unlink()
    assert report_dict([path])["scores"] == []
    with pytest.raises(InputError, match=r"no run\.json"):
        score_run(tmp_path / "nowhere")


# --- names ------------------------------------------------------------------------------------------------------------

HOSTILE = [
    "a|b",
    "a\\|b",
    "a\\",
    "`code`",
    "``|``",
    "<script>alert(1)</script>",
    "<!-- comment",
    "[text](http://example.org)",
    "![image](http://example.org/x.png)",
    "**bold** _it_ ~~no~~ $x$",
    "&lt;&#124;",
    "a\nb\n\n# heading",
    "a\r\n| x | y |",
    "\x1b[2J\x1b]0;title\x07red",
    "\x9b31m",
    "right\u202eleft",
    "half \ud800 pair",
    "[bold red]markup[/]",
    ":warning: 100 %",
    "數模型 é 🎉",
]


@pytest.mark.parametrize("name", HOSTILE, ids=repr)
def test_names_cannot_break_markdown(name: str, tmp_path: Path) -> None:
    """Parsed as GitHub does: every table keeps its cells, and the name is text in them."""
    row = result("a-one", "failed", model=name, setting=name)
    row["cases"][0]["detail"] = name
    path = write_run(tmp_path, [row], run_id=name, dataset=name)
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(render_markdown([path]))
    kinds = {child.type for token in tokens for child in [token, *(token.children or ())]}
    assert not kinds & {
        "link_open",
        "image",
        "html_inline",
        "html_block",
        "code_inline",
        "code_block",
        "s_open",
        "fence",
    }
    assert sum(token.type == "heading_open" for token in tokens) == 5
    cells: list[list[str]] = []
    for token, inside in itertools.pairwise(tokens):
        if token.type == "tr_open":
            cells.append([])
        elif token.type in ("td_open", "th_open"):
            cells[-1].append("".join(child.content for child in inside.children or ()))
    shown, first_line = as_shown(name), as_shown(name.partition("\n")[0])
    assert [f"{shown} ({shown})", "0/3", "0.0 %", "0.0 - 56.1", "0.0 %", "1", "2"] in cells
    assert ["category", f"{shown} ({shown})"] in cells
    assert ["a-one", shown, "failed", f"first, seed 0: {first_line}"] in cells


def as_shown(text: str) -> str:
    """On one line, and without what no reader can see."""
    return "".join(char if char.isprintable() else "\ufffd" for char in " ".join(text.split()))


@pytest.mark.parametrize("is_terminal", [False, True])
def test_names_cannot_reach_the_terminal(is_terminal: bool, tmp_path: Path) -> None:
    rows = [result("a-one", "failed", model=name, setting=name) for name in HOSTILE]
    path = write_run(tmp_path, rows, bad_rows=["\x1b[2J"])
    program = [sys.executable, "-c", "from lmrbench_data.cli import main; main()", "report", str(path)]
    environment = {**os.environ, "COLUMNS": "200", "TERM": "xterm-256color"}
    if is_terminal:
        master, slave = pty.openpty()
        process = subprocess.Popen(program, stdout=slave, stderr=slave, env=environment)
        os.close(slave)
        output = b""
        with contextlib.suppress(OSError):  # how Linux says that the other end is closed
            while chunk := os.read(master, 65536):
                output += chunk
        assert process.wait() == 0
    else:
        output = subprocess.run(program, capture_output=True, env=environment, check=True).stdout
    text = output.decode()
    assert "[bold red]markup" in text
    for forbidden in ("\x1b[2J", "\x1b]0;", "\x9b", "\u202e", "\x07"):
        assert forbidden not in text
    assert is_terminal or "\x1b" not in text
