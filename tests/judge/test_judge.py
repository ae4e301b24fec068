"""`lmrbench judge` over real HTTP: what is asked and written, bad servers, stops and resumes, costs, votes."""

import collections
import json
import re
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.jobs import GIVE_UP_AFTER
from lmrbench_data.chat.server import server_name
from lmrbench_data.dataset.build import write_dataset
from lmrbench_data.tasks.manifest import load_benchmark
from lmrbench_evaluate.judge.judgement_log import judges, read_judgements
from lmrbench_evaluate.judge.judging import TEMPERATURE
from lmrbench_evaluate.judge.opinion import Category
from lmrbench_evaluate.judge.question import build_question, prompt_version
from lmrbench_evaluate.judge.summary import summarise
from lmrbench_evaluate.reports.score_tables import judge_table
from lmrbench_evaluate.reports.scores import score_runs
from lmrbench_evaluate.reports.tally import Tally
from support.command_line import in_process
from support.judging import SUBTLE, WRONG, Judging, candidate, verdict
from support.openai_server import Reply, Request, Server, completion, opinion
from support.toy import TOY_ANSWER, patch_that_writes

ROW_KEYS = {
    *("instance_id", "prediction_sha256", "judge_model", "prompt_version", "vote", "status", "category", "algorithm"),
    *("implementation", "rationale", "error", "input_tokens", "output_tokens", "cost_usd", "duration_s", "judged_at"),
    *("cached", "track", "base_url", "by", "reason", "temperature", "counted"),
}
PRICES = "judge-1: {input_per_mtok: 2.5, output_per_mtok: 10}\n"


# --- the whole way ------------------------------------------------------------------------------------------------


def test_answers_are_judged_once(judging: Judging, server: Server) -> None:
    judging.evaluate(TOY_ANSWER, WRONG, TOY_ANSWER, "def other():\n    pass\n")
    done = judging.judge("--json")
    assert done.returncode == 0, done.stderr
    assert "1 malformed answer is left out" in done.stderr
    report = json.loads(done.stdout)
    columns = ("model_name_or_path", "CC", "LC", "LI", "unjudged", "malformed")
    table = [[item[name] for name in columns] for item in report["models"]]
    assert table == [["a", 1, 0, 0, 0, 0], ["b", 0, 0, 1, 0, 0], ["c", 1, 0, 0, 0, 0], ["d", 0, 0, 0, 0, 1]]
    assert (report["input_tokens"], report["output_tokens"], report["cost_usd"]) == (2000, 200, None)

    first, second = judging.rows()
    assert first.keys() == ROW_KEYS
    assert {first["category"], second["category"]} == {"CC", "LI"}
    for row in (first, second):
        assert (row["status"], row["vote"], row["judge_model"], row["error"]) == ("judged", 0, "judge-1", "")
        assert row["prompt_version"] == prompt_version()
        assert 2 <= len(row["rationale"]) <= 4
        assert row["algorithm"]
        assert row["implementation"]
    assert judging.categories() == {"a": "CC", "b": "LI", "c": "CC"}

    assert len(server.requests) == 2
    asked = server.requests[0].body
    assert (asked["model"], asked["temperature"]) == ("judge-1", TEMPERATURE)
    assert asked["response_format"]["json_schema"]["schema"]["properties"]["category"]["enum"] == ["LI", "LC", "CC"]

    written = judging.file.read_bytes()
    again = judging.judge()
    assert (again.returncode, judging.file.read_bytes(), len(server.requests)) == (0, written, 2)
    assert re.search(r"a \(unstated\)\s+1\s+0\s+0\s+0\s+0", again.stdout)
    assert "0 asked now, 0 from the cache, 2 from earlier calls" in again.stdout

    # Another run has other rows; what was paid for is not paid for again.
    shutil.rmtree(judging.run)
    judging.evaluate(TOY_ANSWER, SUBTLE)
    done = judging.judge("--json")
    assert len(server.requests) == 3
    report = json.loads(done.stdout)
    assert report["votes"] == {"kept": 0, "cached": 1, "identical": 0, "asked": 1, "failed": 0}
    assert (report["input_tokens"], report["cost_usd"]) == (1000, None)
    assert judging.categories() == {"a": "CC", "b": "LC"}
    judging.file.unlink()
    judging.judge("--no-cache")
    assert len(server.requests) == 5
    judging.file.unlink()
    in_process("judge", "run", "--model", "judge-2")
    assert len(server.requests) == 7, "another model has judged nothing yet"


def test_evaluate_and_judge_in_one_command(judging: Judging, server: Server) -> None:
    judging.evaluate(TOY_ANSWER, WRONG)
    evaluate = ("evaluate", "predictions.jsonl", *judging.place, "--judge-base-url", server.base_url, "--judge")
    assert in_process(*evaluate, "judge-1").returncode == 0
    assert judging.categories() == {"a": "CC", "b": "LI"}
    done = in_process(*evaluate, "judge-1", "--json")
    assert json.loads(done.stdout)["judge"]["votes"] == {
        "kept": 2,
        "cached": 0,
        "identical": 0,
        "asked": 0,
        "failed": 0,
    }

    # A judge that refuses the key costs no result, and is reported in one line.
    server.key = "sk-right"
    (judging.run / "report.md").unlink()
    judging.patch.setenv("OPENAI_API_KEY", "sk-wrong")
    done = in_process(*evaluate, "judge-2")
    assert done.returncode == 1
    assert "Unit-test accuracy" in done.stdout
    assert "refuses the key" in done.stderr.splitlines()[-1]
    assert (judging.run / "report.md").is_file()

    # Nothing runs for a judge that cannot be asked.
    shutil.rmtree(judging.run)
    done = in_process(*evaluate, "judge-1", "--judge-base-url", "localhost")
    assert (done.returncode, done.stderr.count("\n"), judging.run.exists()) == (1, 1, False)


# --- servers that misbehave ---------------------------------------------------------------------------------------

UNREADABLE = {
    "prose": "Well, LC I would say.",
    "an unknown category": opinion("A+"),
    "cut at the token limit": completion(opinion("LI")[:-9], finish_reason="length"),
    "no content": completion(None),
}


@pytest.mark.parametrize("reply", UNREADABLE.values(), ids=UNREADABLE)
def test_unreadable_reply_is_shown_to_its_author(reply: Any, judging: Judging, server: Server) -> None:
    judging.evaluate(TOY_ANSWER)
    server.script = [Reply(body=reply if isinstance(reply, dict) else completion(reply))]
    assert (judging.here().asked, judging.categories()) == (1, {"a": "CC"})
    assert judging.rows()[0]["input_tokens"] == 2000, "both attempts were paid for"
    again = server.requests[1].body["messages"]
    if isinstance(reply, str):
        assert again[2] == {"role": "assistant", "content": reply}
        assert "could not be read" in again[3]["content"]


@pytest.mark.parametrize("refuses", [("response_format", "temperature"), ("max_completion_tokens",)])
def test_refused_option_is_left_out(refuses: tuple[str, ...], judging: Judging, server: Server) -> None:
    """An option that is refused once is left out from then on."""
    judging.evaluate(TOY_ANSWER, WRONG, SUBTLE)
    server.refuses = refuses
    server.judge = lambda request: f"Here it is:\n```json\n{verdict(request)}\n```"
    judging.here(workers=1, endpoint={"max_tokens": 5000})
    assert judging.categories() == {"a": "CC", "b": "LI", "c": "LC"}
    for request in server.requests[-2:]:
        assert not set(refuses) & set(request.body)
        assert "temperature" in request.body or "temperature" in refuses
        assert 5000 in (request.body.get("max_completion_tokens"), request.body.get("max_tokens"))


def test_unreadable_replies_are_an_error_without_a_category(judging: Judging, server: Server) -> None:
    judging.evaluate(TOY_ANSWER, WRONG)
    server.judge = lambda request: "no idea" if "value + factor" in candidate(request.user) else verdict(request)
    done = judging.judge("--json")
    assert done.returncode == 3
    assert "1 judgement failed (no readable answer in 3 attempts" in done.stderr
    [bad] = [row for row in judging.rows() if row["status"] == "judge_error"]
    assert (bad["category"], bad["rationale"], bad["input_tokens"]) == (None, None, 3000)
    assert judging.categories() == {"a": "CC", "b": None}
    report = json.loads(done.stdout)
    assert [item["unjudged"] for item in report["models"]] == [0, 1]
    assert sum(item[name] for item in report["models"] for name in ("CC", "LC", "LI")) == 1

    before = len(server.requests)
    server.judge = verdict
    assert judging.judge().returncode == 0
    assert len(server.requests) == before + 1, "the same command asks only for the missing one"
    assert judging.categories() == {"a": "CC", "b": "LI"}
    assert {found.errors for found in read_judgements(judging.run).values()} == {0}


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(401, {"error": {"message": "Incorrect API key provided: sk-secret", "code": "invalid_api_key"}}), "key"),
        (Reply(404, {"error": {"message": "The model does not exist"}}), "does not know the model 'judge-1'"),
    ],
)
def test_refusing_server_ends_the_run(reply: Reply, said: str, judging: Judging, server: Server) -> None:
    judging.evaluate(*(f"{TOY_ANSWER}\nN = {number}\n" for number in range(6)))
    server.judge = lambda request: reply
    judging.patch.setenv("OPENAI_API_KEY", "sk-secret")
    done = judging.judge("--workers", "2")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert said in done.stderr
    assert "sk-secret" not in done.stderr + done.stdout
    assert len(server.requests) <= 2
    assert judging.rows() == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--base-url", "localhost:8000"), "is not an address"),
        (("--max-cost", "1"), "--max-cost: needs prices"),
        (("--prices", "other.yaml"), "no price for 'judge-1'; it has other"),
        (("--instance", "nope"), "not in this run"),
        (("--dataset", "nowhere"), "no such folder"),
    ],
)
def test_wrong_argument_is_one_line(options: tuple[str, ...], message: str, judging: Judging) -> None:
    judging.evaluate(TOY_ANSWER)
    (judging.folder / "other.yaml").write_text("other: {input_per_mtok: 1, output_per_mtok: 2}\n")
    done = judging.judge(*options)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert message in done.stderr
    assert judging.server.requests == []


# --- stops and resumes --------------------------------------------------------------------------------------------


def test_killed_run_resumes(judging: Judging, server: Server) -> None:
    judging.evaluate(*(f"{TOY_ANSWER}\nN = {number}\n" for number in range(6)))
    server.judge = lambda request: Reply(body=completion(verdict(request)), delay_s=0.3)
    process = judging.start("--workers", "1", "--no-cache")
    deadline = time.monotonic() + 60
    while not judging.file.exists() or judging.file.read_bytes().count(b"\n") < 2:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=10)
    kept = judging.file.read_bytes()
    judging.file.write_bytes(kept[:-20])  # as if the last row had been cut short
    server.judge, asked = verdict, len(server.requests)
    assert judging.judge("--no-cache").returncode == 0
    assert judging.file.read_bytes().startswith(kept[: kept[:-20].rindex(b"\n") + 1])
    assert len(judging.rows()) == 6
    assert len(server.requests) == asked + 6 - kept.count(b"\n") + 1
    assert set(judging.categories().values()) == {"CC"}


def test_cost_limit_stops_and_can_be_raised(judging: Judging, server: Server) -> None:
    """1000 tokens in and 100 out cost 0.0035 USD an answer."""
    judging.evaluate(*(f"{TOY_ANSWER}\nN = {number}\n" for number in range(6)))
    (judging.folder / "prices.yaml").write_text(PRICES)
    done = judging.judge("--prices", "prices.yaml", "--max-cost", "0.006", "--workers", "1", "--json")
    assert done.returncode == 3
    assert "cost limit reached: $0.0070 of $0.006" in done.stderr
    assert done.stderr.splitlines()[-1] == "raise the cost limit, or run without one, to resume"
    assert "the same command" not in done.stderr
    assert [row["cost_usd"] for row in judging.rows()] == [0.0035, 0.0035]
    assert json.loads(done.stdout)["cost_usd"] == pytest.approx(0.007)
    again = judging.judge("--prices", "prices.yaml", "--max-cost", "0.006")
    assert (again.returncode, len(server.requests)) == (3, 2), "the limit is the run's, not the command's"
    more = judging.judge("--prices", "prices.yaml", "--max-cost", "1")
    assert (more.returncode, len(server.requests)) == (0, 6)
    assert "0.0210 USD" in more.stdout

    server.judge = lambda request: Reply(body=completion(verdict(request), usage=None))
    votes = ("--prices", "prices.yaml", "--no-cache", "--votes", "2", "--workers", "1")
    blind = judging.judge(*votes, "--max-cost", "1")
    assert (blind.returncode, len(server.requests)) == (3, 7)
    assert "cost unknown: 1 answer without cost, so the cost limit cannot be kept" in blind.stderr
    assert blind.stderr.splitlines()[-1] == "raise the cost limit, or run without one, to resume"
    assert "cost: unknown" in judging.judge(*votes).stdout
    assert [row["cost_usd"] for row in judging.rows() if not row["counted"]] == [None] * 6


def test_useless_judge_is_given_up(judging: Judging, server: Server) -> None:
    """At three requests a vote; a judgement in between starts the count again."""
    judging.evaluate(*(f"{TOY_ANSWER}\nN = {number}\n" for number in range(14)))
    server.judge = lambda request: opinion() if len(server.requests) == 4 else "I would rather not say."
    summary = judging.here(workers=1)
    assert (summary.asked, summary.complete) == (GIVE_UP_AFTER + 2, False)
    assert len(server.requests) == 3 * (GIVE_UP_AFTER + 1) + 1
    assert "keeps failing (no readable answer in 3 attempts" in summary.stopped


def test_two_servers_with_one_model_name_do_not_mix(judging: Judging, server: Server) -> None:
    """`default` is another model at each address: neither cache nor file takes one's judgement for the other's."""
    judging.evaluate(TOY_ANSWER)
    judging.here(no_cache=False)
    with Server() as other:
        other.judge = lambda request: opinion("LC")
        elsewhere = {"base_url": other.base_url.replace("127.0.0.1", "me:sk-secret@LOCALHOST") + "/"}
        summary = judging.here(no_cache=False, endpoint=elsewhere)
        assert (summary.kept, summary.cached, summary.asked) == (0, 0, 1)
        assert len(other.requests) == 1
    assert judging.categories() == {"a": "LC"}
    [here, there] = judges(judging.run)
    assert here.server == server.base_url
    assert there.server == other.base_url.replace("127.0.0.1", "localhost")
    assert read_judgements(judging.run, *here).popitem()[1].category is Category.CC
    written = judging.file.read_text() + "".join(
        path.read_text() for path in (judging.folder / "cache").rglob("*.json")
    )
    assert "secret" not in written
    same = {"base_url": f"{server.base_url.replace('http', 'HTTP')}///"}
    assert judging.here(no_cache=False, endpoint=same).kept == 1, "another spelling is the same server"
    judging.file.unlink()
    assert judging.here(no_cache=False, endpoint=same).cached == 1


@pytest.mark.parametrize(
    ("url", "name"),
    [
        (None, "https://api.openai.com/v1"),
        ("https://API.openai.com:443/v1/", "https://api.openai.com/v1"),
        ("http://user:word@host:80/a?key=b#c", "http://host/a"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
    ],
)
def test_server_name_has_no_secrets(url: str | None, name: str) -> None:
    assert server_name(url) == name


def test_requests_are_concurrent(judging: Judging, server: Server) -> None:
    judging.evaluate(*(f"{TOY_ANSWER}\nN = {number}\n" for number in range(8)))
    server.judge = lambda request: Reply(body=completion(verdict(request)), delay_s=0.3)
    judging.here(workers=4)
    assert server.most_at_once == 4


# --- answers that nobody is asked about ---------------------------------------------------------------------------


def test_too_long_answer_counts_without_a_category(judging: Judging, server: Server) -> None:
    """A string of 100,100 characters took an answer out of the shares; now it is in none of the categories."""
    long = f"{WRONG}".replace("    return", f"    note = {'x' * 100_100!r}\n    print(note)\n    return")
    judging.evaluate(("function", long), TOY_ANSWER, "def other():\n    pass\n")
    done = judging.judge("--json")
    assert (done.returncode, len(server.requests)) == (0, 1)
    assert "1 answer is not judged: too long; they count" in done.stderr
    models = {item["model_name_or_path"]: item for item in json.loads(done.stdout)["models"]}
    assert (models["a"]["not_judged"], models["a"]["unjudged"]) == ({"too long": 1}, 0)
    [row] = [row for row in judging.rows() if row["status"] == "not_judged"]
    assert (row["reason"], row["category"], row["cost_usd"]) == ("too long", None, 0.0)
    again = judging.judge()
    assert re.search(r"not\s+judged:\s+too\s+long", re.sub(r"\s+", " ", again.stdout))
    assert len(judging.rows()) == 2, "the judge is not asked about it again"

    scores, everybody = score_runs([judging.run]), Tally()
    for score in scores:
        everybody.add(score.overall)
    said = everybody.as_dict()["judge"]
    assert (said["not_judged"], said["nothing_to_judge"], said["unjudged"]) == ({"too long": 1}, 1, 0)
    assert said["shares"] == {"CC": 0.3333, "LC": 0.0, "LI": 0.0}, "of three answers, one malformed and one too long"
    header, lines = judge_table(scores)
    table = {line[0]: dict(zip(header, line, strict=True)) for line in lines}
    assert (table["a"]["not judged: too long"], table["a"]["CC share"]) == ("1", "0.0 %")
    assert (table["b"]["not judged: too long"], table["b"]["CC share"]) == ("0", "100.0 %")


def test_answer_too_long_for_the_server_is_not_judged(judging: Judging, server: Server) -> None:
    """Just short of our own limit, it would be an error of the judge and out of the shares again."""
    long = WRONG.replace("    return", f"    note = {'x' * 90_000!r}\n    print(note)\n    return")
    judging.evaluate(long, TOY_ANSWER)
    full = Reply(400, {"error": {"message": "This model's maximum context length is 8192 tokens", "code": "x"}})
    server.judge = lambda request: full if len(request.user) > 30_000 else verdict(request)
    assert judging.here().complete
    assert {row["reason"] for row in judging.rows()} == {"too long", ""}
    # A server for which any question is too long says nothing about an answer.
    judging.file.unlink()
    server.judge = lambda request: full
    assert judging.here().errors == 1


def test_reference_code_is_not_sent(judging: Judging, server: Server, toy_row: dict[str, Any]) -> None:
    """Comments, docstrings and blanks aside; anything else is a question."""
    golden = toy_row["golden_file"]
    bare = golden.replace('    """Each of `values` times `factor`, in order."""\n', "    # mine\n\n")
    assert bare != golden
    changed = bare.replace("OFFSET for", "OFFSET + 0 for")
    patch = patch_that_writes(toy_row, {"scale.py": golden, "helpers.py": "OFFSET = 1.0\n"})
    judging.evaluate(("goal_file", golden), ("goal_file", bare), ("goal_file", changed), ("model_patch", patch))
    summary = judging.here(votes=3)
    assert (summary.identical, summary.asked, len(server.requests)) == (6, 6, 6)
    assert judging.categories() == {"a": "CC", "b": "CC", "c": "CC", "d": "CC"}
    rows = [row for row in judging.rows() if row["by"] == "identical"]
    assert {(row["judge_model"], row["category"], row["cost_usd"]) for row in rows} == {("judge-1", "CC", 0.0)}
    agreement = {item.model: item.agreement for item in summarise(judging.run, summary)}
    assert agreement == {"a": None, "b": None, "c": 1.0, "d": 1.0}, "nobody voted on the first two"


# --- votes --------------------------------------------------------------------------------------------------------


def test_majority_of_votes_wins(judging: Judging, server: Server) -> None:
    """The majority wins, a tie goes to the more severe category, and what failed has no vote."""
    judging.evaluate(TOY_ANSWER, WRONG, SUBTLE)
    script = {"values]\n": ["CC", "LC", "CC"], "or None": ["CC", "LC", "?"], "value + factor": ["?", "?", "?"]}
    kinds = {"value + factor": "value + factor", "or None": "or None"}
    asked: collections.Counter[str] = collections.Counter()

    def vote(request: Request) -> str:
        kind = next((kinds[mark] for mark in kinds if mark in candidate(request.user)), "values]\n")
        asked[kind] += 1
        said = script[kind][(asked[kind] - 1) % 3]
        return opinion(said) if said != "?" else Reply(400, {"error": {"message": "context_length_exceeded"}})  # type: ignore[return-value]

    server.judge = vote
    done = judging.judge("--votes", "3", "--workers", "1", "--json")
    assert done.returncode == 3
    found = {found.category: found for found in read_judgements(judging.run).values()}
    assert set(found) == {Category.CC, Category.LC, None}
    assert (found[Category.CC].votes, found[Category.CC].agreement) == ({"CC": 2, "LC": 1}, pytest.approx(2 / 3))
    assert (found[Category.LC].votes, found[Category.LC].agreement) == ({"CC": 1, "LC": 1}, 0.5)
    assert found[Category.LC].errors == 1
    assert (found[None].errors, found[None].agreement) == (3, 0.0)
    models = {item["model_name_or_path"]: item for item in json.loads(done.stdout)["models"]}
    assert (models["a"]["agreement"], models["a"]["split"], models["b"]["agreement"]) == (0.6667, 1, None)
    assert {request.body["temperature"] for request in server.requests} == {TEMPERATURE}, "or agreement means nothing"


def test_question_is_built_once_for_all_votes(
    judging: Judging, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[str] = []

    def count(row: Any, prediction: Any) -> Any:
        built.append(prediction.content)
        return build_question(row, prediction)

    monkeypatch.setattr("lmrbench_evaluate.judge.judging.build_question", count)
    judging.evaluate(TOY_ANSWER, WRONG, SUBTLE)
    assert judging.judge("--votes", "5", "--workers", "4").returncode == 0
    assert len(server.requests) == 15
    assert sorted(row["vote"] for row in judging.rows()) == sorted([*range(5)] * 3)
    shown = judging.judge("--votes", "5").stdout
    assert re.search(r"agreement\s+split", shown)
    assert "100.0 %" in shown
    assert sorted(built) == sorted([TOY_ANSWER, WRONG, SUBTLE])


def test_deeply_nested_code_is_not_judged(judging: Judging, server: Server) -> None:
    """It is the answer's own doing: a judge error would be tried again for ever, and would cost the answer nothing."""
    deep = f"def scale(values, factor):\n    if not values:\n        f{'()' * 600}.x\n    return values\n"
    judging.evaluate(deep, TOY_ANSWER)
    for kept in (0, 2):
        done = judging.judge("--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["votes"]["kept"] == kept
    assert len(server.requests) == 1
    rows = {row["status"]: row for row in judging.rows()}
    assert set(rows) == {"judged", "not_judged"}
    assert rows["not_judged"]["reason"] == "cannot be shown"
    assert "RecursionError" in rows["not_judged"]["error"]


# --- what is read back --------------------------------------------------------------------------------------------


def test_judges_do_not_mix(judging: Judging, server: Server) -> None:
    judging.evaluate(TOY_ANSWER, WRONG)
    assert read_judgements(judging.run) == {}
    judging.here()
    server.judge = lambda request: opinion("LC")
    judging.here(endpoint={"model": "judge-2"})
    assert [judge.model for judge in judges(judging.run)] == ["judge-1", "judge-2"]
    assert {found.category for found in read_judgements(judging.run).values()} == {"LC"}
    assert {found.category for found in read_judgements(judging.run, "judge-1").values()} == {"CC", "LI"}
    with pytest.raises(InputError, match=r"not judged by judge-3 .did you mean 'judge-[12]'..; judged by judge-1"):
        read_judgements(judging.run, "judge-3")

    older = judging.file.read_text().replace(prompt_version(), "v0").replace('"judge-2"', '"judge-1"')
    judging.file.write_text(older + judging.file.read_text())
    assert {found.category for found in read_judgements(judging.run, "judge-1").values()} == {"CC", "LI"}
    assert {found.category for found in read_judgements(judging.run, "judge-1", "v0").values()} == {"LC"}


def test_error_row_does_not_undo_a_judgement(judging: Judging, server: Server) -> None:
    """Whatever the order of rows: two files put together count like one."""
    judging.evaluate(TOY_ANSWER)
    judging.here()
    [row] = judging.rows()
    error = {**row, "status": "judge_error", "category": None, "rationale": [], "error": "the server was away"}
    judging.file.write_text("".join(json.dumps(item) + "\n" for item in (error, row, error)))
    assert judging.categories() == {"a": "CC"}
    [found] = read_judgements(judging.run).values()
    assert (found.errors, found.votes) == (0, {"CC": 1})
    assert judging.here().kept == 1
    assert len(server.requests) == 1


@pytest.mark.parametrize("line", ["[]", '{"instance_id": "toy-scale", "status": "judged"}'])
def test_damaged_log_is_refused(line: str, judging: Judging, server: Server) -> None:
    judging.evaluate(TOY_ANSWER)
    judging.here()
    judging.file.write_text(line + "\n" + judging.file.read_text())
    before = judging.file.read_bytes()
    done = judging.judge()
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "judgements.jsonl:1: damaged" in done.stderr
    with pytest.raises(InputError, match="damaged"):
        read_judgements(judging.run)
    assert judging.file.read_bytes() == before


def test_damaged_cache_is_ignored(judging: Judging, server: Server) -> None:
    judging.evaluate(TOY_ANSWER)
    assert judging.judge().returncode == 0
    [stored] = (judging.folder / "cache" / "judgements").rglob("*.json")
    for content in ('{"category": "CC"}', '{"category": "A+", "rationale": []}', "", "[]"):
        stored.write_text(content)
        judging.file.unlink()
        before = len(server.requests)
        assert judging.judge().returncode == 0
        assert len(server.requests) == before + 1


def test_another_dataset_is_refused(judging: Judging, toy_row: dict[str, Any], tmp_path: Path) -> None:
    from lmrbench_data.loader import row_sha256

    judging.evaluate(TOY_ANSWER)
    row = {**toy_row, "instruction": "Something else."}
    write_dataset([{**row, "row_sha256": row_sha256(row)}], tmp_path / "other", load_benchmark())
    done = judging.judge("--dataset", str(tmp_path / "other"))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "was evaluated on rows other than those of" in done.stderr
