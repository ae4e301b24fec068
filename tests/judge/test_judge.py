"""`lmrbench judge` over real HTTP: what is asked and written, bad servers, stops and resumes, costs, votes."""

import collections
import json
import re
import shutil
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.jobs import GIVE_UP_AFTER
from lmrbench_data.chat.server import server_name
from lmrbench_data.dataset.build import write_dataset
from lmrbench_data.tasks.manifest import load_benchmark
from lmrbench_evaluate.judge.cache import Cache
from lmrbench_evaluate.judge.category import Category
from lmrbench_evaluate.judge.client import TEMPERATURE
from lmrbench_evaluate.judge.judgement_log import judges, read_judgements
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
    *("cached", "track", "row_version", "base_url", "by", "reason", "temperature", "counted"),
}
PRICES = "judge-1: {input_per_mtok: 2.5, output_per_mtok: 10}\n"


# --- the whole way ------------------------------------------------------------------------------------------------


def test_answers_are_judged_once_and_never_again(judging: Judging, server: Server) -> None:
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

SLOW_DOWN = Reply(429, {"error": {"message": "slow down"}}, {"Retry-After": "1"})
BROKEN = Reply(500, {"error": {"message": "boom"}})
TROUBLES = {
    "429": [SLOW_DOWN],
    "500 twice": [BROKEN, Reply(503, b"<html>busy")],
    "cut short": [Reply(body=completion(opinion("LI")), cut=50)],
    "too slow": [Reply(body=completion(opinion("LI")), delay_s=2)],
    "a page": [Reply(body=b"<html>", headers={"Content-Type": "text/html"})],
    "half a JSON": [Reply(body=b'{"choices": [{"mess')],
    "no text": [Reply(body=b"\xff\xfe\x00")],
    "an error as 200": [Reply(body={"error": {"message": "upstream is away"}})],
    "other JSON": [Reply(body=[1, 2])],
    "no choices": [Reply(body={"choices": []})],
    "odd choices": [Reply(body={"choices": ["a", 5]})],
    "no content": [Reply(body=completion(None))],
    "out of tokens": [Reply(body=completion(opinion("LI")[:-9], finish_reason="length"))],
    "prose": [Reply(body=completion("I think it is completely correct."))],
    "an unknown category": [Reply(body=completion(opinion("A+")))],
}


@pytest.mark.parametrize("script", TROUBLES.values(), ids=TROUBLES)
def test_a_server_recovers(script: list[Reply], judging: Judging, server: Server) -> None:
    """Each fault is answered by asking again; the faulty reply is never taken for a judgement."""
    judging.evaluate(TOY_ANSWER)
    server.script = list(script)
    finished = judging.here(endpoint={"timeout_s": 1.0})
    assert (finished.asked, finished.errors, judging.categories()) == (1, 0, {"a": "CC"})
    assert len(server.requests) == len(script) + 1
    if script == [SLOW_DOWN]:
        assert server.requests[1].at - server.requests[0].at >= 1


def test_an_answer_that_cannot_be_read_is_shown_to_its_author(judging: Judging, server: Server) -> None:
    judging.evaluate(TOY_ANSWER)
    server.judge = lambda request: opinion("LC") if len(request.body["messages"]) == 4 else "Well, LC I would say."
    judging.here()
    assert judging.categories() == {"a": "LC"}
    _, _, echo, repair = server.requests[1].body["messages"]
    assert (echo["role"], echo["content"]) == ("assistant", "Well, LC I would say.")
    assert "could not be read" in repair["content"]
    assert judging.rows()[0]["input_tokens"] == 2000, "both attempts were paid for"


@pytest.mark.parametrize(
    "refuses", [("response_format",), ("temperature",), ("response_format", "temperature"), ("max_completion_tokens",)]
)
def test_a_server_is_asked_in_its_own_dialect(refuses: tuple[str, ...], judging: Judging, server: Server) -> None:
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


def test_a_400_without_a_reason_is_tried_with_less(judging: Judging, server: Server) -> None:
    judging.evaluate(TOY_ANSWER)
    server.judge = lambda request: Reply(400, b"Bad Request") if len(request.body) > 2 else verdict(request)
    judging.here()
    assert judging.categories() == {"a": "CC"}
    assert set(server.requests[-1].body) == {"model", "messages"}


def test_what_cannot_be_had_is_an_error_and_no_category(judging: Judging, server: Server) -> None:
    judging.evaluate(TOY_ANSWER, WRONG)
    server.judge = lambda request: "no idea" if "value + factor" in candidate(request.user) else verdict(request)
    done = judging.judge("--json")
    assert done.returncode == 3
    assert "1 judgement failed (no readable answer in 3 attempts" in done.stderr
    [bad] = [row for row in judging.rows() if row["status"] == "judge_error"]
    assert (bad["category"], bad["rationale"], bad["input_tokens"]) == (None, [], 3000)
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
        (Reply(403, {"error": {"message": "not for you"}}), "not for you"),
        (Reply(404, {"error": {"message": "The model does not exist"}}), "does not know the model 'judge-1'"),
        (Reply(404, b"<html>nginx"), "often ends in /v1"),
    ],
)
def test_a_hopeless_server_is_left_at_once(reply: Reply, said: str, judging: Judging, server: Server) -> None:
    judging.evaluate(*(f"{TOY_ANSWER}\nN = {number}\n" for number in range(6)))
    server.judge = lambda request: reply
    judging.patch.setenv("OPENAI_API_KEY", "sk-secret")
    done = judging.judge("--workers", "2")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert said in done.stderr
    assert "sk-secret" not in done.stderr + done.stdout
    assert len(server.requests) <= 2
    assert judging.rows() == []


def test_a_dead_address_is_named_at_once(judging: Judging, server: Server) -> None:
    """It took 15 seconds of retries a question, and then said "Connection error." without saying where."""
    judging.evaluate(*(f"{TOY_ANSWER}\nN = {number}\n" for number in range(8)))
    server.stop()
    started = time.monotonic()
    done = in_process("judge", "run", "--model", "judge-1")
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    assert f"no server answers at {server.base_url}" in done.stderr
    assert time.monotonic() - started < 12
    assert judging.rows() == []


def test_a_server_that_dies_is_given_up(judging: Judging, server: Server) -> None:
    judging.evaluate(*(f"{TOY_ANSWER}\nN = {number}\n" for number in range(8)))
    server.judge = lambda request: Reply(body=completion(opinion()), cut=40) if len(server.requests) > 1 else opinion()
    done = judging.judge("--workers", "1", "--retries", "0")
    assert done.returncode == 3
    assert f"the server {server.base_url} keeps failing" in done.stderr
    assert [row["status"] for row in judging.rows()] == ["judged", *["judge_error"] * GIVE_UP_AFTER]


@pytest.mark.parametrize(
    ("options", "env", "said"),
    [
        ((), {"OPENAI_BASE_URL": ""}, "no OPENAI_API_KEY"),
        (("--base-url", "localhost:8000"), {}, "is not an address"),
        ((), {"OPENAI_API_KEY": "sk-ünï"}, "OPENAI_API_KEY contains"),
        (("--max-cost", "1"), {}, "--max-cost: needs prices"),
        (("--prices", "none.yaml"), {}, "no such file"),
        (("--prices", "other.yaml"), {}, "no price for 'judge-1'; it has other"),
        (("--prices", "bad.yaml"), {}, "must be a number of US dollars"),
        (("--instance", "nope"), {}, "not in this run"),
        (("--dataset", "nowhere"), {}, "no such folder"),
    ],
)
def test_mistakes_are_said_in_one_line(
    options: tuple[str, ...], env: dict[str, str], said: str, judging: Judging
) -> None:
    judging.evaluate(TOY_ANSWER)
    (judging.folder / "other.yaml").write_text("other: {input_per_mtok: 1, output_per_mtok: 2}\n")
    (judging.folder / "bad.yaml").write_text("judge-1: {input_per_mtok: cheap, output_per_mtok: .nan}\n")
    for name, value in env.items():
        judging.patch.setenv(name, value)
    done = judging.judge(*options)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert said in done.stderr
    assert judging.server.requests == []


# --- stops and resumes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
@pytest.mark.slow
def test_a_stopped_run_goes_on(number: signal.Signals, judging: Judging, server: Server) -> None:
    judging.evaluate(*(f"{TOY_ANSWER}\nN = {number}\n" for number in range(6)))
    server.judge = lambda request: Reply(body=completion(verdict(request)), delay_s=0.3)
    process = judging.start("--workers", "1", "--no-cache")
    deadline = time.monotonic() + 60
    while not judging.file.exists() or judging.file.read_bytes().count(b"\n") < 2:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=10)
    if number != signal.SIGKILL:
        assert (process.returncode, stderr.count("\n")) == (130, 1)
        assert "re-run the command to resume" in stderr
    kept = judging.file.read_bytes()
    judging.file.write_bytes(kept[:-20])  # as if the last row had been cut short
    server.judge, asked = verdict, len(server.requests)
    assert judging.judge("--no-cache").returncode == 0
    assert judging.file.read_bytes().startswith(kept[: kept[:-20].rindex(b"\n") + 1])
    assert len(judging.rows()) == 6
    assert len(server.requests) == asked + 6 - kept.count(b"\n") + 1
    assert set(judging.categories().values()) == {"CC"}


def test_a_limit_of_costs_stops_cleanly(judging: Judging, server: Server) -> None:
    """1000 tokens in and 100 out cost 0.0035 USD an answer."""
    judging.evaluate(*(f"{TOY_ANSWER}\nN = {number}\n" for number in range(6)))
    (judging.folder / "prices.yaml").write_text(PRICES)
    done = judging.judge("--prices", "prices.yaml", "--max-cost", "0.006", "--workers", "1", "--json")
    assert done.returncode == 3
    assert "cost limit reached: $0.0070 of $0.006" in done.stderr
    assert done.stderr.splitlines()[-1] == "raise the cost limit to resume"
    assert "the same command" not in done.stderr
    assert [row["cost_usd"] for row in judging.rows()] == [0.0035, 0.0035]
    assert json.loads(done.stdout)["cost_usd"] == pytest.approx(0.007)
    again = judging.judge("--prices", "prices.yaml", "--max-cost", "0.006")
    assert (again.returncode, len(server.requests)) == (3, 2), "the limit is the run's, not the command's"
    more = judging.judge("--prices", "prices.yaml", "--max-cost", "1")
    assert (more.returncode, len(server.requests)) == (0, 6)
    assert "0.0210 USD" in more.stdout

    server.judge = lambda request: Reply(body=completion(verdict(request), usage=None))
    blind = judging.judge("--prices", "prices.yaml", "--max-cost", "1", "--no-cache", "--votes", "3", "--workers", "1")
    assert blind.returncode == 3
    assert "the cost limit cannot be kept" in blind.stderr
    assert len(server.requests) == 7


USELESS = {
    "no readable judgement": "I would rather not say.",
    "a refusal": Reply(body={**completion(""), "choices": [{"message": {"role": "assistant", "refusal": "No."}}]}),
    "empty": Reply(body=completion("")),
    "the wrong schema": json.dumps({"score": 5}),
    "cut at max_tokens": Reply(body=completion(opinion()[:-9], finish_reason="length")),
    "cut at max_tokens (finish_reason length)": Reply(body=completion(None, finish_reason="length")),
    "called a tool": Reply(
        body={
            **completion(""),
            "choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [{"id": "a"}]}}],
        }
    ),
    "too long": "x" * 200_000,
}


@pytest.mark.parametrize("said", USELESS)
@pytest.mark.sampled(3)
@pytest.mark.slow
def test_a_useless_judge_is_left(said: str, judging: Judging, server: Server) -> None:
    """At three requests a vote, a judge that never gives a judgement is asked for five votes, not for all."""
    judging.evaluate(*(f"{TOY_ANSWER}\nN = {number}\n" for number in range(14)))
    server.judge = lambda request: USELESS[said]
    summary = judging.here(workers=1)
    assert (summary.asked, summary.complete) == (GIVE_UP_AFTER, False)
    assert len(server.requests) == 3 * GIVE_UP_AFTER
    assert "keeps failing" in summary.stopped
    assert (said if said in TELLING else "no readable answer") in summary.stopped

    # A judgement in between starts the count again.
    judging.file.unlink()
    server.requests.clear()
    server.judge = lambda request: opinion() if len(server.requests) == 15 else USELESS[said]
    assert (judging.here(workers=1).asked, judging.here(workers=1).asked) == (10, 5)


TELLING = {"cut at max_tokens", "cut at max_tokens (finish_reason length)", "called a tool", "too long"}


def test_costs_that_nobody_counted_are_unknown(judging: Judging, server: Server) -> None:
    judging.evaluate(*(f"{TOY_ANSWER}\nN = {number}\n" for number in range(6)))
    (judging.folder / "prices.yaml").write_text(PRICES)
    together = threading.Barrier(4)

    def uncounted(request: Request) -> Reply:
        if len(server.requests) <= 4:  # one that is answered alone would end the run before the others start
            together.wait(60)
        return Reply(body=completion(verdict(request), usage=None))

    server.judge = uncounted
    limited = judging.judge("--prices", "prices.yaml", "--max-cost", "1", "--workers", "4")
    assert (limited.returncode, len(server.requests)) == (3, 4), "only the requests in flight"
    assert "cost unknown: 4 answers without usage, so the cost limit cannot be kept" in limited.stderr
    assert limited.stderr.splitlines()[-1] == "run again without a cost limit to resume"
    assert judging.judge("--prices", "prices.yaml", "--max-cost", "1").returncode == 3
    assert len(server.requests) == 4, "the cost of the existing rows is unknown"

    done = judging.judge("--prices", "prices.yaml", "--json")
    assert (done.returncode, json.loads(done.stdout)["cost_usd"]) == (0, None)
    assert {(row["cost_usd"], row["counted"]) for row in judging.rows()} == {(None, False)}
    shown = judging.judge("--prices", "prices.yaml").stdout
    assert "cost: unknown" in shown
    assert "0.0000" not in shown


def test_two_servers_with_one_name_for_a_model(judging: Judging, server: Server) -> None:
    """`default` is another model at each address: neither cache nor file takes one's judgement for the other's."""
    judging.evaluate(TOY_ANSWER)
    cache = Cache.of_user()
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
    written = judging.file.read_text() + "".join(path.read_text() for path in cache.folder.rglob("*.json"))
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
def test_the_name_of_a_server(url: str | None, name: str) -> None:
    assert server_name(url) == name


@pytest.mark.parametrize(
    "url", ["user:word@host/v1", "http://", "http://user:word@host:port/v1", "http://[", "ftp://host"]
)
def test_no_address(url: str) -> None:
    with pytest.raises(InputError, match="is not an address") as failed:
        server_name(url)
    assert "word" not in str(failed.value)


@pytest.mark.slow
def test_one_process_judges_a_run(judging: Judging, server: Server) -> None:
    judging.evaluate(TOY_ANSWER)
    server.judge = lambda request: Reply(body=completion(verdict(request)), delay_s=3)
    process = judging.start()
    while not server.requests:
        time.sleep(0.02)
    second = judging.judge()
    assert (second.returncode, second.stderr.count("\n")) == (1, 1)
    assert "another process is writing" in second.stderr
    assert process.wait(timeout=30) == 0
    assert len(judging.rows()) == 1


def test_requests_run_side_by_side_and_paced(judging: Judging, server: Server) -> None:
    judging.evaluate(*(f"{TOY_ANSWER}\nN = {number}\n" for number in range(8)))
    server.judge = lambda request: Reply(body=completion(verdict(request)), delay_s=0.3)
    judging.here(workers=4)
    assert server.most_at_once == 4
    server.requests.clear()
    judging.file.unlink()
    server.judge = verdict
    started = time.monotonic()
    judging.here(workers=8, endpoint={"requests_per_minute": 600})
    assert server.requests[-1].at - started >= 0.65


# --- answers that nobody is asked about ---------------------------------------------------------------------------


def test_too_long_an_answer_counts(judging: Judging, server: Server) -> None:
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


def test_an_answer_that_is_too_long_for_the_server_counts(judging: Judging, server: Server) -> None:
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


def test_the_reference_itself_is_not_asked_about(judging: Judging, server: Server, toy_row: dict[str, Any]) -> None:
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
    assert {(row["judge_model"], row["category"], row["cost_usd"], row["row_version"]) for row in rows} == {
        ("judge-1", "CC", 0.0, 2)
    }
    agreement = {item.model: item.agreement for item in summarise(judging.run, summary)}
    assert agreement == {"a": None, "b": None, "c": 1.0, "d": 1.0}, "nobody voted on the first two"


def test_files_of_the_first_version_are_read(judging: Judging, server: Server) -> None:
    judging.evaluate(TOY_ANSWER, WRONG)
    judging.here()
    new = ("track", "row_version", "base_url", "by", "reason", "temperature", "counted")
    rows = [{name: value for name, value in row.items() if name not in new} for row in judging.rows()]
    judging.file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert judging.categories() == {"a": "CC", "b": "LI"}
    [old] = judges(judging.run)
    assert (old.model, old.server) == ("judge-1", "")
    assert [score.overall.judge_base for score in score_runs([judging.run])] == [1, 1]
    judging.file.write_text(judging.file.read_text() + json.dumps({**rows[0], "base_url": 5}) + "\n")
    with pytest.raises(InputError, match="damaged"):
        judges(judging.run)


# --- votes --------------------------------------------------------------------------------------------------------


def test_votes(judging: Judging, server: Server) -> None:
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


def test_votes_are_added_to_those_there(judging: Judging, server: Server) -> None:
    judging.evaluate(TOY_ANSWER)
    judging.here()
    judging.here(votes=3)
    assert sorted(row["vote"] for row in judging.rows()) == [0, 1, 2]  # asked concurrently, kept as they come
    shown = judging.judge("--votes", "3")
    assert re.search(r"agreement\s+split", shown.stdout)
    assert "100.0 %" in shown.stdout


@pytest.mark.parametrize("workers", ["1", "4"])
def test_a_question_is_built_once_for_all_votes(
    workers: str, judging: Judging, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[str] = []

    def count(row: Any, prediction: Any) -> Any:
        built.append(prediction.content)
        return build_question(row, prediction)

    monkeypatch.setattr("lmrbench_evaluate.judge.judging.build_question", count)
    judging.evaluate(TOY_ANSWER, WRONG, SUBTLE)
    assert judging.judge("--votes", "5", "--workers", workers).returncode == 0
    assert len(server.requests) == 15
    assert sorted(built) == sorted([TOY_ANSWER, WRONG, SUBTLE])


def test_code_that_is_nested_too_deeply_is_not_judged(judging: Judging, server: Server) -> None:
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


def test_an_error_never_undoes_a_judgement(judging: Judging, server: Server) -> None:
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


@pytest.mark.parametrize("line", ['{"a": 1}', "[]", "nothing", '{"instance_id": "toy-scale", "status": "judged"}'])
def test_a_damaged_file_is_not_guessed_at(line: str, judging: Judging, server: Server) -> None:
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


def test_a_damaged_cache_is_no_judgement(judging: Judging, server: Server) -> None:
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
