"""`lmrbench judge` over real HTTP: what is asked and written, bad servers, stops and resumes, costs, votes."""

import collections
import json
import re
from pathlib import Path
from typing import Any

import pytest

from lmrbench_data.base.errors import InputError
from lmrbench_evaluate.judge.judgement_log import JudgementLog, read_judgements
from lmrbench_evaluate.judge.opinion import Category
from lmrbench_evaluate.judge.question import TEMPERATURE, prompt_of
from lmrbench_evaluate.reports.report import make_report
from lmrbench_evaluate.reports.score_tables import judge_table
from lmrbench_evaluate.reports.scores import score_runs
from lmrbench_evaluate.reports.tally import Tally
from support.command_line import in_process
from support.judging import SUBTLE, Judging, candidate, verdict
from support.openai_server import Reply, Request, Server, completion, opinion
from support.toy import TOY_ANSWER, WRONG, patch_that_writes, write_toys

ROW_KEYS = {
    *("instance_id", "prediction_sha256", "judge_model", "prompt_version", "vote", "status", "category", "algorithm"),
    *("implementation", "rationale", "error", "input_tokens", "output_tokens", "cost_usd", "duration_s", "judged_at"),
    *("track", "base_url", "by", "reason", "temperature", "counted", "body", "cut_by_server"),
}


# --- the whole way ------------------------------------------------------------------------------------------------


def test_answers_are_judged_once(judging: Judging, server: Server) -> None:
    judging.evaluate(TOY_ANSWER, WRONG, TOY_ANSWER, "def other():\n    pass\n")
    done = judging.judge("--json")
    assert done.returncode == 0, done.stderr
    assert "1 malformed answer is left out" in done.stderr
    report = json.loads(done.stdout)
    columns = ("model_name_or_path", "CC", "LC", "LI", "unjudged", "nothing_to_judge")
    table = sorted([item[name] for name in columns] for item in report["models"])
    assert table == [["a", 1, 0, 0, 0, 0], ["b", 0, 0, 1, 0, 0], ["c", 1, 0, 0, 0, 0], ["d", 0, 0, 0, 0, 1]]
    assert (report["input_tokens"], report["output_tokens"], report["cost_usd"]) == (2000, 200, None)

    first, second = judging.rows()
    assert first.keys() == ROW_KEYS
    assert {first["category"], second["category"]} == {"CC", "LI"}
    for row in (first, second):
        assert (row["status"], row["vote"], row["judge_model"], row["error"]) == ("judged", 0, "judge-1", "")
        assert row["prompt_version"] == prompt_of().version
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
    assert re.search(r"a\s+1\s+0\s+0\s+100.0%", again.stdout)
    assert "0 asked now, 2 from earlier calls" in again.stdout


# --- servers that misbehave ---------------------------------------------------------------------------------------


def test_refused_option_is_left_out(judging: Judging, server: Server) -> None:
    """An option that is refused once is left out from then on."""
    judging.evaluate(TOY_ANSWER, WRONG, SUBTLE)
    server.refuses = ("response_format", "temperature")
    server.judge = lambda request: f"```json\n{verdict(request)}\n```"
    judging.here(workers=1, endpoint={"max_tokens": 5000})
    assert judging.categories() == {"a": "CC", "b": "LI", "c": "LC"}
    for request in server.requests[-2:]:
        assert not set(server.refuses) & set(request.body)
        assert 5000 in (request.body.get("max_completion_tokens"), request.body.get("max_tokens"))


def test_unreadable_replies_are_an_error_without_a_category(judging: Judging, server: Server) -> None:
    judging.evaluate(TOY_ANSWER, WRONG)
    server.judge = lambda request: "no idea" if "value + factor" in candidate(request.user) else verdict(request)
    done = judging.judge("--json")
    assert done.returncode == 3
    echo, repair = next(request.body["messages"] for request in server.requests if len(request.body["messages"]) > 2)[
        2:
    ]
    assert echo == {"role": "assistant", "content": "no idea"}
    assert "could not be read" in repair["content"]
    assert "1 judgement failed (no readable answer in 3 attempts" in done.stderr
    [bad] = [row for row in judging.rows() if row["status"] == "judge_error"]
    assert (bad["category"], bad["rationale"], bad["input_tokens"]) == (None, None, 3000)
    assert judging.categories() == {"a": "CC", "b": None}
    report = json.loads(done.stdout)
    assert [item["judge_error"] for item in report["models"]] == [0, 1]
    assert sum(item[name] for item in report["models"] for name in ("CC", "LC", "LI")) == 1

    before = len(server.requests)
    server.judge = verdict
    assert judging.judge().returncode == 0
    assert len(server.requests) == before + 1, "the same command asks only for the missing one"
    assert judging.categories() == {"a": "CC", "b": "LI"}
    assert {found.errors for found in read_judgements(judging.run).values()} == {0}


def test_endless_opinion_leaves_a_log_that_can_be_read(judging: Judging, server: Server) -> None:
    judging.evaluate(TOY_ANSWER)
    endless = {**json.loads(opinion("CC")), "rationale": ["x"] * 4_000_000}
    server.judge = lambda request: json.dumps(endless)
    done = judging.judge()
    assert done.returncode == 3
    assert "it is longer than 1000000 characters" in done.stderr
    assert [row["status"] for row in judging.rows()] == ["judge_error"]
    server.judge = verdict
    assert judging.judge().returncode == 0
    assert judging.categories() == {"a": "CC"}


def test_pass_that_ends_early_knows_malformed_answers_and_says_why_a_judgement_failed(
    judging: Judging, server: Server
) -> None:
    judging.evaluate(WRONG, "def other():\n    pass\n")
    server.judge = lambda request: Reply(503, {"error": {"message": "model is loading"}})
    done = judging.here(workers=1, votes=12, endpoint={"retries": 0})
    assert done.stopped
    counts = [(score.overall.unjudged, score.overall.nothing_to_judge) for score in score_runs([judging.run])]
    assert counts == [(0, 0), (0, 1)], "the pass ended before the malformed answer"
    shown = in_process("show", judging.run, "toy-scale", "--model", "a").stdout
    assert "## Judge: no category" in shown
    assert "model is loading" in shown.partition("## Judge: no category")[2]
    assert "model is loading" in make_report([judging.run]).to_html()


@pytest.mark.parametrize("reason", ["length", "MAX_TOKENS"])
def test_cut_reply_is_not_asked_for_again_with_the_same_limit(judging: Judging, server: Server, reason: str) -> None:
    judging.evaluate(TOY_ANSWER)
    server.judge = lambda request: Reply(body=completion('{"category": "C', finish_reason=reason))
    assert "cut at max_tokens" in judging.here(endpoint={"max_tokens": 50}).first_error
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--body", "top_p"), "--body: top_p is not KEY=JSON"),
        (("--max-cost", "1"), "--max-cost: needs prices"),
        (("--instance", "nope"), "not in this run"),
        (("--dataset", "nowhere"), "no such folder"),
    ],
)
def test_wrong_argument_is_one_line(options: tuple[str, ...], message: str, judging: Judging) -> None:
    judging.evaluate(TOY_ANSWER)
    done = judging.judge(*options)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert message in done.stderr
    assert judging.server.requests == []


# --- stops and resumes --------------------------------------------------------------------------------------------


def test_two_servers_with_one_model_name_do_not_mix(judging: Judging, server: Server) -> None:
    """`default` is another model at each address: the file never takes one's judgement for the other's."""
    judging.evaluate(TOY_ANSWER)
    judging.here()
    with Server() as other:
        other.judge = lambda request: opinion("LC")
        elsewhere = {"base_url": other.base_url.replace("127.0.0.1", "me:sk-secret@LOCALHOST") + "/"}
        summary = judging.here(endpoint=elsewhere)
        assert (summary.kept, summary.asked) == (0, 1)
        assert len(other.requests) == 1
    assert judging.categories() == {"a": "LC"}
    [here, there] = JudgementLog.judges(judging.file)
    assert here.server == server.base_url
    assert there.server == other.base_url.replace("127.0.0.1", "localhost")
    assert read_judgements(judging.run, here).popitem()[1].category is Category.CC
    assert "secret" not in judging.file.read_text()
    same = {"base_url": f"{server.base_url.replace('http', 'HTTP')}///"}
    assert judging.here(endpoint=same).kept == 1, "another spelling is the same server"


# --- answers that nobody is asked about ---------------------------------------------------------------------------


def test_too_long_answer_counts_without_a_category(judging: Judging, server: Server) -> None:
    """A string of 100,100 characters took an answer out of the shares; now it is in none of the categories."""
    long = f"{WRONG}".replace("    return", f"    note = {'x' * 100_100!r}\n    print(note)\n    return")
    judging.evaluate(("function", long), TOY_ANSWER, "def other():\n    pass\n")
    done = judging.judge("--json")
    assert (done.returncode, len(server.requests)) == (0, 1)
    assert "1 answer has no judgement: too long" in done.stderr
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
    assert (table["a"]["not judged: too long"], table["a"]["CC share"]) == ("1", "0.0%")
    assert (table["b"]["not judged: too long"], table["b"]["CC share"]) == ("0", "100.0%")


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
    assert [found.by for found in read_judgements(judging.run).values()].count("model") == 2


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
    assert {request.body["temperature"] for request in server.requests} == {TEMPERATURE}, "or agreement means nothing"


# --- what is read back --------------------------------------------------------------------------------------------


def test_judges_of_another_model_or_parameters_do_not_mix(judging: Judging, server: Server) -> None:
    judging.evaluate(TOY_ANSWER, WRONG)
    assert read_judgements(judging.run) == {}
    body = {"top_p": 0.5, "reasoning_effort": "low"}
    assert [judging.here(endpoint={"body": body}).asked for _ in range(2)] == [2, 0]
    assert server.requests[-1].body.items() >= body.items()
    assert judging.judge("--body", "top_p=0.5", "--body", 'reasoning_effort="low"').returncode == 0
    judging.here()
    server.judge = lambda request: opinion("LC")
    judging.here(endpoint={"model": "judge-2"})
    assert len(server.requests) == 6
    judges = [(judge.model, json.loads(judge.body or "{}")) for judge in JudgementLog.judges(judging.file)]
    assert judges == [("judge-1", body), ("judge-1", {}), ("judge-2", {})]
    assert {found.category for found in read_judgements(judging.run).values()} == {"LC"}
    assert {found.category for found in read_judgements(judging.run, "judge-1").values()} == {"CC", "LI"}
    with pytest.raises(InputError, match=r"not judged by judge-3 .did you mean 'judge-[12]'..; judged by judge-1"):
        read_judgements(judging.run, "judge-3")


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


def test_damaged_log_is_refused(judging: Judging) -> None:
    judging.evaluate(TOY_ANSWER)
    judging.file.write_text('{"instance_id": "toy-scale", "status": "judged"}\n')
    done = judging.judge()
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "judgements.jsonl:1: damaged" in done.stderr
    with pytest.raises(InputError, match="damaged"):
        read_judgements(judging.run)


def test_another_dataset_is_refused(judging: Judging, toy_row: Any, tmp_path: Path) -> None:
    judging.evaluate(TOY_ANSWER)
    other = write_toys(tmp_path / "other", toy_row, "toy-scale", instruction="Something else.")
    done = judging.judge("--dataset", str(other))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "was evaluated on rows other than those of" in done.stderr
