"""The whole story, once for each configuration; with the network failing at each step, nothing is lost or doubled."""

import io
import json
import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from lmrbench_data.dataset.load import load_rows
from lmrbench_data.dataset.rows import golden_files_of
from lmrbench_evaluate.hub.record import Record
from support.hub_server import Fault, Hub
from support.hub_world import DATASET, RESULTS, World
from support.openai_server import Reply, Request, Server, opinion
from support.space_app import PATIENCE_S, served_space
from support.toy_method import METHOD_REPLY

if TYPE_CHECKING:
    from selenium.webdriver import Chrome


def judge(request: Request) -> str:
    """Multiplication is right, addition is wrong logic."""
    return opinion("LI" if "value + factor" in request.user else "CC")


def records(hub: Hub) -> dict[str, Record]:
    """Return the published records by configuration."""
    found = [Record.model_validate_json(data) for name, data in hub.files(RESULTS).items() if name[:9] == "verified/"]
    return {record.config: record for record in found}


@pytest.mark.docker
@pytest.mark.timeout(900)
def test_from_task_folder_to_leaderboard(tmp_path: Path, browser: "Chrome") -> None:
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
        world.publish(check=["function"])
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
        files = hub.files(RESULTS)
        [data] = [name for name in files if name.startswith("data/")]
        [record] = [name for name in files if name.startswith("verified/")]
        rows = pq.read_table(io.BytesIO(files[data])).to_pylist()
        assert sorted((row["model_name_or_path"], row["status"]) for row in rows) == [
            ("bad", "failed"),
            ("good", "failed"),
            ("good", "passed"),
        ]
        facts = json.loads(files[record])
        assert facts["agreed"] == 3
        claims = {entry["model"]: entry["overall"]["claimed_judged"] for entry in facts["entries"]}
        assert claims == {"bad": {"LI": 1}, "good": {"CC": 1, "LI": 1}}
        item = hub.repo(RESULTS).pull_requests[1]
        assert (item.status, len(item.comments)) == ("closed", 1)
        assert [commit.title.split()[0] for commit in hub.repo(RESULTS).commits.values()].count("Verified") == 1
        assert all(fault.times == 0 for fault in hub.faults)

        (tmp_path / "space").mkdir()
        with served_space(hub, RESULTS, tmp_path / "space") as address:
            browser.get(address)
            rows = WebDriverWait(browser, PATIENCE_S).until(
                lambda chrome: chrome.find_elements(By.CSS_SELECTOR, "#board tbody tr")
            )
            ranked = [row.text for row in rows]
            assert [next(name for name in ("good", "bad") if name in text) for text in ranked[:2]] == ["good", "bad"]
            assert "50.0" in ranked[0]


#: An agent that asks the model what to write into one file after the other.
AGENT = """
    import json, os, pathlib, urllib.request

    def ask(text):
        body = {"model": os.environ["LMRBENCH_MODEL"], "messages": [{"role": "user", "content": text}]}
        request = urllib.request.Request(
            os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(),
            {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]})
        return json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]

    task = pathlib.Path("TASK.md").read_text()
    assert "`weigh`, `Window.total`, `Window.mean`" in task, task
    for name in ("window.py", "scale.py"):
        path = pathlib.Path("repo") / name
        path.write_text(ask(f"FILE {name}\\n{task}\\n{path.read_text()}"))
"""
WINDOW = """
import math


def weigh(values):
    return [math.exp(-value) for value in values]


class Window:
    def __init__(self, size):
        self.size = size

    def total(self, values):
        return sum(weigh(values[-self.size :]))

    def mean(self, values):
        return self.total(values) / self.size
"""
SCALE = "def scale(values, factor):\n    return [value * factor for value in values]\n"


def write_method(request: Request) -> str:
    """Answer a prompt for a method, an agent's question for one file, or a judge's question."""
    if "CANDIDATE" in request.user:
        return opinion("LC" if "/ self.size" in request.user else "CC")
    if "FILE window.py" in request.user:
        return WINDOW
    if "FILE scale.py" in request.user:
        return SCALE
    return METHOD_REPLY


@pytest.mark.docker
@pytest.mark.timeout(900)
def test_methods_from_task_folder_to_leaderboard(tmp_path: Path) -> None:
    with Hub() as hub, Server() as models:
        world = World(tmp_path, hub)
        models.judge = write_method
        dataset = ("--dataset", f"{DATASET}@v0.1.0", "--config", "method")

        def ok(*arguments: str, token: str = "ann") -> str:
            done = world.lmrbench(*arguments, token=token, OPENAI_API_KEY="k", OPENAI_BASE_URL=models.base_url)
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout

        world.publish(("function", "method"), check=["method"], real="08-step-length")
        toy = ("--instance", "toy-method")
        ok("generate", "--model", "sampler", *dataset, *toy, "--out", "answers.jsonl")
        [prompt] = models.requests
        for name in ("`weigh`", "`Window.total`", "`Window.mean`", "`scale`"):
            assert name in prompt.user
        (tmp_path / "agent").mkdir()
        (tmp_path / "agent" / "agent.py").write_text(textwrap.dedent(AGENT))
        agent = ("--agent", "python agent.py", "--agent-files", "agent", "--model", "worker", "--out", "agents")
        ok("agent", "run", *agent, *dataset, *toy)
        row = next(row for row in load_rows(config="method") if row["instance_id"] == "step-length-method")
        answer = {"files": golden_files_of(row), "model_name_or_path": "author", "track": "paper"}
        real = {"instance_id": "step-length-method", **answer}
        with (tmp_path / "answers.jsonl").open("a") as file:
            file.write((tmp_path / "agents" / "predictions.jsonl").read_text() + json.dumps(real) + "\n")

        ok("evaluate", "answers.jsonl", *dataset, "--out", "runs/methods")
        results = [json.loads(line) for line in (tmp_path / "runs/methods/results.jsonl").read_text().splitlines()]
        found = {row["model_name_or_path"]: row for row in results}
        assert (found["sampler"]["core_status"], found["worker"]["core_status"]) == ("passed", "failed")
        functions = {item["name"]: item["status"] for item in found["worker"]["functions"]}
        assert functions == {"weigh": "passed", "Window.total": "passed", "Window.mean": "failed"}

        ok("judge", "runs/methods", "--model", "judge-1")
        ok("report", "runs/methods", "--out", "report.html")
        page = (tmp_path / "report.html").read_text()
        assert "judge: LC" in page
        assert "Window.mean" in page
        assert "Window.mean" in ok("show", "runs/methods", "toy-method", "--model", "worker")

        hub.commit(RESULTS, {".gitattributes": b""}, "main")
        ok("submit", "runs/methods", "--to", RESULTS, "--dataset", DATASET, "--yes", token="bob")
        ok("verify", RESULTS, "1", "--dataset", f"{DATASET}@v0.1.0", "--yes")
        files = hub.files(RESULTS)
        [data] = [name for name in files if name.startswith("data/")]
        rows = pq.read_table(io.BytesIO(files[data])).to_pylist()
        assert sorted((row["model_name_or_path"], row["config"], row["core_status"]) for row in rows) == [
            ("author", "method", "passed"),
            ("sampler", "method", "passed"),
            ("worker", "method", "failed"),
        ]
        record = records(hub)["method"]
        reproduced = {entry.model: entry.overall.reproduced for entry in record.entries}
        assert reproduced == {"author": 1, "sampler": 1, "worker": 0}
        assert record.fresh_seeds


#: An agent that tries the options that its paper may mean, until the experiment prints the reported table.
RESEARCHER = """
    import itertools, json, os, pathlib, subprocess, sys, urllib.request

    body = {"model": os.environ["LMRBENCH_MODEL"], "messages": [{"role": "user", "content": "WEIGHTS AND AVERAGES?"}]}
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]})
    ideas = json.loads(json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"])
    paper = pathlib.Path("paper.md").read_text()
    pathlib.Path("repo/scale.py").write_text(ideas["scale"])
    for weight, size in itertools.product(ideas["weights"], ideas["sizes"]):
        code = ideas["window"].replace("WEIGHT", weight).replace("SIZE", size)
        pathlib.Path("repo/window.py").write_text(code)
        command = [sys.executable, "print_table.py", "series"]
        table = subprocess.run(command, cwd="repo", capture_output=True, text=True).stdout
        if table and table in paper:
            break
"""
IDEAS = {
    "scale": SCALE,
    "window": WINDOW.replace("math.exp(-value)", "WEIGHT").replace("/ self.size", "/ SIZE"),
    "weights": ["1 / (1 + 3 * value**2)", "1 - 0.3 * value", "math.exp(-value)"],
    "sizes": ["self.size", "len(values[-self.size :])", "len(values[-self.size :]) ** 0.5"],
}


def wonder(request: Request) -> str:
    """Answer a researcher's question with ideas, a prompt with the published method, and a judge's question."""
    if "CANDIDATE" in request.user:
        return opinion("CC")
    return json.dumps(IDEAS) if "WEIGHTS AND AVERAGES?" in request.user else METHOD_REPLY


@pytest.mark.docker
@pytest.mark.timeout(900)
def test_altered_papers_from_task_folder_to_leaderboard(tmp_path: Path) -> None:
    """A model recites the published method; an agent settles by experiment what a paper leaves open."""
    configs = ("counterfactual", "underspecified")
    with Hub() as hub, Server() as models:
        world = World(tmp_path, hub)
        models.judge = wonder

        def ok(*arguments: str, token: str = "ann") -> str:
            done = world.lmrbench(*arguments, token=token, OPENAI_API_KEY="k", OPENAI_BASE_URL=models.base_url)
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout

        world.publish(("function", "method", *configs), check=configs)
        hub.commit(RESULTS, {".gitattributes": b""}, "main")
        (tmp_path / "agent").mkdir()
        (tmp_path / "agent" / "agent.py").write_text(textwrap.dedent(RESEARCHER))
        agent = ("--agent", "python agent.py", "--agent-files", "agent", "--model", "worker")
        for config in configs:
            dataset = ("--dataset", f"{DATASET}@v0.1.0", "--config", config)
            ok("generate", "--model", "sampler", *dataset, "--out", f"{config}.jsonl")
            ok("agent", "run", *agent, *dataset, "--out", config)
            with (tmp_path / f"{config}.jsonl").open("a") as file:
                file.write((tmp_path / config / "predictions.jsonl").read_text())
            ok("evaluate", f"{config}.jsonl", *dataset, "--out", f"runs/{config}")
            ok("judge", f"runs/{config}", "--model", "judge-1")
        worked = json.loads((tmp_path / "underspecified" / "predictions.jsonl").read_text())["metadata"]
        assert worked["cpu_budget_s"] == 20
        assert 0 < worked["cpu_s"] < 20

        ok("report", "runs/counterfactual", "--out", "read.md")
        ok("report", "runs/underspecified", "--out", "settled.md")
        read, settled = ((tmp_path / name).read_text() for name in ("read.md", "settled.md"))
        assert re.search(r"sampler \(.*\): read 0.0%, recited 100.0%, neither 0.0% of the altered choices", read), read
        assert re.search(
            r"worker \(.*\): settled 100.0% of the open choices of easy rows; guessing settles 33.3%", settled
        ), settled
        assert re.search(r"sampler \(.*\): settled 50.0% of the open choices", settled)
        shown = ok("show", "runs/underspecified", "toy-underspecified-1", "--model", "worker")
        assert "## Verdict: reproduced" in shown
        assert "root (stated)" in shown

        for number, config in enumerate(configs, start=1):
            ok("submit", f"runs/{config}", "--to", RESULTS, "--dataset", DATASET, "--yes", token="bob")
            ok("verify", RESULTS, str(number), "--dataset", f"{DATASET}@v0.1.0", "--yes")
        files = hub.files(RESULTS)
        tables = [pq.read_table(io.BytesIO(files[name])).to_pylist() for name in files if name.startswith("data/")]
        rows = [row for table in tables for row in table]
        assert {(row["model_name_or_path"], row["config"], row["core_status"]) for row in rows} == {
            ("sampler", "counterfactual", "failed"),
            ("worker", "counterfactual", "failed"),
            ("sampler", "underspecified", "failed"),
            ("worker", "underspecified", "passed"),
        }
        worker = next(entry for entry in records(hub)["underspecified"].entries if entry.model == "worker")
        choices = worker.overall.choices
        assert (choices.total, choices.read, choices.recited) == (2, 2, 1)
        assert choices.guessed == pytest.approx(2 / 3)
