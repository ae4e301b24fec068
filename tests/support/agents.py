"""Run agents with a scripted model, a custom command or mini-swe-agent, on the toy task in real containers.

A room whose tests use the fixtures imports them in its conftest.py.
"""

import json
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import lmrbench as lmr
from lmrbench.generation.agents.agent_image import find_agent_image
from lmrbench.generation.agents.installed import PROGRAMS
from lmrbench.generation.agents.relay import HttpAnswer, Relay
from lmrbench_data.base.errors import InputError
from lmrbench_data.chat.budget import Budget
from lmrbench_data.chat.endpoint import Endpoint
from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.sandbox.base import Sandbox
from lmrbench_evaluate.sandbox.docker_client import connect
from lmrbench_evaluate.verdict.evaluator import evaluate_prediction
from lmrbench_evaluate.verdict.verdict import Status
from support.dialects import CHAT, Asked
from support.openai_server import Reply, Request, Server, completion
from support.toy import json_lines

KEY = "sk-the-real-key"
MODEL = "scripted"
ANSWER = "    return [factor * value for value in values]"
#: A custom agent: asks the model for code, writes it, runs the file, and records its actions.
PLAIN = """
    import json, os, pathlib, subprocess, sys, urllib.request

    def ask(text):
        body = {"model": os.environ["LMRBENCH_MODEL"], "messages": [{"role": "user", "content": text}]}
        request = urllib.request.Request(
            os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(),
            {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]})
        return json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]

    path = pathlib.Path("repo/scale.py")
    line = ask(pathlib.Path("TASK.md").read_text())
    path.write_text(path.read_text().replace("    raise NotImplementedError", line))
    print(subprocess.run([sys.executable, "scale.py"], cwd="repo", capture_output=True, text=True))
    pathlib.Path("trajectory").mkdir()
    pathlib.Path("trajectory/log.json").write_text(json.dumps([line]))
"""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with Server() as server:
        server.key = KEY
        server.judge = lambda request: ANSWER
        yield server


def open_relay(base_url: str, budget: Budget | None = None, max_steps: int | None = None, **more: Any) -> Relay:
    """A relay to a model server, with the settings of its endpoint."""
    endpoint = Endpoint.of(**{"model": MODEL, "base_url": base_url, **more})
    return Relay(endpoint, budget or Budget(), max_steps)


def ask_relay(relay: Relay, dialect: Asked = CHAT, betas: str = "", **more: Any) -> HttpAnswer:
    """Ask for an answer, by default a chat completion, as an agent does."""
    body = {"model": relay.model, **dialect.question, **more}
    return relay.answer("POST", dialect.path, json.dumps(body).encode(), betas)


@pytest.fixture
def run(
    tmp_path: Path, server: Server, toy_dataset: Path, docker_sandbox: Sandbox
) -> Callable[..., tuple[Any, list[dict[str, Any]]]]:
    """Run a command (its text becomes agent.py) or a named agent; return the summary and the rows."""

    def attempt(text: str = "", **settings: Any) -> tuple[Any, list[dict[str, Any]]]:
        files = tmp_path / "files"
        files.mkdir(exist_ok=True)
        (files / "agent.py").write_text(textwrap.dedent(text))
        places: dict[str, Any] = {"dataset": str(toy_dataset), "base_url": server.base_url}
        agent, model = settings.pop("agent", "python agent.py"), settings.pop("model", MODEL)
        if agent not in PROGRAMS:
            places["agent_files"] = files
        summary = lmr.run_agent(agent, model, tmp_path / "out", **{**places, **settings})
        return summary, json_lines(tmp_path / "out" / "predictions.jsonl")

    return attempt


def built(agent: str, row: Any) -> str:
    try:
        find_agent_image(connect(), agent, row["docker_image"])
    except InputError as error:
        pytest.fail(str(error))
    return agent


def solved(row: Any, patch: str, sandbox: Sandbox) -> bool:
    prediction = Prediction("toy-scale", "agent", "model_patch", patch)
    image = sandbox.prepare(row["docker_image"])
    return evaluate_prediction(row, prediction, sandbox, image).status is Status.PASSED


def calls(*tools: tuple[str, dict[str, Any]]) -> Callable[[Request], Reply]:
    """Return a model that calls these tools one after the other."""

    def say(request: Request) -> Reply:
        number = sum(message["role"] == "assistant" for message in request.body["messages"])
        name, arguments = tools[min(number, len(tools) - 1)]
        body = completion("I go on.", finish_reason="tool_calls")
        function = {"name": name, "arguments": json.dumps(arguments)}
        body["choices"][0]["message"]["tool_calls"] = [{"id": f"c{number}", "type": "function", "function": function}]
        return Reply(body=body)

    return say


def bash(command: str) -> tuple[str, dict[str, Any]]:
    """Return a call of mini-swe-agent's tool."""
    return "bash", {"command": command}


READ = "cat repo/scale.py; ls -a; id -u"
EDIT = f"sed -i 's/    raise NotImplementedError/{ANSWER}/' repo/scale.py"
TRY = "cd repo && python scale.py"
DONE = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
