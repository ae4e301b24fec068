"""`lmrbench generate` and `run` against a loopback server: settings, rows, faults, resuming, the way to a report."""

import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

import lmrbench as lmr
from lmrbench.generation.prompt import SETTINGS, build_prompt, prompt_version
from lmrbench.generation.sampling import sample
from lmrbench.generation.settings import SamplingSettings
from lmrbench_data.base.errors import ArgumentError, InputError
from lmrbench_data.base.names import MAX_NAME
from lmrbench_data.dataset.build import write_dataset
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import METHOD, read_archive
from lmrbench_data.tasks.manifest import load_benchmark
from support.command_line import in_process
from support.openai_server import Reply, Server, completion
from support.toy import TOY_ANSWER, json_lines, write_toys

PAPER = "Each number is multiplied by a factor."


@pytest.fixture
def server(model_server: Server) -> Server:
    model_server.judge = lambda request: TOY_ANSWER
    return model_server


@pytest.fixture
def toy(toy_row: DatasetRow, tmp_path: Path) -> Path:
    """A dataset of three instances that are the toy task under other names."""
    return write_toys(tmp_path / "toy", toy_row, "toy-a", "toy-b", "toy-c")


def shown(row: DatasetRow, **options: Any) -> str:
    return build_prompt(row, paper=PAPER, **options).messages[1]["content"]


def test_setting_shows_its_parts_in_order(toy_row: DatasetRow) -> None:
    """The settings are those of the paper: Section 4.1 and the ablations of Section 5.2."""
    masked = read_archive(toy_row["repo_archive"])["scale.py"].data.decode()
    helper, readme = "OFFSET = 0.0", "Run `python scale.py`"
    seen = {
        setting: [part in shown(toy_row, setting=setting) for part in (PAPER, masked.strip(), helper, readme)]
        for setting in SETTINGS
    }
    assert seen == {
        "standard": [True, True, True, False],
        "paper-only": [True, False, False, False],
        "paper+goal-file": [True, True, False, False],
        "full-repo": [True, True, True, True],
    }
    for setting in SETTINGS:
        for track in ("paper", "contract"):
            text = shown(toy_row, setting=setting, track=track)
            assert toy_row["instruction"].strip() in text
            assert (toy_row["contract"].strip() in text) is (track == "contract")
            assert "scaled = [" not in text
    order = [shown(toy_row).index(part) for part in (masked.strip(), PAPER, toy_row["instruction"].strip(), helper)]
    assert order == sorted(order), "the order of Appendix D"
    with pytest.raises(ArgumentError, match="'everything' is unknown"):
        build_prompt(toy_row, setting="everything")


def test_long_prompt_is_cut_by_rule_and_recorded(toy_row: DatasetRow) -> None:
    paper = "".join(f"Sentence {number}. " for number in range(2000))
    whole = build_prompt(toy_row, paper=paper)
    assert whole.cut == ()
    smaller = build_prompt(toy_row, paper=paper, max_tokens=whole.tokens - 1)
    assert smaller.cut == ("file helpers.py",)
    half = build_prompt(toy_row, paper=paper, max_tokens=whole.tokens // 2)
    assert half.cut[0] == "file helpers.py"
    assert re.fullmatch(r"paper after its first [1-5] tenths", half.cut[-1])
    text = half.messages[1]["content"]
    assert "Sentence 0." in text
    assert "Sentence 1999." not in text
    assert "[the rest of the paper was left out]" in text
    assert toy_row["instruction"].strip() in text
    for options in ({"max_tokens": 100}, {"cuts": 12}):
        with pytest.raises(InputError, match="toy-scale: request and goal file alone take"):
            build_prompt(toy_row, paper=paper, **options)
    assert not build_prompt(toy_row, paper=paper, cuts=11).can_be_cut


@pytest.mark.parametrize("names", [{"context_files": ["none.py"]}, {"goal_file": "none.py"}])
def test_row_that_names_a_missing_file_is_one_line(toy_row: DatasetRow, names: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"toy-scale: its repository has no file 'none[.]py'; load the dataset"):
        build_prompt({**toy_row, **names})  # type: ignore[typeddict-item]


def test_rows_record_prompt_cost_and_parameters(server: Server, toy: Path, tmp_path: Path) -> None:
    server.judge = lambda request: f"Here it is:\n\n```python\n{TOY_ANSWER}```\n"
    out, prices = tmp_path / "out" / "p.jsonl", tmp_path / "prices.yaml"
    prices.write_text(yaml.safe_dump({"m": {"input_per_mtok": 1.0, "output_per_mtok": 10.0}}))
    summary = lmr.generate(
        *("m", out), base_url=server.base_url, samples=2, temperature=0.8, prices=prices, dataset=str(toy), workers=3
    )
    assert (summary.asked, summary.kept, summary.complete, summary.unusable) == (6, 0, True, 0)
    assert summary.cost_usd == pytest.approx(6 * 0.002)
    rows = json_lines(out)
    assert {(row["instance_id"], row["sample"]) for row in rows} == {(f"toy-{n}", k) for n in "abc" for k in (0, 1)}
    first = rows[0]
    assert (first["track"], first["model_name_or_path"]) == ("paper", "m")
    assert first["function"].startswith("Here it is"), "the raw answer: evaluation finds the code in it"
    facts = first["metadata"]
    assert "problem" not in facts
    assert first["setting"] == "standard, temperature 0.8"
    assert (facts["temperature"], facts["finish_reason"], facts["cost_usd"]) == (0.8, "stop", pytest.approx(0.002))
    assert (facts["input_tokens"], facts["output_tokens"], facts["cut"]) == (1000, 100, [])
    asked = len(server.requests)
    again = lmr.generate("m", out, base_url=server.base_url, samples=3, temperature=0.8, dataset=str(toy))
    assert (again.kept, again.asked) == (6, 3)
    assert len(server.requests) == asked + 3, "nothing is asked twice"
    lmr.generate("m", out, base_url=server.base_url, track="contract", dataset=str(toy))
    assert Counter(row["track"] for row in json_lines(out)) == {"paper": 9, "contract": 3}
    run = lmr.evaluate(str(out), tmp_path / "run", dataset=str(toy), sandbox="local")
    assert run.complete


def test_answers_of_other_settings_are_refused_and_not_reused(server: Server, toy: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"model": "m", "base_url": server.base_url, "dataset": str(toy), "instances": ["toy-a"]}
    options["out"] = tmp_path / "p.jsonl"
    assert lmr.generate(**options).asked == 1
    others = {"paper": "none", "temperature": 0.5, "max_tokens": 900, "base_url": "http://127.0.0.1:1/v1"}
    for name, value in others.items():
        with pytest.raises(ArgumentError, match=rf"p\.jsonl holds answers of 'm' for other .*{name} was "):
            lmr.generate(**{**options, name: value})
    assert len(server.requests) == 1
    assert lmr.generate(**options).kept == 1


@pytest.mark.parametrize("wrong", [{"sample": [1]}, {"setting": {}}, {"model_name_or_path": None}])
def test_damaged_row_of_the_file_is_one_line(wrong: dict[str, Any], toy: Path, tmp_path: Path) -> None:
    out = tmp_path / "answers.jsonl"
    out.write_text(json.dumps({"instance_id": "toy-a", "model_name_or_path": "m"} | wrong) + "\n")
    done = in_process("generate", "--model", "m", "--dataset", toy, "--out", out)
    assert (done.returncode, done.stderr) == (1, f"error: {out}:1: damaged; remove that line, or use another file\n")


def test_label_and_folder_name_what_ablations_vary() -> None:
    plain = SamplingSettings(model="org/m")
    assert (plain.label, plain.run_name) == ("standard", "org-m-standard-paper")
    other = SamplingSettings(model="m", paper="none", temperature=0.7, samples=3, config="method")
    assert other.label == "standard, no paper, temperature 0.7"
    assert other.run_name == "m-standard-no-paper-temperature-0.7-paper-method"


def test_answer_to_another_version_of_an_instance_is_refused(
    server: Server, toy_row: DatasetRow, tmp_path: Path
) -> None:
    settings = SamplingSettings(model="m", base_url=server.base_url, out=tmp_path / "p.jsonl")
    sample(settings, [toy_row])
    with pytest.raises(ArgumentError, match="has an answer to another version of toy-scale"):
        sample(settings, [{**toy_row, "row_sha256": "0" * 64}])


#: what the model says → what the row notes
ANSWERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "thoughts": (f"<think>\nWell.\n</think>\n{TOY_ANSWER}", {"finish_reason": "stop"}),
    "empty": (Reply(body=completion("")), {"problem": "it is empty (finish_reason stop)"}),
    "control characters": ("\x01" * 3_000_000, {"problem": "function is larger than 1000000 bytes"}),
    "prose alone": ("I cannot.", {"problem": "no definition of 'scale' in the answer"}),
    "cut": (
        Reply(body=completion(TOY_ANSWER, finish_reason="length")),
        {"problem": "the reply was cut at the token limit (the reply was cut off before the answer ended)"},
    ),
    "cut behind the answer": (
        Reply(body=completion(f"```python\n{TOY_ANSWER}```\nIt mul", finish_reason="length")),
        {"finish_reason": "length"},
    ),
    "a block behind the answer": (
        f"```python\n{TOY_ANSWER}```\nUse:\n```python\nscale([1], 2)\n```\n",
        {"finish_reason": "stop"},
    ),
    "no usage": (Reply(body=completion(TOY_ANSWER, usage=None)), {"input_tokens": None, "cost_usd": None}),
}


#: what the result says about an answer with a verdict
DETAILS = {
    "a block behind the answer": "left out: 1 other block of code",
    "cut behind the answer": "the reply was cut at the token limit, after the answer",
}


@pytest.mark.parametrize("name", ANSWERS)
def test_any_answer_becomes_a_row(name: str, server: Server, toy: Path, tmp_path: Path) -> None:
    said, noted = ANSWERS[name]
    server.judge = lambda request: said
    summary = lmr.generate("m", tmp_path / "p.jsonl", base_url=server.base_url, dataset=str(toy), instances=["toy-a"])
    [row] = json_lines(tmp_path / "p.jsonl")
    assert {key: row["metadata"][key] for key in noted} == noted
    assert summary.complete
    assert (summary.unusable, summary.cut) == ("problem" in row["metadata"], name.startswith("cut"))
    run = lmr.evaluate(str(tmp_path / "p.jsonl"), tmp_path / "run", dataset=str(toy), sandbox="local")
    [result] = run.results()
    assert (result["status"] == "malformed") is bool(summary.unusable)
    assert lmr.generate("m", tmp_path / "p.jsonl", base_url=server.base_url, dataset=str(toy), instances=["toy-a"]).kept
    assert summary.unusable or result["detail"] == DETAILS.get(name, "")


def test_faults_are_retried_and_a_dead_server_ends_the_pass(server: Server, toy: Path, tmp_path: Path) -> None:
    server.script = [Reply(429, {}, {"Retry-After": "0"}), Reply(503, {}), Reply(200, completion("x"), cut=20)]
    options: dict[str, Any] = {"base_url": server.base_url, "dataset": str(toy), "retries": 2}
    first = lmr.generate("m", tmp_path / "p.jsonl", **options)
    second = lmr.generate("m", tmp_path / "p.jsonl", **options)
    assert second.complete
    assert first.asked + second.asked == 3
    for number, reply in enumerate([Reply(500, {}), Reply(200, b"<html>Welcome"), Reply(200, {"choices": [5]})]):
        server.judge = lambda request, reply=reply: reply  # type: ignore[misc]
        dead = lmr.generate("other", tmp_path / "p.jsonl", **{**options, "retries": 0, "workers": 1, "samples": 9})
        assert "keeps failing" in dead.stopped, "no model answers with a page, so no model fails"
        assert ("not a chat completion" in dead.stopped) is (number > 0)
        assert dead.asked == 0
    assert len(json_lines(tmp_path / "p.jsonl")) == 3


def test_the_prompt_of_an_instance_is_that_of_its_own_configuration() -> None:
    shown = in_process("generate", "prompt", "dpo-method", "--json")
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["prompt_version"] == prompt_version(METHOD)


def test_wider_run_continues_and_asks_nothing_twice(server: Server, toy: Path, tmp_path: Path) -> None:
    """Any order of selections makes one run: its folder holds all instances asked for, and each answer is paid once."""
    line = ["run", "-m", "m", "--base-url", server.base_url, "--dataset", str(toy), "--sandbox", "local", "--json"]

    def run(*options: str) -> tuple[int, set[str], int]:
        """Return the number of requests, the instances of the report, and the answers that reproduced."""
        before = len(server.requests)
        done = in_process(*line, *options, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        [score] = json.loads(done.stdout)["scores"]
        return len(server.requests) - before, set(score["instances"]), score["overall"]["outcomes"]["robust"]

    assert run("-i", "toy-a") == (1, {"toy-a"}, 1)
    assert run("-i", "toy-b") == (1, {"toy-a", "toy-b"}, 2)
    assert run() == (1, {"toy-a", "toy-b", "toy-c"}, 3)
    assert run("-i", "toy-a", "--samples", "2") == (1, {"toy-a", "toy-b", "toy-c"}, 4)
    assert run("--samples", "2") == (2, {"toy-a", "toy-b", "toy-c"}, 6)
    assert run("-i", "toy-c", "--samples", "1") == (0, {"toy-a", "toy-b", "toy-c"}, 6)
    assert [path.name for path in (tmp_path / "runs").iterdir() if path.is_dir()] == ["m-standard-paper"]


def test_run_evaluates_as_its_options_say(server: Server, toy: Path, tmp_path: Path) -> None:
    line = ["run", "-m", "m", "--base-url", server.base_url, "--dataset", str(toy), "--sandbox", "local", "--out", "r"]
    wrong = in_process(*line, "--category", "Cooking", cwd=tmp_path)
    assert (wrong.returncode, wrong.stderr[:36]) == (1, "error: --category: 'Cooking' must be")
    unknown = in_process(*line, "--isolation", "none", cwd=tmp_path)
    assert (unknown.returncode, "'none' is not one of 'shared', 'container'" in unknown.stderr) == (2, True)
    assert server.requests == []
    options = ("--category", "Evaluation Metrics", "--limit", "2", "--fresh-seeds", "2", "--timeout-scale", "3")
    done = in_process(*line, *options, "--isolation", "container", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    facts = json.loads((tmp_path / "r" / "run.json").read_text())
    assert (len(server.requests), len(facts["scope"]), len(facts["fresh_seeds"])) == (2, 2, 2)
    assert (facts["timeout_scale"], facts["isolation"]) == (3, "container")
    assert in_process(*line[:-1], "s", "--limit", "1", "--isolation", "shared", cwd=tmp_path).returncode == 0
    assert json.loads((tmp_path / "s" / "run.json").read_text())["isolation"] == "shared"


def test_unfit_run_folder_is_refused_before_the_first_request(
    server: Server, toy: Path, toy_row: DatasetRow, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").touch()
    (tmp_path / "file").touch()
    (tmp_path / "own.py").write_text(
        "from lmrbench_evaluate.sandbox.local import LocalSandbox\n\nclass Own(LocalSandbox):\n    name = 'own'\n"
    )
    line = ["run", "-m", "m", "--base-url", server.base_url, "--sandbox", "local"]
    data = ["--dataset", str(toy), "-i", "toy-a"]
    assert in_process(*line, *data, "--out", "r", cwd=tmp_path).returncode == 0
    write_dataset([toy_row], tmp_path / "other", load_benchmark())
    assert in_process(*line, *data, "--out", "lost", cwd=tmp_path).returncode == 0
    (tmp_path / "lost.jsonl").unlink()
    before = len(server.requests), sorted(tmp_path.rglob("*"))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(tmp_path))
        patch.setattr(sys, "dont_write_bytecode", True)
        for options, reason in {
            (*data, "--out", "mine"): "mine: is not a run folder and not empty",
            (*data, "--out", "."): "is not a run folder and not empty",
            (*data, "--out", "file"): "file: is not a run folder",
            (*data, "--out", "lost"): "lost holds an answer that these predictions lack: sample 0 of 'm'",
            ("--dataset", "other", "--out", "r"): "r holds a run with a different dataset, and .*; ",
            (*data, "--out", "r", "--sandbox", "own:Own"): r"a different sandbox \(local, now own\)",
        }.items():
            done = in_process(*line, *options, cwd=tmp_path)
            [*_, message] = done.stderr.splitlines()
            assert (done.returncode, bool(re.search(reason, message))) == (1, True), done.stderr
    assert (len(server.requests), sorted(tmp_path.rglob("*"))) == before


def test_interrupted_run_names_what_it_has_and_resumes(server: Server, toy: Path, tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text("m: {input_per_mtok: 1000.0, output_per_mtok: 0.0}\n")
    line = ["run", "-m", "m", "--base-url", server.base_url, "--dataset", str(toy), "--sandbox", "local", "-w", "1"]
    done = in_process(*line, "--prices", "prices.yaml", "--max-cost", "0.5", cwd=tmp_path)
    command = re.search("evaluate them with `lmrbench (.*)`", done.stdout)
    assert (done.returncode, len(server.requests), bool(command)) == (3, 1, True), done
    assert in_process(*command[1].split(), "--sandbox", "local", "-i", "toy-a", cwd=tmp_path).returncode == 0
    assert in_process(*line, cwd=tmp_path).returncode == 0
    assert len(server.requests) == 3


def test_run_that_fails_at_once_leaves_nothing(server: Server, toy: Path, tmp_path: Path) -> None:
    server.key = "secret"
    (tmp_path / "work").mkdir()
    for command in ("run", "generate"):
        line = [command, "-m", "m", "--base-url", server.base_url, "--dataset", str(toy)]
        done = in_process(*line, cwd=tmp_path / "work")
        assert (done.returncode, "refuses the key; set OPENAI_API_KEY" in done.stderr) == (1, True)
    assert not [path for path in (tmp_path / "work").rglob("*") if path.is_file()]


def test_the_longest_name_makes_a_run(server: Server, toy: Path, tmp_path: Path) -> None:
    line = ["run", "--base-url", server.base_url, "--dataset", str(toy), "--sandbox", "local", "-i", "toy-a"]
    options = ["-m", "m" * MAX_NAME, "-s", "paper+goal-file", "--paper", "none", "--temperature", "0.123456"]
    assert in_process(*line, *options, cwd=tmp_path).returncode == 0
    (report,) = tmp_path.glob("runs/*/report.md")
    assert len(f".{report.parent.name}-counterfactual.jsonl.lock") <= 255
