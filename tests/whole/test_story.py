"""From a task folder to a record for the leaderboard; the network fails at each step: nothing is lost or doubled."""

import functools
import io
import json
import re
import textwrap
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from lmrbench_evaluate.hub.record import Record
from support.hub_server import Fault, Hub
from support.hub_world import DATASET, RESULTS, World
from support.openai_server import Reply, Request, Server, opinion
from support.toy_method import METHOD_ANSWER, method_reply


def judge(request: Request) -> str:
    """Multiplication is right, addition is wrong logic."""
    return opinion("LI" if "value + factor" in request.user else "CC")


def published(hub: Hub) -> tuple[list[dict[str, Any]], list[Record]]:
    """Return the published rows, and the records by configuration."""
    files = hub.files(RESULTS)
    tables = [pq.read_table(io.BytesIO(files[name])).to_pylist() for name in files if name.startswith("data/")]
    records = [Record.model_validate_json(data) for name, data in files.items() if name.startswith("verified/")]
    return [row for table in tables for row in table], sorted(records, key=lambda record: record.config)


@pytest.mark.docker
@pytest.mark.timeout(900)
def test_from_task_folder_to_leaderboard(tmp_path: Path) -> None:
    with Hub() as hub, Server() as judges:
        world = World(tmp_path, hub)

        def insist(*arguments: str, token: str = "ann", tries: int = 3) -> str:
            """Repeat the command, as a user does after a broken connection."""
            for _ in range(tries):
                done = world.lmrbench(*arguments, token=token, OPENAI_API_KEY="k", OPENAI_BASE_URL=judges.base_url)
                if done.returncode == 0:
                    return done.stdout
                assert done.returncode in (1, 3), done.stderr
                assert len(done.stderr.strip().splitlines()[-1]) < 500
            raise AssertionError(done.stdout + done.stderr)

        hub.faults = [Fault("POST .*/commit/main", "lose")]
        with pytest.raises(AssertionError, match="run the command again"):
            world.publish(check="function")
        world.ok("dataset", "push", DATASET, "--benchmark", "benchmark", "--yes")
        assert list(hub.repo(DATASET).refs) == ["main", "tags/v0.1.0"]
        assert len(hub.repo(DATASET).commits) == 2

        world.write_predictions()
        hub.faults = [Fault(f"GET /api/datasets/{DATASET}", "drop", times=1)]
        insist("evaluate", "predictions.jsonl", "--dataset", f"{DATASET}@v0.1.0", "--out", "runs/models")

        judges.judge = judge
        judges.script = [Reply(status=500), Reply(status=429, headers={"Retry-After": "1"}), Reply(body=b"{", cut=1)]
        insist("judge", "runs/models", "--model", "judge-1")
        insist("report", "runs/models", "--out", "report.html")
        assert "judge: LI" in (tmp_path / "report.html").read_text()

        hub.commit(RESULTS, {".gitattributes": b""}, "main")
        hub.faults = [
            Fault("GET /api/whoami-v2", "drop"),
            Fault("POST .*/commit/main", "lose"),
        ]
        insist("submit", "runs/models", "--to", RESULTS, "--dataset", DATASET, "--yes", token="bob")
        assert list(hub.repo(RESULTS).pull_requests) == [1]

        hub.faults = [
            Fault("GET .*/discussions/1", "drop"),
            Fault("GET .*/tree/", 500),
            Fault("POST .*/commit/main", "lose"),
            Fault("POST .*/discussions/1/status", "lose"),
        ]
        insist("verify", RESULTS, "1", "--dataset", f"{DATASET}@v0.1.0", "--yes", tries=5)
        rows, [record] = published(hub)
        assert sorted((row["model_name_or_path"], row["status"]) for row in rows) == [
            ("bad", "failed"),
            ("good", "failed"),
            ("good", "passed"),
        ]
        assert record.agreed == 3
        claims = {entry.model: entry.overall.claimed_judged for entry in record.entries}
        assert claims == {"bad": {"LI": 1}, "good": {"CC": 1, "LI": 1}}
        item = hub.repo(RESULTS).pull_requests[1]
        assert (item.status, len(item.comments)) == ("closed", 1)
        assert [commit.title.split()[0] for commit in hub.repo(RESULTS).commits.values()].count("Verified") == 1
        assert all(fault.times == 0 for fault in hub.faults)


#: An agent that tries the options that its paper may mean, until the experiment prints the reported table.
RESEARCHER = """
    import itertools, json, os, pathlib, subprocess, sys, urllib.request

    body = {"model": os.environ["LMRBENCH_MODEL"], "messages": [{"role": "user", "content": "WEIGHTS AND AVERAGES?"}]}
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]})
    ideas = json.loads(json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"])
    paper = pathlib.Path("paper.md").read_text()
    task = pathlib.Path("TASK.md").read_text()
    assert "`weigh`, `Window.total`, `Window.mean`" in task, task
    pathlib.Path("repo/scale.py").write_text(ideas["scale"])
    for weight, size in itertools.product(ideas["weights"], ideas["sizes"]):
        code = ideas["window"].replace("WEIGHT", weight).replace("SIZE", size)
        pathlib.Path("repo/window.py").write_text(code)
        command = [sys.executable, "print_table.py", "series"]
        table = subprocess.run(command, cwd="repo", capture_output=True, text=True).stdout
        if table and table in paper:
            break
"""
WINDOW = """import math

def weigh(values):
    return [WEIGHT for value in values]

class Window:
    def __init__(self, size):
        self.size = size

    def total(self, values):
        return sum(weigh(values[-self.size :]))

    def mean(self, values):
        return self.total(values) / SIZE
"""
IDEAS = {
    "scale": "def scale(values, factor):\n    return [value * factor for value in values]\n",
    "window": WINDOW,
    "weights": ["1 / (1 + 3 * value**2)", "1 - 0.3 * value", "math.exp(-value)"],
    "sizes": ["self.size", "len(values[-self.size :])", "len(values[-self.size :]) ** 0.5"],
}


def reply(request: Request) -> str:
    """Answer a judge's question, a researcher's, or a prompt, with the published method or a wrong mean."""
    if "CANDIDATE" in request.user:
        return opinion("LC" if "/ self.size" in request.user else "CC")
    if "WEIGHTS AND AVERAGES?" in request.user:
        return json.dumps(IDEAS)
    is_wrong = request.body["model"] == "wrong"
    right = method_reply(METHOD_ANSWER)
    return right.replace("/ len(values[-self.size :])", "/ self.size") if is_wrong else right


@pytest.mark.docker
@pytest.mark.timeout(900)
def test_methods_and_altered_papers_from_task_folder_to_leaderboard(tmp_path: Path) -> None:
    """A model recites the published method; an agent settles by experiment what a paper leaves open."""
    configs = ("method", "counterfactual", "underspecified")
    with Hub() as hub, Server() as models:
        world = World(tmp_path, hub)
        models.judge = reply
        ok = functools.partial(world.ok, OPENAI_API_KEY="k", OPENAI_BASE_URL=models.base_url)
        world.publish(("function", *configs))
        hub.commit(RESULTS, {".gitattributes": b""}, "main")
        (tmp_path / "agent").mkdir()
        (tmp_path / "agent" / "agent.py").write_text(textwrap.dedent(RESEARCHER))
        agent = ("agent", "run", "--agent", "python agent.py", "--agent-files", "agent", "--model", "worker")
        for config in configs:
            dataset, file = ("--dataset", f"{DATASET}@v0.1.0", "--config", config), tmp_path / f"{config}.jsonl"
            for model in ("sampler", "wrong") if config == "method" else ("sampler",):
                ok("generate", "--model", model, *dataset, "--out", file.name)
            if config == "underspecified":
                ok(*agent, *dataset, "--out", "agents")
                file.write_text(file.read_text() + (tmp_path / "agents" / "predictions.jsonl").read_text())
            ok("evaluate", file.name, *dataset, "--out", f"runs/{config}")
        for name in ("`weigh`", "`Window.total`", "`Window.mean`", "`scale`"):
            assert name in models.requests[0].user
        worked = json.loads((tmp_path / "agents" / "predictions.jsonl").read_text())["metadata"]
        assert worked["cpu_budget_s"] == 20
        assert 0 < worked["cpu_s"] < 20
        read, settled = ((tmp_path / "runs" / name / "report.md").read_text() for name in configs[1:])
        assert re.search(r"sampler \(.*\): read 0.0%, recited 100.0%, neither 0.0% of the altered choices", read), read
        assert re.search(
            r"worker \(.*\): settled 100.0% of the open choices of easy rows; guessing settles 33.3%", settled
        ), settled
        assert re.search(r"sampler \(.*\): settled 50.0% of the open choices", settled)

        ok("judge", "runs/method", "--model", "judge-1")
        for number, config in enumerate(("method", "underspecified"), start=1):
            ok("submit", f"runs/{config}", "--to", RESULTS, "--dataset", DATASET, "--yes", token="bob")
            ok("verify", RESULTS, str(number), "--dataset", f"{DATASET}@v0.1.0", "--yes")
        rows, [method, underspecified] = published(hub)
        assert {(row["model_name_or_path"], row["config"], row["core_status"]) for row in rows} == {
            ("sampler", "method", "passed"),
            ("wrong", "method", "failed"),
            ("sampler", "underspecified", "failed"),
            ("worker", "underspecified", "passed"),
        }
        facts = {entry.model: (entry.overall.reproduced, entry.overall.claimed_judged) for entry in method.entries}
        assert facts == {"sampler": (1, {"CC": 1}), "wrong": (0, {"LC": 1})}
        assert method.fresh_seeds
        [choices] = [entry.overall.choices for entry in underspecified.entries if entry.model == "worker"]
        assert (choices.total, choices.read, choices.recited) == (2, 2, 1)
        assert choices.guessed == pytest.approx(2 / 3)
