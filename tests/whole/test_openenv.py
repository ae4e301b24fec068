"""LMR-Bench as an OpenEnv environment: the real server of `cards/openenv/`, its client, and OpenEnv's generic one.

OpenEnv takes seconds to import, so each test does it when it runs.
"""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import lmrbench_data as lmr
from lmrbench_data.base.errors import InfraError
from lmrbench_data.dataset.build import write_dataset
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.generation.prompt import build_prompt
from lmrbench_data.loader import row_sha256
from lmrbench_data.tasks.manifest import load_benchmark
from lmrbench_evaluate.sandbox.base import Limits, Outcome
from lmrbench_evaluate.sandbox.local import LocalSandbox
from support.toy import TOY_ANSWER

pytestmark = pytest.mark.slow

SPACE = Path(__file__).resolve().parents[2] / "cards" / "openenv"
WRONG = TOY_ANSWER.replace("* factor", "+ factor")
WAIT_S = 250


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory, toy_row: DatasetRow) -> str:
    """The toy task under two names."""
    folder = tmp_path_factory.mktemp("openenv") / "toy"
    rows = [{**toy_row, "instance_id": f"toy-{name}", "paper_title": f"Paper {name}"} for name in "ab"]
    write_dataset([{**row, "row_sha256": row_sha256(row)} for row in rows], folder, load_benchmark())
    return str(folder)


def start(**variables: str) -> "subprocess.Popen[str]":
    """Start the server as the Dockerfile does, on a free port."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LMRBENCH_")}
    command = [sys.executable, "-m", "server.app", "--port", "0"]
    return subprocess.Popen(command, cwd=SPACE, env={**environment, **variables}, stderr=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def url(dataset: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running server, which must exit cleanly."""
    log = tmp_path_factory.mktemp("server") / "log"
    variables = {"LMRBENCH_CACHE": os.environ["LMRBENCH_CACHE"], "LMRBENCH_SESSIONS": "6", "LMRBENCH_PAPER": "none"}
    with start(LMRBENCH_DATASET=dataset, LMRBENCH_SANDBOX="local", **variables) as server, log.open("w") as copy:
        assert server.stderr is not None
        lines = []
        for line in server.stderr:
            lines.append(line)
            if found := re.search(r"running on (http://\S+)", line):
                break
        else:
            pytest.fail("".join(lines))
        # Keep reading: a full pipe would stop the server.
        with ThreadPoolExecutor(1) as reader:
            rest = reader.submit(lambda: copy.writelines(server.stderr or ()))
            yield found[1]
            server.send_signal(signal.SIGTERM)
            rest.result()
    assert "shutdown complete" in log.read_text()
    assert "Traceback" not in log.read_text()


def client(url: str) -> Any:
    from lmrbench_data.openenv import LMRBenchEnv

    return LMRBenchEnv(url, message_timeout_s=WAIT_S, connect_timeout_s=WAIT_S).sync()


def act(answer: str, instance_id: str = "") -> Any:
    from lmrbench_data.openenv import LMRBenchAction

    return LMRBenchAction(answer=answer, instance_id=instance_id)


def test_the_golden_answer_gets_the_whole_reward(url: str, toy_row: DatasetRow) -> None:
    with client(url) as env:
        shown = env.reset(instance_id="toy-b")
        assert (shown.observation.instance_id, shown.reward, shown.done) == ("toy-b", None, False)
        prompt = build_prompt({**toy_row, "instance_id": "toy-b", "paper_title": "Paper b"})
        assert shown.observation.messages == list(prompt.messages)
        assert env.state().instance_id == "toy-b"
        right = env.step(act(f"Here it is:\n```python\n{toy_row['golden_file']}```"))
        assert (right.reward, right.done, right.observation.status) == (1.0, True, "passed")
        assert right.observation.reproduced
        env.reset(instance_id="toy-b")
        wrong = env.step(act(WRONG))
        assert (wrong.reward, wrong.observation.status) == (0.0, "failed")
        assert "case_random_values seed 0" in wrong.observation.reason
        prose = env.step(act("I cannot.", "toy-a"))
        assert (prose.reward, prose.observation.status, prose.observation.instance_id) == (0.0, "malformed", "toy-a")
        seeded = {env.reset(seed=3).observation.instance_id for _ in range(3)}
        assert len(seeded) == 1


def test_the_example_of_the_docs_runs(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    page = (SPACE.parents[1] / "docs" / "training.md").read_text(encoding="utf-8")
    [block] = [block for block in re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S) if "LMRBenchEnv(" in block]
    exec(block.replace("http://localhost:8000", url).replace("empathy-gap-delta", "toy-a"), {"replies": [WRONG]})
    assert capsys.readouterr().out.startswith("0.0 failed case_random_values seed 0: ")


def test_openenv_accepts_the_server_and_the_space(url: str) -> None:
    """Its own validator: the manifest, the files that `openenv push` needs, the routes of the server."""
    from openenv.cli.__main__ import app
    from typer.testing import CliRunner

    for target in ([str(SPACE), "--level", "static"], ["--url", url, "--timeout", str(WAIT_S)]):
        done = CliRunner().invoke(app, ["validate", *target])
        assert done.exit_code == 0, done.output
        assert "Verdict: PASS" in done.output
        assert "FAIL" not in done.output
    for name in ("openenv.yaml", "__init__.py", "client.py", "README.md", "Dockerfile", "pyproject.toml"):
        assert (SPACE / name).is_file(), name


def test_clients_at_once_have_sessions_of_their_own(url: str) -> None:
    def play(number: int) -> list[tuple[str, float]]:
        found = []
        with client(url) as env:
            for turn in range(2):
                right = (number + turn) % 2
                env.reset(instance_id=f"toy-{'ab'[number % 2]}")
                result = env.step(act(f"{TOY_ANSWER if right else WRONG}\n# {number} {turn}\n"))
                found.append((result.observation.instance_id, result.reward))
        return found

    with ThreadPoolExecutor(5) as threads:
        assert list(threads.map(play, range(5))) == [
            [(f"toy-{'ab'[number % 2]}", float((number + turn) % 2)) for turn in range(2)] for number in range(5)
        ]


def test_a_malformed_action_is_an_error_message(url: str) -> None:
    """In the same session the next action is scored; a client that does not speak the protocol ends only its own."""
    from openenv import GenericEnvClient
    from websockets.sync.client import connect

    with GenericEnvClient(url, message_timeout_s=WAIT_S).sync() as env:
        with pytest.raises(RuntimeError, match="reset first, or name an instance_id"):
            env.step({"answer": TOY_ANSWER})
        with pytest.raises(RuntimeError, match=r"'toy-z' is unknown .*; one of: toy-a, toy-b"):
            env.reset(instance_id="toy-z")
        with pytest.raises(RuntimeError, match=r"reset: 'instanceid' is unknown.*did you mean 'instance_id'"):
            env.reset(instanceid="toy-a")
        with pytest.raises(RuntimeError, match="seed"):
            env.reset(seed="a")
        env.reset(instance_id="toy-a")
        for action in ({}, {"answer": 7}, {"answer": TOY_ANSWER, "shell": "ls"}, {"answer": TOY_ANSWER, "type": "x"}):
            with pytest.raises(RuntimeError, match="VALIDATION_ERROR"):
                env.step(action)
        with pytest.raises(RuntimeError, match="instance_id: 'toy-z' is unknown"):
            env.step({"answer": TOY_ANSWER, "instance_id": "toy-z"})
        assert env.step({"answer": "\ud800 half"}).observation["status"] == "malformed"
        for frame in ("{", "[]", "7", json.dumps({"type": "step"}), json.dumps({"type": "step", "data": []})):
            with connect(url.replace("http", "ws") + "/ws", open_timeout=WAIT_S) as socket:
                socket.send(frame)
                assert json.loads(socket.recv(WAIT_S))["type"] == "error", frame
        assert env.step({"answer": TOY_ANSWER, "instance_id": "toy-b"}).reward == 1.0


@pytest.mark.parametrize(
    ("path", "body", "code", "said"),
    [
        ("step", {"action": {"answer": TOY_ANSWER, "instance_id": "toy-a"}}, 200, '"reward":1.0'),
        ("step", {"action": {"answer": TOY_ANSWER}}, 400, "reset first, or name an instance_id"),
        ("step", {"action": {"reply": ""}}, 422, "answer"),
        ("reset", {"instance_id": "toy-z"}, 400, "'toy-z' is unknown"),
        ("reset", {"instance_id": 5}, 400, "instance_id: give text, not 5"),
    ],
)
def test_requests_without_a_session_are_answered(url: str, path: str, body: Any, code: int, said: str) -> None:
    data = json.dumps(body).encode()
    request = urllib.request.Request(f"{url}/{path}", data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=WAIT_S) as response:
            found, text = response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        found, text = error.code, error.read().decode()
    assert (found, said in text) == (code, True), text


def test_a_server_that_cannot_work_says_why(dataset: str) -> None:
    _, shown = start(LMRBENCH_DATASET=dataset, LMRBENCH_SANDBOX="locl").communicate(timeout=WAIT_S)
    assert shown.startswith("error: sandbox 'locl': expected ")


class BrokenSandbox(LocalSandbox):
    """A sandbox on a machine that is always full."""

    def run(self, image: str, workspace: bytes, limits: Limits, **_: Any) -> Outcome:
        raise InfraError("no space left on device")


def test_a_failure_of_the_machinery_has_no_reward(dataset: str) -> None:
    from lmrbench_data.openenv import LMRBenchEnvironment

    path = f"{__name__}:{BrokenSandbox.__name__}"
    with lmr.Scorer(dataset=dataset, isolation="container", sandbox=path) as scorer:
        env = LMRBenchEnvironment(scorer, {"toy-a": []})
        env.reset()
        found = asyncio.run(env.step_async(act(TOY_ANSWER)))
    assert (found.reward, found.status, found.done) == (None, "infra_error", True)
