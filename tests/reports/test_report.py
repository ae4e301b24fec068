"""Reports are recomputed from the result rows, give both rates, and show names as they are, whatever is in them."""

import csv
import itertools
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from lmrbench_data.base.errors import InputError
from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.reports import paired
from lmrbench_evaluate.reports.report import MAX_REASONS, make_report
from lmrbench_evaluate.reports.scores import score_runs
from lmrbench_evaluate.runs.folder import RunFolder
from lmrbench_evaluate.verdict.verdict import Status
from support.runs import SCOPE, command, result, two_levels, write_run


def report_dict(paths: Sequence[Path]) -> dict[str, Any]:
    return make_report(paths).to_dict()


def render_markdown(paths: Sequence[Path]) -> str:
    return make_report(paths).to_markdown()


# --- numbers ----------------------------------------------------------------------------------------------------------

statuses = st.sampled_from([str(status) for status in Status])
some_rows = st.lists(
    st.builds(
        two_levels,
        st.sampled_from([*SCOPE, "out-of-scope"]),
        statuses,
        statuses,
        model=st.sampled_from(["m", "n"]),
        sample=st.integers(0, 2),
        setting=st.sampled_from(["", "agent"]),
        track=st.sampled_from(["paper", "contract", "unstated"]),
    ),
    max_size=25,
)


@settings(max_examples=30, deadline=None)
@given(some_rows)
def test_totals_are_those_of_the_rows(tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]) -> None:
    """Against a second, simpler computation: the last row of each prediction, the same weight for each instance."""

    def key(row: dict[str, Any]) -> tuple[str, ...]:
        return row["model_name_or_path"], row["setting"], row["track"]

    path = write_run(tmp_path_factory.mktemp("run"), rows)
    last = {(key(row), row["instance_id"], row["sample"]): row for row in rows if row["instance_id"] in SCOPE}
    scores = report_dict([path])["scores"]
    assert {key(score) for score in scores} == {of for of, *_ in last}
    for score in scores:
        mine = {(name, sample): row for (of, name, sample), row in last.items() if of == key(score)}
        samples = max(Counter(name for name, _ in mine).values())
        overall = score["overall"]
        graded = sum(row["status"] != "infra_error" for row in mine.values())
        assert (overall["total"], overall["graded"]) == (samples * len(SCOPE), graded)
        assert sum(overall["outcomes"].values()) == overall["total"]
        assert overall["outcomes"].get("missing", 0) == samples * len(SCOPE) - len(mine)
        assert score["complete"] == (graded == len(mine))
        for level, column in (("reproduced", "core_status"), ("robust", "status")):
            passed = [
                name for (name, _), row in mine.items() if row[column] == "passed" and row["status"] != "infra_error"
            ]
            assert overall[level]["count"] == len(passed)
            assert overall[level]["share"] == round(len(passed) / (samples * len(SCOPE)), 4)
            assert overall[level]["share_of_graded"] == (round(len(passed) / graded, 4) if graded else None)
            for category in ("Alpha", "Beta"):
                members = [name for name, of in SCOPE.items() if of == category]
                here = score["categories"][category]
                assert here["total"] == samples * len(members)
                assert here[level]["count"] == sum(name in members for name in passed)
        for name in SCOPE:
            assert sum(score["instances"][name].values()) == samples


def test_summary_of_a_small_run(tmp_path: Path) -> None:
    """Once with all numbers written out, on rows without levels: one passed, one infra error, one not predicted."""
    path = write_run(tmp_path / "run", [result("a-one", "passed"), result("a-two", "infra_error")], complete=False)
    [score] = report_dict([path])["scores"]
    level = {"count": 1, "share": 0.3333, "ci95": [0.0615, 0.7923], "share_of_graded": 1.0}
    assert score["overall"] == {
        "total": 3,
        "graded": 1,
        "reproduced": level,
        "robust": level,
        "outcomes": {"robust": 1, "infra_error": 1, "missing": 1},
        "judge": None,
    }
    assert (score["track"], score["headline"], score["complete"]) == ("unstated", "robust", False)
    text = render_markdown([path])
    assert "**incomplete**" in text
    numbers = "33.3% (1/3) | 6 - 79"
    assert f"| m \\[incomplete\\] | unstated | {numbers} | {numbers} |" in text
    assert "| m | 1 | 0 | 1 | 1 |" in text
    assert "| b-one |" not in text, "folded into one line"
    assert "| a-two | m | INFRA | first, seed 0: why infra\\_error |" in text


def test_two_levels_stand_apart_and_each_track_is_led_by_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Model x reproduces more, y is more often robust: x leads the paper track, y the contract track."""
    monkeypatch.setattr(paired, "MIN_SHARED", 1)

    def answers(model: str, track: str, *pairs: tuple[str, str]) -> list[dict[str, Any]]:
        return [two_levels(name, *pair, model=model, track=track) for name, pair in zip(SCOPE, pairs, strict=True)]

    core_only, all_pass, wrong = ("passed", "failed"), ("passed", "passed"), ("error", "passed")
    rows = [
        row
        for track in ("contract", "paper")
        for model, each in (("x", (core_only, core_only, core_only)), ("y", (all_pass, all_pass, wrong)))
        for row in answers(model, track, *each)
    ]
    path = write_run(tmp_path / "run", rows)
    made = report_dict([path])
    order = [f"{score['track']} {score['model_name_or_path']}" for score in made["scores"]]
    assert order == ["paper x", "paper y", "contract y", "contract x"]
    text = render_markdown([path])
    assert "| x | paper | 100.0% (3/3) | 44 - 100 | 0.0% (0/3) | 0 - 56 |" in text
    assert "| y | contract | 66.7% (2/3) | 21 - 94 | 66.7% (2/3) | 21 - 94 |" in text
    assert "| Alpha | 2/2 (0) | 2/2 | 2/2 | 2/2 (0) |" in text
    assert "| a-one | x | core only | odd, seed 0: why |" in text, "the contract case that failed"
    assert "| b-one | y | error | typical, seed 0: why |" in text, "the core case that failed"
    assert "An answer reproduces the paper if every core case passes" in text
    by_level = {
        pair["level"]: (pair["first_better"], pair["second_better"], pair["equal"])
        for pair in made["pairs"]
        if (pair["first"], pair["second"]) == ("x, paper", "y, paper")
    }
    assert by_level == {"reproduced": (1, 0, 2), "robust": (0, 2, 1)}


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
    RunFolder(path).predictions.write([new])
    [score] = score_runs([path])
    assert dict(score.overall.outcomes) == {"robust": 1, "missing": 2}
    (path / "predictions.jsonl").unlink()
    [score] = score_runs([path])
    assert dict(score.overall.outcomes) == {"failed": 1, "robust": 1, "missing": 1}, "then the last row of each counts"


def test_several_runs_stand_side_by_side(tmp_path: Path) -> None:
    first = write_run(tmp_path / "x" / "run", [result(name, "passed") for name in SCOPE])
    second = write_run(tmp_path / "y" / "run", [result(name, "failed") for name in SCOPE], official_sandbox=False)
    third = write_run(tmp_path / "other", [result("a-one", "passed", model="n", setting="agent")])
    text = render_markdown([first, second, third])
    runs = [f"{first}: m", "n (agent)", f"{second}: m"]
    assert f"| category | {' | '.join(runs)} |".replace("_", "\\_") in text
    assert "| Alpha | 2/2 | 1/2 | 0/2 |" in text
    assert "| a-one | robust | robust | failed |" in text
    assert "| b-one | robust | missing | failed |" in text
    assert text.count("not for a leaderboard") == 1
    made = report_dict([first, second, third])
    assert [score["run"] for score in made["scores"]] == [str(first), "other", str(second)]
    assert json.loads(command(first, third, "--json").stdout) == report_dict([first, third])


def test_samples_and_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rates average over instances; pairs take first samples, leave infra errors out, and count missing as failed."""
    monkeypatch.setattr(paired, "MIN_SHARED", 1)
    verdicts = {"a-one": ["passed", "failed"], "a-two": ["failed", "passed"], "b-one": ["failed"]}
    rows = [
        result(name, status, sample=number) for name, each in verdicts.items() for number, status in enumerate(each)
    ]
    many = write_run(tmp_path / "many", rows)
    other = [result("a-one", "failed", model="n"), result("a-two", "infra_error", model="n")]
    made = report_dict([many, write_run(tmp_path / "single", other)])
    first, _ = made["scores"]
    assert (first["samples"], first["pass_at_k"]["robust"]) == (2, {"1": 0.3333, "2": 0.6667})
    assert first["overall"]["robust"]["ci95"] == [0.0615, 0.7923], "of 3 instances, not of 6 rows"
    numbers = {"first_better": 1, "second_better": 0, "equal": 1, "difference": 0.25, "p": 1.0, "p_holm": 1.0}
    numbers |= {"unit": 0.5, "noise_floor": None}
    pair = {"first": "m", "second": "n", "instances": 2, **numbers, "ci95": [-0.1991, 0.4491]}
    assert made["pairs"] == [{"level": level, **pair} for level in ("reproduced", "robust")]
    text = render_markdown([many, tmp_path / "single"])
    assert "| m | n | 2 | 1 | 0 | +25.0 | -20 - 45 | - | 1 | 1 |" in text
    assert "permutation test on each instance's share of samples" in text
    assert "| a-one | 1/2 | failed |" in text
    assert "| b-one | 0/1, 1 missing | missing |" in text
    assert "| m | robust | pass@k | 33.3% (6 - 79) | 66.7% (21 - 94) |" in text
    assert "| m | robust | pass^k | 33.3% (6 - 79) | 0.0% (0 - 56) |" in text


def test_runs_on_two_datasets_or_configurations_are_refused(tmp_path: Path) -> None:
    one = write_run(tmp_path / "one", [result("a-one", "passed")])
    for config, number in (("function", "1"), ("method", "0")):
        facts = {"dataset_sha256": number * 64, "config": config, "benchmark_version": "2.0"}
        other = write_run(tmp_path / config, [result("a-one", "passed")], **facts)
        done = command(one, other)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        where = f"{one} is on function of embedded 1.0 (000000000000), {other} is on {config} of embedded 2.0"
        assert where in done.stderr


def test_cost_tokens_and_time_come_from_metadata_and_a_success_has_its_price(tmp_path: Path) -> None:
    """All that is spent counts, for wrong answers too; an answer that names no cost is no free success."""
    passed, failed = "passed", "failed"
    usage = {"prompt_tokens": 1000, "completion_tokens": 10}
    stated: list[tuple[Any, str, str]] = [
        ({"cost_usd": 0.5, "cpu_s": 3, "usage": usage, "duration_s": 2}, passed, passed),
        ({"cost": 0.25, "input_tokens": 3000, "cpu_s": 6}, passed, failed),
        ({"cost_usd": 0.25, "cpu_s": 90}, failed, failed),
        ({"cost_usd": -1, "input_tokens": True, "duration_s": "long", "usage": []}, passed, passed),
        (None, passed, passed),
    ]
    rows, predictions = [], []
    for number, (metadata, core, contract) in enumerate(stated):
        prediction = Prediction("a-one", "m", "function", f"x = {number}", number, "", "paper", metadata)
        predictions.append(prediction)
        changes = {"sample": number, "prediction_sha256": prediction.sha256}
        rows.append(two_levels("a-one", core, contract, **changes))
    free = Prediction("a-one", "free", "function", "x", metadata={"input_tokens": 5})
    rows.append(result("a-one", "passed", model="free", prediction_sha256=free.sha256))
    run = write_run(tmp_path / "run", rows)
    RunFolder(run).predictions.write([*predictions, free])
    score, free_score = report_dict([run])["scores"]
    assert score["spending"] == {
        "cost_usd": {"sum": 1.0, "answers": 3, "per_reproduced": 0.5, "per_robust": 1.0},
        "input_tokens": {"sum": 4000.0, "answers": 2, "per_reproduced": 2000.0, "per_robust": 4000.0},
        "output_tokens": {"sum": 10.0, "answers": 1, "per_reproduced": 10.0, "per_robust": 10.0},
        "duration_s": {"sum": 2.0, "answers": 1, "per_reproduced": 2.0, "per_robust": 2.0},
        "cpu_s": {"sum": 99.0, "answers": 3, "per_reproduced": 49.5, "per_robust": 99.0},
    }
    assert "cost_usd" not in free_score["spending"]
    cells = ["0.3333", "2,000", "10", "2.0", "33.0", "1.00 for 3 answers", "0.5000", "1.0000"]
    text = render_markdown([run])
    assert f"| m, paper | {' | '.join(cells)} |" in text
    assert "| free, unstated | - | 5 | - | - | - | - | - | - |" in text
    assert "dollars per reproduced | dollars per robust |" in text
    page = make_report([run]).to_html()
    assert all(cell in page for cell in cells)


def test_csv_has_a_row_for_each_answer(tmp_path: Path) -> None:
    names = ["=cmd()", 'a,"b" c', " +1", "＠x", "\x1b[31m\n", "\t-1"]
    rows = [result("a-one", "passed", model=name, setting=name) for name in names]
    path = write_run(tmp_path / "run", rows, scope={"a-one": "=Alpha"}, difficulties={"a-one": "\n@easy"})
    for name in ("out.csv", "out.json", "out.md"):
        assert command(path, "--out", tmp_path / name).returncode == 0
    assert json.loads((tmp_path / "out.json").read_text()) == report_dict([path])
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    safe = {"'=cmd()", names[1], "'+1", "'＠x", "\ufffd[31m", "'-1"}
    for column in ("model_name_or_path", "setting"):
        assert {row[column] for row in rows} == safe, "no formula in a spreadsheet, no escape in a terminal"
    named = ("run", "instance_id", "category", "difficulty", "status", "judge")
    assert {tuple(row[name] for name in named) for row in rows} == {("run", "a-one", "'=Alpha", "'@easy", "passed", "")}


def test_many_failures_are_counted_and_pass_at_k_goes_up_to_all_samples(tmp_path: Path) -> None:
    statuses = ["passed", *["failed"] * (MAX_REASONS + 7)]
    rows = [result("a-one", status, sample=number) for number, status in enumerate(statuses)]
    report = make_report([write_run(tmp_path, rows, scope={"a-one": "Alpha"})])
    text = report.to_markdown()
    assert text.count("why failed") == MAX_REASONS
    assert "7 more are in results.jsonl." in text
    rates = report.to_dict()["scores"][0]["pass_at_k"]["robust"]
    assert rates == {str(k): round(k / len(rows), 4) for k in (1, 2, 5, 10, 20, 50, 100, len(rows))}


def test_run_without_results_has_no_scores(tmp_path: Path) -> None:
    path = write_run(tmp_path, [])
    assert command(path).stdout == "no results yet\n"
    (path / "results.jsonl").unlink()
    assert report_dict([path])["scores"] == []
    with pytest.raises(InputError, match=r"no run\.json"):
        score_runs([tmp_path / "nowhere"])


# --- names ------------------------------------------------------------------------------------------------------------

HOSTILE = [
    "a|b",
    "a\\|b\\",
    "`code` ``|``",
    "<script>alert(1)</script>",
    "<!-- comment",
    "[text](http://example.org) ![image](http://example.org/x.png)",
    "**bold** _it_ ~~no~~ $x$",
    "a\nb\n\n# heading &lt;&#124;",
    "a\r\n| x | y |",
    "\x1b[2J\x1b]0;title\x07red",
    "\x9b31m",
    "right\u202eleft",
    "half \ud800 pair",
    "[bold red]markup[/] :warning: 100%",
    "數模型 é 🎉",
]
#: Types of tokens that no name may become.
MARKUP = ("link_open", "image", "html_inline", "html_block", "code_inline", "code_block", "s_open", "fence")


@pytest.mark.parametrize("name", HOSTILE, ids=repr)
def test_names_cannot_break_markdown(name: str, tmp_path: Path) -> None:
    """Parsed as GitHub does: every table keeps its cells, and the name is text in them."""
    row = result("a-one", "failed", model=name, setting=name)
    row["cases"][0]["detail"] = name
    choice = {"name": "c", "option": "o", "reading": "stated", "options": 2, "published": True}
    row["choices"] = [{**choice, "altered": number, "open": not number} for number in (True, False)]
    path = write_run(tmp_path, [row], run_id=name, dataset=name)
    prediction = Prediction("a-one", name, "function", "x", setting=name, metadata={"finish_reason": "length"})
    RunFolder(path).predictions.write([prediction])
    row["prediction_sha256"] = prediction.sha256
    write_run(path, [row], run_id=name, dataset=name, scope={"a-one": "Alpha", "a-two": "Alpha", name: "Beta"})
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(render_markdown([path]))
    kinds = {child.type for token in tokens for child in [token, *(token.children or ())]}
    assert not kinds.intersection(MARKUP)
    assert sum(token.type == "heading_open" for token in tokens) == 8
    cells: list[list[str]] = []
    for token, inside in itertools.pairwise(tokens):
        if token.type == "tr_open":
            cells.append([])
        elif token.type in ("td_open", "th_open"):
            cells[-1].append("".join(child.content for child in inside.children or ()))
    shown, first_line = as_shown(name), as_shown(name.partition("\n")[0])
    level = ["0.0% (0/3)", "0 - 56"]
    assert [f"{shown} ({shown})", "unstated", *level, *level] in cells
    assert ["category", shown] in cells
    text = [token.content for token in tokens if token.type == "inline"]
    assert sum("cut at the token limit" in note or ("of the" in note and "choices" in note) for note in text) >= 3
    assert ["a-one", shown, "failed", f"first, seed 0: {first_line}"] in cells


def as_shown(text: str) -> str:
    """On one line, and without invisible characters."""
    return "".join(char if char.isprintable() else "\ufffd" for char in " ".join(text.split()))


def test_names_send_no_control_sequence_to_the_terminal(tmp_path: Path) -> None:
    rows = [result("a-one", "failed", model=name, setting=name) for name in HOSTILE]
    text = command(write_run(tmp_path, rows, bad_rows=["\x1b[2J"])).stdout
    assert "[bold red]markup" in text
    assert not [char for char in ("\x1b", "\x9b", "\u202e", "\x07") if char in text]


def test_models_and_agents_are_crossed(tmp_path: Path) -> None:
    rows = [
        result("a-one", "passed"),
        result("a-one", "failed", setting="agent:codex"),
        result("a-one", "passed", model="n", setting="agent:codex"),
    ]
    write_run(tmp_path / "run", rows)
    text = render_markdown([tmp_path / "run"])
    assert "| model | track | standard | agent:codex |" in text
    assert "| m | unstated | 33.3% | 0.0% |\n| n | unstated | - | 33.3% |" in text
