"""Agents' actions are counted from their records: real sessions of runs, all agents."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lmrbench as lmr
from lmrbench.analyse.sessions import EXCLUDED, count_actions, run_sessions
from lmrbench.generation.agents.session_trace import write_session
from lmrbench_data.base.errors import InputError
from lmrbench_evaluate.verdict.levels import Level
from support.agents import DONE, EDIT, READ, TRY, bash, built, calls
from support.command_line import in_process
from support.toy import TOY_ANSWER, WRONG

# --- records ----------------------------------------------------------------------------------------------------------


def kept_by_mini(*commands: str) -> dict[str, Any]:
    """Return a session as mini-swe-agent keeps it."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "```bash\nls\n```"}]
    for text in commands:
        messages += [{"role": "assistant", "content": "", "extra": {"actions": [{"command": text}] if text else []}}]
        messages += [{"role": "tool", "content": "ok"}]
    return {"trajectory_format": "mini-swe-agent-1.1", "info": {}, "messages": messages}


def sdk(tool: str, **action: Any) -> dict[str, Any]:
    return {"kind": "ActionEvent", "source": "agent", "tool_name": tool, "action": action}


def item(**fields: Any) -> dict[str, Any]:
    return {"type": "item.completed", "item": {"id": "item_1", **fields}}


def claude(identity: str, *content: dict[str, Any], model: str = "m") -> dict[str, Any]:
    message = {"id": identity, "role": "assistant", "model": model, "content": content}
    return {"type": "assistant", "message": message}


RECORDS: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "mini-swe-agent": (
        {"trajectory.json": kept_by_mini(READ, EDIT, TRY, TRY, "", DONE)},
        {"run": 4, "message": 1, "finish": 1},
    ),
    "OpenHands": (
        {
            "trajectory.jsonl": [
                {"kind": "SystemPromptEvent", "source": "agent", "id": "0"},
                {"kind": "MessageEvent", "source": "user", "id": "1"},
                {"id": "2", **sdk("file_editor", kind="FileEditorAction", command="view", path="a")},
                {"id": "3", **sdk("file_editor", kind="FileEditorAction", command="str_replace", path="a")},
                {"id": "4", **sdk("terminal", kind="TerminalAction", command="printf 'x\u2028y' # \x85")},
                {"id": "4o", "kind": "ObservationEvent", "source": "environment", "tool_name": "terminal"},
                {"id": "5", **sdk("think", kind="ThinkAction")},
                {"id": "6", **sdk("task_tracker", kind="TaskTrackerAction", command="plan")},
                {"id": "7", **sdk("browser_view", kind="BrowserViewAction")},
                {"kind": "MessageEvent", "source": "agent", "id": "8"},
                {"kind": "ActionEvent", "source": "agent", "id": "8b", "tool_name": "file_editor"},  # a malformed call
                {"id": "9", **sdk("finish", kind="FinishAction")},
            ]
        },
        {"read": 1, "edit": 1, "run": 1, "message": 2, "finish": 1, EXCLUDED: 2},
    ),
    "Codex": (
        {
            "trajectory.jsonl": [
                {"type": "thread.started", "thread_id": "t"},
                item(type="error", message="Model metadata not found."),
                item(type="reasoning", text="Hm"),
                {"type": "item.started", "item": {"id": "i", "type": "command_execution", "command": "ls"}},
                item(type="command_execution", command="/usr/bin/bash -lc 'cat a.py'", aggregated_output="x"),
                item(type="command_execution", command="python 'a.py", aggregated_output="x"),
                item(type="file_change", changes=[{"path": "a.py", "kind": "update"}], status="completed"),
                item(type="agent_message", text="Done."),
                {"type": "turn.completed", "usage": {"input_tokens": 1}},
            ]
        },
        {"run": 2, "edit": 1, "message": 2},
    ),
    "Claude Code": (
        {
            "trajectory.jsonl": [
                {"type": "system", "subtype": "init"},
                claude("m1", {"type": "thinking", "thinking": "Hm"}),
                claude("m1", {"type": "text", "text": "I look."}),
                claude("m1", {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}),
                {
                    "type": "user",
                    "message": {"content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a"}]},
                },
                claude("m2", {"type": "tool_use", "id": "t2", "name": "Read", "input": {"file_path": "a"}}),
                claude("m3", {"type": "tool_use", "id": "t3", "name": "Edit", "input": {"file_path": "a"}}),
                claude("m4", {"type": "text", "text": "Done."}),
                claude("m5", {"type": "text", "text": "API Error"}, model="<synthetic>"),
                {"type": "result", "subtype": "success", "is_error": True},
            ]
        },
        {"run": 1, "read": 1, "edit": 1, "message": 1},
    ),
}


@pytest.mark.parametrize("name", RECORDS)
def test_actions_of_a_record_follow_the_mapping_of_the_paper(name: str, tmp_path: Path) -> None:
    files, wanted = RECORDS[name]
    for path, content in files.items():
        place = tmp_path / path
        place.parent.mkdir(exist_ok=True)
        lines = (
            [json.dumps(item, ensure_ascii=False) for item in content]
            if path.endswith(".jsonl")
            else [json.dumps(content)]
        )
        place.write_text("\n".join(lines) + "\n" + '{"cut": ' * path.endswith(".jsonl"))
    (tmp_path / "output.json").write_text("no JSON at all")
    for path in files:
        write_session(tmp_path / path, "some-agent", "m", "# Task")
    (tmp_path / "later.json").write_text(json.dumps(kept_by_mini(EDIT)))
    assert count_actions(tmp_path) == Counter(wanted), "a trace counts alone"


def test_trace_has_the_form_that_the_hub_shows(tmp_path: Path) -> None:
    (tmp_path / "trajectory.jsonl").write_text(
        "\n".join(map(json.dumps, RECORDS["Claude Code"][0]["trajectory.jsonl"]))
    )
    write_session(tmp_path / "trajectory.jsonl", "claude-code", "m", "# Task")
    first, *lines = map(json.loads, (tmp_path / "session.jsonl").read_text().splitlines())
    assert first == {"type": "session", "harness": "claude-code", "id": tmp_path.name, "name": tmp_path.name}
    assert {line["type"] for line in lines} == {"message"}
    call = {"id": "t1", "function": {"name": "Bash", "arguments": '{"command": "ls"}'}}
    looks = {"role": "assistant", "content": "I look.", "reasoningContent": "Hm", "toolCalls": [call], "model": "m"}
    assert [line["message"] for line in lines[:3]] == [
        {"role": "user", "content": "# Task"},
        looks,
        {"role": "tool", "content": "a", "toolCallId": "t1"},
    ]


def test_strange_records_of_a_stranger_are_no_messages(tmp_path: Path) -> None:
    call = {"function": {"name": ["x"], "arguments": "no JSON"}}
    strange = [
        {"messages": [{"role": "assistant", "extra": {"actions": 5}}]},
        {"messages": [None, 1, {"role": 5}, {"role": "assistant", "extra": {"actions": [{"command": 1}, "x"]}}]},
        {"type": "item.completed", "item": "x"},
        {"type": "assistant", "message": 5},
        {"type": "message", "message": {"role": "assistant", "toolCalls": [call, 5]}},
        {"kind": "ActionEvent", "source": "agent", "action": {"kind": 5}, "tool_name": 7},
    ]
    deep = '{"type": "message", "message": ' + '{"role": ' * 2000
    (tmp_path / "x.jsonl").write_text("\n".join([deep, *map(json.dumps, strange)]))
    write_session(tmp_path / "x.jsonl", "some-agent", "m", "# Task")
    assert count_actions(tmp_path) == Counter({"message": 3, EXCLUDED: 3})


# --- runs -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def agent_folder(tmp_path: Path) -> Path:
    """A folder of `lmrbench agent run`: four samples, the third in no format, the last without a trajectory."""
    folder = tmp_path / "agent"
    names = {"model_name_or_path": "m", "setting": "agent:mini-swe-agent", "track": "paper", "instance_id": "toy-scale"}
    answers = [TOY_ANSWER, WRONG, TOY_ANSWER, TOY_ANSWER]
    rows = [{**names, "sample": number, "function": text} for number, text in enumerate(answers)]
    for number, record in enumerate([kept_by_mini(READ, EDIT, DONE), kept_by_mini(TRY, DONE), {"something": "else"}]):
        place = folder / "trajectories" / f"toy-scale-{number}"
        place.mkdir(parents=True)
        (place / "trajectory.json").write_text(json.dumps(record))
        write_session(place / "trajectory.json", "mini-swe-agent", "m", "# Task")
    (folder / "predictions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_sessions_of_a_run_have_the_outcomes_of_their_answers(
    evaluate: Callable[..., lmr.Run],
    agent_folder: Path,
) -> None:
    run = evaluate(agent_folder / "predictions.jsonl", "run")
    sessions = run_sessions([run.path])
    names = {"model": "m, mini-swe-agent", "edit": 0, "finish": 1, "message": 0, "read": 0, "run": 0, EXCLUDED: 0}
    assert sessions.frame.to_dict("records") == [
        {**names, "session": "toy-scale-0", "passed": True, "run": 2},
        {**names, "session": "toy-scale-1", "passed": False, "run": 1},
    ]
    assert sessions.notes == ["Left out: 2 answers without a trajectory of a known format."]
    assert run_sessions([run.path], Level.ROBUST).frame.equals(sessions.frame)
    done = in_process("analyse", "actions", run.path)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[2:6] for line in done.stdout.splitlines() if "mini-swe-agent " in line] == [
        ["all", "2", "2.5", "0.0%"],
        ["passed", "1", "3.0", "0.0%"],
        ["not", "passed", "1", "2.0"],
    ]
    agent_folder.rename(agent_folder.with_name("moved"))
    with pytest.raises(InputError, match="no session of an agent found for 4 answers of agents; trajectories stand"):
        run_sessions([run.path])
    plain = {"model_name_or_path": "m", "track": "paper", "instance_id": "toy-scale", "function": WRONG}
    with pytest.raises(InputError, match="plain: holds no answer of an agent"):
        run_sessions([evaluate([plain], "plain").path])


@pytest.mark.agents
@pytest.mark.docker
def test_real_session_of_mini_swe_agent_is_counted(run: Any, server: Any, toy_row: Any, tmp_path: Path) -> None:
    server.judge = calls(*map(bash, (READ, EDIT, TRY, READ, DONE)))
    run(agent=built("mini-swe-agent", toy_row))
    [session] = (tmp_path / "out" / "trajectories").iterdir()
    assert count_actions(session) == Counter({"run": 4, "finish": 1})
