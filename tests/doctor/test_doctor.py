"""`lmrbench doctor` finds what is wrong with a machine and says how to fix it."""

import json
import os
import re
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lmrbench.doctor import MEMORY_MB, available_memory
from lmrbench.generation.agents.agent_image import PINNED, agent_image
from lmrbench_data.base.paths import benchmark_folder
from lmrbench_data.tasks.environments import known_environments
from lmrbench_evaluate.sandbox.base import Sandbox
from lmrbench_evaluate.sandbox.images import image_id
from support.command_line import in_process, in_terminal, plain
from support.hub_server import Hub
from support.openai_server import Server

NO_ENGINE = {"DOCKER_HOST": "tcp://127.0.0.1:1"}
#: Replaces variables of the user's environment.
NEUTRAL = {"HF_HUB_OFFLINE": "1", "OPENAI_API_KEY": "", "OPENAI_BASE_URL": "", "NO_PROXY": "127.0.0.1,localhost"}


@pytest.fixture(autouse=True)
def _neutral(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in NEUTRAL.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the check of the sandbox, which takes seconds."""
    monkeypatch.setattr("lmrbench.doctor._sandbox", lambda settings: iter(()))


def doctor(*arguments: str | Path, **variables: str) -> tuple[int, dict[str, list[dict[str, str]]]]:
    """Return exit status and findings by check."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        done: Any = in_process("doctor", "--json", *map(str, arguments))
    assert done.returncode in (0, 1), done.stderr
    findings: dict[str, list[dict[str, str]]] = {}
    for item in json.loads(done.stdout):
        assert item.keys() == {"check", "severity", "text", "fix"}
        findings.setdefault(item["check"], []).append(item)
    return done.returncode, findings


@pytest.mark.docker
def test_healthy_machine_and_missing_image(docker_sandbox: Sandbox, toy_benchmark: Path) -> None:
    environment = toy_benchmark / "environments" / "torch-cpu"
    environment.rename(toy_benchmark / "environments" / "mine")
    (toy_benchmark / "environments" / "mine" / "extra").write_text("another content, another tag\n")
    status, findings = doctor("--benchmark", toy_benchmark)
    assert status == 0
    assert [findings[check][0]["severity"] for check in ("engine", "sandbox", "disk")] == ["ok"] * 3
    assert re.search(r"(Docker|Podman) \d+\.", findings["engine"][0]["text"])
    missing, present = findings["image"]
    assert (missing["severity"], present["severity"]) == ("note", "ok")
    assert missing["fix"] == f"lmrbench images build mine --benchmark {toy_benchmark}"
    assert "sha256:" in present["text"]
    assert "`docker`" in findings["sandbox"][0]["text"]
    text = in_terminal(80, "doctor")
    assert "\x1b[32mok" in text
    lines = plain(text).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-1] == "Evaluation can work here."


@pytest.mark.docker
def test_built_agents_have_an_age(monkeypatch: pytest.MonkeyPatch, docker_sandbox: Sandbox) -> None:
    agents = {"codex": date(2020, 1, 1), "mini-swe-agent": date.today()}
    for agent, since in agents.items():
        monkeypatch.setitem(PINNED, agent, replace(PINNED[agent], since=since))
    tags = {agent_image(agent, item.tag).tag for agent in agents for item in known_environments()}
    monkeypatch.setattr("lmrbench.doctor.image_id", lambda api, tag: "x" if tag in tags else image_id(api, tag))
    findings = {item["text"].split()[0]: item for item in doctor()[1]["agent"]}
    assert findings["mini-swe-agent"]["severity"] == "ok"
    assert findings["codex"]["severity"] == "note"
    assert findings["codex"]["fix"].endswith("`lmrbench images build --agent codex`")


def test_versions_of_agents_are_those_of_their_images() -> None:
    for agent, pinned in PINNED.items():
        files = agent_image(agent, "x").folder.iterdir()
        assert any(pinned.version in path.read_text() for path in files if path.suffix in (".json", ".txt")), agent


def test_machine_without_engine_and_packages_has_a_problem(toy_benchmark: Path) -> None:
    requirements = toy_benchmark / "environments" / "torch-cpu" / "requirements.txt"
    requirements.write_text(requirements.read_text().replace("numpy==", "no-such-package==1.0\nnumpy==", 1))
    status, findings = doctor("--benchmark", toy_benchmark, **NO_ENGINE)
    assert status == 1
    assert findings["sandbox"][0]["severity"] == "problem"
    assert "no-such-package" in findings["sandbox"][0]["text"]
    assert "pip install" in findings["sandbox"][0]["fix"]


@pytest.mark.usefixtures("no_sandbox")
def test_full_disk_is_a_problem_and_nearly_full_disk_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    for free, severity in ((10**6, "problem"), (10**8, "note"), (10**11, "ok")):
        monkeypatch.setattr("shutil.disk_usage", lambda path, free=free: SimpleNamespace(free=free))
        status, findings = doctor(**NO_ENGINE)
        assert {item["severity"] for item in findings["disk"]} == {severity}
        assert status == (severity == "problem")


@pytest.mark.usefixtures("no_sandbox")
def test_workers_are_compared_with_memory() -> None:
    available = available_memory()
    assert 2**20 < available <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    status, findings = doctor("--workers", "256", **NO_ENGINE)
    assert (status, findings["memory"][0]["severity"]) == (0, "note")
    assert re.fullmatch(r"use --workers \d+", findings["memory"][0]["fix"])
    files = [path for name in ("task", "method") for path in benchmark_folder().glob(f"*/{name}.yaml")]
    limits = [int(size) for path in files for size in re.findall(r"memory_mb: (\d+)", path.read_text("utf-8"))]
    assert max(limits) == MEMORY_MB


@pytest.mark.usefixtures("no_sandbox")
def test_token_is_checked_with_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with Hub() as hub:
        hub.add_user("hf_right_token", "ann", "org")
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub.environment(tmp_path)["HF_ENDPOINT"])
        for token, severity, text in (("hf_right_token", "ok", "ann at"), ("hf_wrong_token", "note", "token")):
            status, findings = doctor(HF_TOKEN=token, **NO_ENGINE)
            assert status == 0
            assert (findings["token"][0]["severity"], text in findings["token"][0]["text"]) == (severity, True), (
                findings
            )


@pytest.mark.usefixtures("no_sandbox")
def test_model_is_asked_for_one_token() -> None:
    with Server() as server:
        server.key = "sk-right"
        request = ("--model", "served", "--base-url", server.base_url)
        status, findings = doctor(*request, OPENAI_API_KEY="sk-right", **NO_ENGINE)
        assert (status, findings["model"][0]["severity"]) == (0, "ok")
        assert [sent.body["max_completion_tokens"] for sent in server.requests] == [1]
        status, findings = doctor(*request, OPENAI_API_KEY="sk-wrong", **NO_ENGINE)
        assert (status, findings["model"][0]["severity"]) == (1, "problem")
    status, findings = doctor(*request, **NO_ENGINE)
    assert (status, findings["model"][0]["severity"]) == (1, "problem")
    done = in_process("doctor", "--base-url", "http://localhost:1/v1")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "--base-url: needs the name of a model; add --model" in done.stderr
