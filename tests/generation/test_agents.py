"""`lmrbench agent run` on real containers: a scripted model makes real agents read, edit, run and finish."""

import io
import json
import os
import re
import subprocess
import textwrap
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lmrbench.analyse.sessions import count_actions
from lmrbench.generation.agents.agent_image import agent_image, find_agent_image
from lmrbench.generation.agents.agent_runs import open_agent, run_agent
from lmrbench.generation.agents.box import open_box
from lmrbench.generation.settings import AgentSettings
from lmrbench_data.base.errors import ArgumentError, InfraError, InputError
from lmrbench_data.chat.budget import Budget, Price
from lmrbench_evaluate.sandbox.base import Sandbox
from lmrbench_evaluate.sandbox.docker import PROCESS_LABEL
from lmrbench_evaluate.sandbox.docker_client import connect
from support import warm_cli
from support.agents import (
    ANSWER,
    DONE,
    EDIT,
    KEY,
    MODEL,
    PLAIN,
    READ,
    TRY,
    ask_relay,
    bash,
    built,
    calls,
    open_relay,
    solved,
)
from support.command_line import PROGRAM
from support.dialects import NEW, message, message_events, stream, turns
from support.openai_server import Reply, Request, Server, completion
from support.sandboxes import until
from support.toy import json_lines


def containers(process: int) -> list[str]:
    """The agents' containers of one process; tests that run at the same time have others."""
    return [
        item["Id"]
        for item in connect().containers(all=True, filters={"label": f"{PROCESS_LABEL}={process}"})
        if "end = time" in item["Command"]
    ]


@pytest.mark.docker
def test_command_asks_edits_and_is_not_run_twice(
    run: Any, server: Server, toy_row: Any, local_sandbox: Sandbox, tmp_path: Path
) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text(f"{MODEL}: {{input_per_mtok: 1.0, output_per_mtok: 10.0}}\n")
    summary, rows = run(PLAIN, samples=2, prices=prices)
    assert (summary.done, summary.complete, len(rows)) == (2, True, 2)
    assert solved(toy_row, rows[0]["model_patch"], local_sandbox)
    assert {(row["setting"], row["track"], row["model_name_or_path"]) for row in rows} == {
        ("agent:agent", "paper", MODEL)
    }
    facts = rows[0]["metadata"]
    assert (facts["steps"], facts["input_tokens"], facts["output_tokens"]) == (1, 1000, 100)
    assert facts["cost_usd"] == pytest.approx(0.002)
    assert facts["exit_status"] == "exit 0"
    assert 0 < facts["cpu_s"] < 60
    assert "cpu_budget_s" not in facts
    kept = tmp_path / "out" / "trajectories" / "toy-scale-0"
    assert json.loads((kept / "agent" / "log.json").read_text()) == [ANSWER]
    assert "returncode=0" in (kept / "output.log").read_text()
    assert server.requests[0].user.startswith("# Task")
    asked = len(server.requests)
    summary, rows = run(PLAIN, samples=2, prices=prices)
    assert (summary.done, summary.kept, len(rows), len(server.requests)) == (0, 2, 2, asked)
    with pytest.raises(ArgumentError, match="another model, agent or track"):
        run(PLAIN, track="contract")
    with pytest.raises(ArgumentError, match=r"for other settings .max_steps was 100, is 7.;"):
        run(PLAIN, samples=2, prices=prices, max_steps=7)
    with pytest.raises(ArgumentError, match=r"for other settings .agent_files was \w+, is \w+.;"):
        run(PLAIN + "# Other.\n", samples=2)
    with pytest.raises(ArgumentError, match=rf"for other settings .model was {MODEL}, is other.;"):
        run(PLAIN, samples=2, model="other", name=MODEL)
    assert len(server.requests) == asked


@pytest.mark.docker
def test_container_holds_nothing_of_host_or_answer(run: Any, tmp_path: Path) -> None:
    (tmp_path / "secret-of-the-host").write_text("x")
    _, rows = run("""
        import json, os, pathlib, shutil, socket, subprocess, urllib.request, urllib.error
        found = {}
        def tried(name, call):
            try:
                found[name] = repr(call())[:300]
            except Exception as error:
                found[name] = type(error).__name__
        tried("network", lambda: socket.create_connection(("1.1.1.1", 53), 3))
        tried("names", lambda: socket.gethostbyname("example.org"))
        tried("write", lambda: open("/usr/x", "w"))
        tried("agent", lambda: open("/agent/agent.py", "a"))
        tried("root", lambda: os.setuid(0))
        body = {"model": os.environ["LMRBENCH_MODEL"], "messages": [{"role": "user", "content": "x"}]}
        urllib.request.urlopen("http://127.0.0.1:8000/v1/chat/completions", json.dumps(body).encode())
        tried("metadata", lambda: urllib.request.urlopen("http://127.0.0.1:8000/v1/files").read())
        found["uid"] = os.getuid()
        found["interfaces"] = sorted(os.listdir("/sys/class/net"))
        found["environment"] = dict(os.environ)
        found["work"] = sorted(map(str, pathlib.Path(".").rglob("*")))
        found["git"] = shutil.which("git")
        found["mounts"] = pathlib.Path("/proc/mounts").read_text()
        text = b"".join(path.read_bytes() for path in pathlib.Path(".").rglob("*") if path.is_file())
        found["golden"] = b"scaled = [" in text
        pathlib.Path("trajectory").mkdir()
        pathlib.Path("trajectory/found.json").write_text(json.dumps(found))
    """)
    assert rows[0]["metadata"]["exit_status"] == "exit 0"
    found = json.loads((tmp_path / "out" / "trajectories" / "toy-scale-0" / "agent" / "found.json").read_text())
    assert found["interfaces"] == ["lo"]
    assert (found["network"], found["names"]) == ("OSError", "gaierror")
    assert (found["write"], found["agent"], found["root"]) == ("OSError", "PermissionError", "PermissionError")
    assert found["metadata"] == "HTTPError"
    assert found["uid"] == 65534
    assert found["golden"] is False
    assert found["git"] is None
    repo = {"README.md", "helpers.py", "scale.py", "tests", "tests/test_smoke.py"}
    assert set(found["work"]) == {"TASK.md", "paper.md", "repo", *(f"repo/{name}" for name in repo)}
    everything = json.dumps(found)
    assert KEY not in everything
    assert "secret-of-the-host" not in everything
    assert str(tmp_path) not in everything
    assert rows[0]["model_patch"] == ""


@pytest.mark.docker
def test_hanging_agent_is_stopped_and_its_changes_count(run: Any, toy_row: Any, local_sandbox: Sandbox) -> None:
    """It solves the task, then forks up to the limit, and never ends."""
    _, rows = run(
        PLAIN
        + """
    import os, time
    while True:
        try:
            os.fork()
        except OSError:
            time.sleep(1000)
    """,
        timeout_s=8.0,
    )
    facts = rows[0]["metadata"]
    assert facts["exit_status"] == "time_limit"
    assert 7 < facts["duration_s"] < 60
    assert solved(toy_row, rows[0]["model_patch"], local_sandbox), facts
    assert not containers(os.getpid())


@pytest.mark.docker
def test_failing_server_leaves_no_row(run: Any, server: Server, tmp_path: Path) -> None:
    server.judge = lambda request: Reply(503, {"error": {"message": "overloaded"}})
    summary, rows = run(PLAIN)
    assert rows == []
    assert (summary.errors, summary.complete) == (1, False)
    assert "503" in summary.first_error
    server.judge = lambda request: ANSWER
    assert run(PLAIN)[0].done == 1
    (tmp_path / "out" / "predictions.jsonl").unlink(missing_ok=True)
    summary, rows = run("print('an agent that asks nothing')")
    assert (rows, summary.complete, "no request of the agent" in summary.first_error) == ([], False, True)


#: Asks three times, and repeats what is refused for ever; edits after each answer.
PATIENT = """
    import json, os, pathlib, time, urllib.error, urllib.request

    body = {"model": os.environ["LMRBENCH_MODEL"], "messages": [{"role": "user", "content": "x"}]}
    address = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    for number in range(3):
        while True:
            try:
                urllib.request.urlopen(urllib.request.Request(address, json.dumps(body).encode()))
                break
            except urllib.error.HTTPError:
                time.sleep(0.5)
        with pathlib.Path("repo/scale.py").open("a") as file:
            file.write(f"# {number}\\n")
"""


@pytest.mark.docker
def test_refused_requests_are_no_answer_and_are_counted(run: Any, server: Server, tmp_path: Path) -> None:
    busy, good = Reply(429, {"error": {"message": "Rate limit reached"}}), Reply(body=completion("x"))
    server.script = [good, busy, busy, good, good]
    _, [row] = run(PATIENT, body={"reasoning_effort": "none"})
    facts = row["metadata"]
    assert (facts["steps"], facts["refused"], facts["exit_status"]) == (3, 2, "exit 0")
    assert server.requests[-1].body["reasoning_effort"] == "none"
    (tmp_path / "out" / "predictions.jsonl").unlink(missing_ok=True)
    server.script, server.judge = [good], lambda request: busy
    summary, rows = run(PATIENT, timeout_s=5.0)
    assert (rows, summary.errors, summary.stopped) == ([], 1, "")
    assert re.search(r"429: Rate limit reached .\d+ requests without an answer", summary.first_error)


@pytest.mark.docker
def test_account_without_credit_ends_the_run(run: Any, server: Server) -> None:
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": "Your credit balance is too low."}}
    server.script = [Reply(body=completion("x"))] * 4
    server.judge = lambda request: Reply(400, error)
    summary, rows = run(PATIENT, samples=3, workers=1)
    assert (len(rows), rows[0]["metadata"]["steps"], summary.complete) == (1, 3, False)
    assert summary.stopped.startswith("the account has no credit left: ")
    assert len(server.requests) == 6, (
        "the last one is the relay's own: it proves that no text of the agent's is at fault"
    )


def test_relay_lists_models_and_enforces_limits(server: Server) -> None:
    relay = open_relay(server.base_url, max_steps=2)
    assert relay.answer("GET", "/v1/models", b"").status == 200
    assert not server.requests
    assert [ask_relay(relay).status for _ in range(3)] == [200, 200, 403]
    assert (relay.limit, relay.usage.steps) == ("step_limit", 2)
    relay = open_relay(server.base_url, budget=Budget(0.003, Price(input_per_mtok=1.0, output_per_mtok=10.0)))
    assert [ask_relay(relay).status for _ in range(3)] == [200, 200, 403]
    assert relay.limit == "cost_limit"
    stream = Reply(
        body=b'data: {}\n\ndata: {"usage": {"prompt_tokens": 7, "completion_tokens": 3}}\n\ndata: [DONE]\n',
        headers={"Content-Type": "text/event-stream"},
    )
    server.script = [stream]
    relay = open_relay(server.base_url)
    assert ask_relay(relay, stream=True).status == 200
    assert relay.usage.tokens == (7, 3, 0, 0)


def test_ignored_limit_is_sent_by_its_other_name_and_warned_of(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    server.judge = lambda request: Reply(body=completion("x", usage=(10, request.body.get("max_tokens", 5000))))
    relay = open_relay(server.base_url, max_tokens=900)
    assert [ask_relay(relay).status for _ in range(2)] == [200, 200]
    limits = [{name for name in request.body if name.startswith("max_")} for request in server.requests]
    assert limits == [{"max_completion_tokens"}, {"max_tokens"}]
    [warning] = caplog.messages
    assert "ignores max_completion_tokens (5,000 tokens, not 900); max_tokens is sent instead" in warning


QUOTED = f"Incorrect API key provided: {KEY}"
BROKEN = f'data: {{"choices": []}}\n\ndata: {{"error": {{"message": "{QUOTED}"}}}}\n\n'.encode()
TOO_LONG = {"error": {"message": f"This model's maximum context length is 9 tokens ({KEY}).", "code": None}}


@pytest.mark.parametrize(
    ("reply", "status", "code", "reason"),
    [
        (Reply(401, {"error": {"message": QUOTED}}), 401, "relay", "refuses the key.*provided: [*]{3}"),
        (Reply(500, {"detail": QUOTED}), 500, "relay", "500: .*provided: [*]{3}"),
        (
            Reply(429, QUOTED, {"Retry-After": "7"}),
            429,
            "relay",
            "429: .*provided: [*]{3}.*1 request without an answer",
        ),
        (Reply(200, BROKEN, {"Content-Type": "text/event-stream"}), 502, "relay", "broke off: .*provided: [*]{3}"),
        (Reply(400, TOO_LONG), 400, "context_length_exceeded", "maximum context length is 9 tokens .[*]{3}"),
        (Reply(400, {"error": {"message": "Use /v1/responses instead."}}), 400, "relay", "--body 'reasoning_effort="),
        (Reply(402, {"error": {"message": "No."}}), 402, "relay", "no credit left"),
    ],
)
def test_error_of_the_server_stays_outside(server: Server, reply: Reply, status: int, code: str, reason: str) -> None:
    server.judge = lambda request: reply
    relay = open_relay(server.base_url)
    answer = ask_relay(relay)
    assert (answer.status, json.loads(answer.body)["error"]["code"]) == (status, code)
    assert answer.retry_after == reply.headers.get("Retry-After", "")
    assert KEY.encode() not in answer.body
    with pytest.raises(InfraError, match=reason) as raised:
        relay.check()
    assert KEY not in str(raised.value)


def test_agent_cannot_end_the_run_by_what_it_asks(server: Server) -> None:
    """A firewall that dislikes its text, and an error that repeats it."""
    relay = open_relay(server.base_url)
    for status, error in ((403, "blocked by the firewall"), (400, "'my credit balance' is not a tool")):
        server.script = [Reply(status, {"error": {"message": error}})]
        assert ask_relay(relay).status == status
        with pytest.raises(InfraError, match=error) as raised:
            relay.check()
        assert type(raised.value) is InfraError
        assert "OPENAI_API_KEY" not in str(raised.value), "another request with it was answered"
    assert ask_relay(relay).status == 200
    relay.check()


def test_relay_is_closed_at_any_time_and_twice(server: Server) -> None:
    for _ in range(50):
        relay = open_relay(server.base_url)
        relay.close()
        relay.close()
    assert ask_relay(relay).status == 403


def test_request_that_cannot_be_sent_is_refused_at_once(server: Server) -> None:
    relay = open_relay(server.base_url)
    for text, number in (('"\\ud800"', "1"), ('"x"', "NaN"), ('"x"', "1e999")):
        body = f'{{"model": "{MODEL}", "messages": [{{"role": "user", "content": {text}}}], "seed": {number}}}'
        assert relay.answer("POST", "/v1/chat/completions", body.encode()).status == 400
    assert relay.answer("POST", "/v1/embeddings", b"{}").status == 404
    assert not server.requests


def test_agent_that_cannot_run_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ArgumentError, match=r"agent_files: .*none: no such folder"):
        open_agent("python x.py", tmp_path / "none")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "files").mkdir()
    for place in ("x.py", "files/y.py"):
        (tmp_path / place).write_text("")
    for command, files in (("python x.py", None), ("python x.py", "files"), ("python files/y.py", "files")):
        with pytest.raises(ArgumentError, match=f"agent_files: '{command[7:]}' of the command is not in the"):
            open_agent(command, tmp_path / files if files else None)
    assert open_agent("python y.py", tmp_path / "files").name == "y"
    assert open_agent(f"python -c '{'x = 1;' * 100}'").name == "python", "no file has so long a name"
    with pytest.raises(ArgumentError, match="agent_files: codex is installed in its image and needs no files"):
        open_agent("codex", tmp_path / "files")
    with pytest.raises(ArgumentError, match="is empty"):
        open_agent(" ")
    assert not caplog.messages
    open_agent("codx")
    assert caplog.messages == ["codx is not the name of an agent, and runs as a command (did you mean 'codex'?)"]
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    with pytest.raises(InfraError, match="no Docker daemon answers"):
        run_agent(AgentSettings(agent="true", model=MODEL, out=tmp_path / "o", base_url="http://127.0.0.1:1/v1"), [])


@pytest.mark.docker
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("python typing_error.py", "exit 2: python: can't open file '/work/typing_error.py'"),
        ("no-such-program", "exit 126: .*no-such-program"),
        ("python agent.py", "exit 1: ModuleNotFoundError: No module named 'my_library'"),
    ],
)
def test_command_that_cannot_start_leaves_no_row(run: Any, command: str, said: str) -> None:
    """A user's slip must not become a malformed row for every instance."""
    summary, rows = run("import my_library", agent=command)
    assert (rows, summary.errors, summary.complete) == ([], 1, False)
    assert re.search(f"{command.split()[-1]}.* did not start .{said}", summary.first_error), summary.first_error


# --- agents that others wrote -----------------------------------------------------------------------------------------


def terminal(command: str) -> tuple[str, dict[str, Any]]:
    """A tool of OpenHands."""
    return "terminal", {"command": command}


#: With OpenHands' tools: edit the file and finish.
OPENHANDS_EDIT = (
    "file_editor",
    {
        "command": "str_replace",
        "path": "/work/repo/scale.py",
        "old_str": "    raise NotImplementedError",
        "new_str": ANSWER,
    },
)
OPENHANDS_DONE = ("finish", {"message": "It is written."})
LIBRARIES = "python -c 'import sys, torch; print(sys.version_info[:2], torch.ones(2).sum())'"
#: What the scripted model does with the tools of each agent: read, try the libraries, edit, run, finish.
SESSIONS = {
    "mini-swe-agent": [*map(bash, (READ, LIBRARIES, EDIT, TRY, DONE))],
    "openhands": [terminal(READ), terminal(LIBRARIES), OPENHANDS_EDIT, terminal(TRY), OPENHANDS_DONE],
}


def trace(folder: Path) -> list[dict[str, Any]]:
    """Return the messages of a session's trace."""
    first, *lines = json_lines(folder / "session.jsonl")
    assert (first["type"], first["id"]) == ("session", folder.name)
    assert {line["type"] for line in lines} == {"message"}
    return [line["message"] for line in lines]


def observed(folder: Path) -> list[str]:
    """Return the outputs of the tools from the trace of a session."""
    return [message["content"] for message in trace(folder) if message["role"] == "tool"]


def check_outputs(folder: Path) -> None:
    """Check that the agent has read, run, edited and tried, as the scripted model asks it to."""
    seen = observed(folder)
    assert "raise NotImplementedError" in seen[0]
    assert "65534" in seen[0]
    assert "(3, 11) tensor(2.)" in seen[1]
    assert "[3.0, 6.0]" in seen[3]


@pytest.mark.agents
@pytest.mark.docker
@pytest.mark.parametrize("agent", SESSIONS)
def test_agent_reads_edits_runs_and_finishes(
    agent: str, run: Any, server: Server, toy_row: Any, local_sandbox: Sandbox, tmp_path: Path
) -> None:
    server.judge = calls(*SESSIONS[agent])
    _, rows = run(agent=built(agent, toy_row))
    facts = rows[0]["metadata"]
    assert (facts["exit_status"], facts["steps"]) == ("finished", 5)
    assert (facts["input_tokens"], facts["output_tokens"]) == (5000, 500)
    assert facts["image"] == find_agent_image(connect(), agent, toy_row["docker_image"])
    assert rows[0]["setting"] == f"agent:{agent}"
    assert solved(toy_row, rows[0]["model_patch"], local_sandbox)
    folder = tmp_path / "out" / "trajectories" / "toy-scale-0"
    check_outputs(folder)
    assert KEY not in "".join(path.read_text() for path in folder.iterdir())
    assert server.requests[0].headers["Authorization"] == f"Bearer {KEY}"
    assert "# Task" in json.dumps(server.requests[0].body["messages"])


#: What the scripted model does with the tools of the clients that speak another dialect.
CLIENTS = {
    "codex": ("responses", [("exec_command", {"cmd": command}) for command in (READ, LIBRARIES, EDIT, TRY)]),
    "claude-code": (
        "messages",
        [("Bash", {"command": command, "description": "x"}) for command in (READ, LIBRARIES, EDIT, TRY)],
    ),
}


@pytest.mark.agents
@pytest.mark.nightly
@pytest.mark.docker
@pytest.mark.parametrize("agent", CLIENTS)
def test_client_reads_edits_runs_and_finishes(
    agent: str, run: Any, server: Server, toy_row: Any, local_sandbox: Sandbox, tmp_path: Path
) -> None:
    dialect, tools = CLIENTS[agent]
    server.judge = turns(dialect, tools, "It is written.")
    server.script = [Reply(529, {"error": {"message": "overloaded"}}), Reply(429, {}, {"Retry-After": "1"})]
    _, [row] = run(agent=built(agent, toy_row))
    facts = row["metadata"]
    assert (facts["exit_status"], facts["steps"], facts["refused"]) == ("finished", 5, 2)
    assert (facts["input_tokens"], facts["output_tokens"]) == (5000, 250)
    assert solved(toy_row, row["model_patch"], local_sandbox)
    assert set(facts["effort"]) <= {"reasoning", "thinking", "output_config"}
    folder = tmp_path / "out" / "trajectories" / "toy-scale-0"
    check_outputs(folder)
    first, *_, last = trace(folder)
    assert (first["role"], "# Task" in first["content"]) == ("user", True)
    assert (last["role"], last["content"], last["model"]) == ("assistant", "It is written.", MODEL)
    assert count_actions(folder) == Counter({"run": 4, "message": 1}), "each command of a shell is a run"
    assert KEY not in "".join(path.read_text() for path in folder.iterdir())
    assert {request.path for request in server.requests} == {NEW[dialect].path}


@pytest.mark.agents
@pytest.mark.nightly
@pytest.mark.docker
@pytest.mark.parametrize("agent", CLIENTS)
def test_client_at_a_limit_ends_and_its_answer_counts(
    agent: str, run: Any, server: Server, toy_row: Any, local_sandbox: Sandbox
) -> None:
    dialect, tools = CLIENTS[agent]
    server.judge = turns(dialect, [*tools, tools[0], tools[0]], "It is written.")
    _, [row] = run(agent=built(agent, toy_row), max_steps=4)
    assert (row["metadata"]["exit_status"], row["metadata"]["steps"]) == ("step_limit", 4)
    assert solved(toy_row, row["model_patch"], local_sandbox)
    assert len(server.requests) == 4


@pytest.mark.agents
@pytest.mark.nightly
@pytest.mark.docker
def test_mini_swe_agent_with_a_model_that_takes_responses_only(
    run: Any, server: Server, toy_row: Any, local_sandbox: Sandbox
) -> None:
    server.judge = turns("responses", [*map(bash, (READ, EDIT, DONE))], "It is written.")
    _, [row] = run(agent=built("mini-swe-agent", toy_row), model="gpt-5.1-codex")
    assert {request.path for request in server.requests} == {"/v1/responses"}
    assert (row["metadata"]["exit_status"], row["metadata"]["steps"]) == ("finished", 3)
    assert solved(toy_row, row["model_patch"], local_sandbox)


@pytest.mark.agents
@pytest.mark.nightly
@pytest.mark.docker
def test_client_shortens_a_history_that_is_too_long(run: Any, server: Server, toy_row: Any) -> None:
    """Claude Code has the model sum it up, and goes on; Codex ends."""
    dialect, tools = CLIENTS["claude-code"]
    answer = turns(dialect, tools, "It is written.")
    refused: list[Request] = []

    def say(request: Request) -> Reply:
        if not refused and len(server.requests) == 4:
            refused.append(request)
            return Reply(400, {"error": {"message": "prompt is too long: 300000 tokens > 200000 maximum"}})
        if "summary" in json.dumps(request.body["messages"][-1]):
            return stream(message_events(message({"type": "text", "text": "<summary>All is written.</summary>"})))
        if "All is written." in json.dumps(request.body["messages"]):
            return stream(message_events(message({"type": "text", "text": "Done."})))
        return answer(request)

    server.judge = say
    _, [row] = run(agent=built("claude-code", toy_row), max_steps=12)
    assert (row["metadata"]["exit_status"], row["metadata"]["steps"]) == ("finished", 5)
    assert refused


def test_agent_image_depends_on_the_task_image() -> None:
    one, other = (agent_image("openhands", base) for base in ("lmrbench/a:1", "lmrbench/b:2"))
    assert one.tag.startswith("lmrbench/openhands:")
    assert one.tag != other.tag
    assert b"ARG ENVIRONMENT=lmrbench/a:1\n" in one.context()
    with pytest.raises(InputError, match="known: claude-code, codex, mini-swe-agent, openhands"):
        agent_image("nobody", "lmrbench/a:1")


@pytest.mark.docker
def test_box_separates_and_bounds_streams(toy_row: Any, docker_sandbox: Any) -> None:
    with open_box(docker_sandbox, docker_sandbox.prepare(toy_row["docker_image"]), 60) as box:
        output = io.BytesIO()
        script = "import sys; print('x' * 10**6); print('problem', file=sys.stderr)"
        done = box.execute(["python", "-c", script], time_s=60, output_bytes=1000, stdout=output)
    assert (done, output.getvalue()) == ((b"problem\n", 0), b"x" * 1000)


# --- CPU time ---------------------------------------------------------------------------------------------------------

#: Writes its answer, then computes for ever in a child with its own session.
SPINNER = (
    PLAIN
    + """
    subprocess.run([sys.executable, "-c", "while True: pass"], start_new_session=True)
"""
)


@pytest.mark.docker
def test_agent_over_its_cpu_budget_ends_and_its_answer_counts(run: Any, server: Server) -> None:
    _, rows = run(SPINNER, cpu_budget=3)
    facts = rows[0]["metadata"]
    assert (facts["exit_status"], facts["cpu_budget_s"]) == ("cpu_limit", 3)
    assert 3 < facts["cpu_s"] < 30
    assert ANSWER.strip() in rows[0]["model_patch"]
    assert "All that runs in the container may take 3 seconds of CPU time." in server.requests[0].user


# --- killed -----------------------------------------------------------------------------------------------------------


@pytest.mark.docker
def test_killed_run_leaves_no_container_and_resumes(
    server: Server, toy_dataset: Path, tmp_path: Path, docker_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "agent.py").write_text(textwrap.dedent(PLAIN))
    stuck = threading.Event()

    def say(request: Request) -> str:
        if len(server.requests) == 2:
            stuck.set()
            time.sleep(2)
        return ANSWER

    server.judge = say
    line = [*PROGRAM, "agent", "run", "--agent", "python agent.py", "--agent-files", "files", "--model", MODEL]
    line += f"--base-url {server.base_url} --samples 2 --workers 1 --out out --dataset {toy_dataset}".split()
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    killed = subprocess.Popen(line, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert stuck.wait(120), killed.communicate(timeout=10)
    assert containers(killed.pid)
    killed.kill()
    _, stderr = killed.communicate(timeout=60)
    assert until(lambda: not containers(killed.pid), 30)
    done = warm_cli.run([*line, "--json"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    summary, said = json.loads(done.stdout), stderr + done.stderr
    assert not list(temporary.glob("lmrbench-*"))
    assert (summary["done"], summary["kept"], summary["complete"]) == (1, 1, True)
    assert "toy-scale, sample 1: exit 0, a patch, 1 step," in said
    assert KEY not in said + (tmp_path / "out" / "predictions.jsonl").read_text()
