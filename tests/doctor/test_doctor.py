"""`lmrbench doctor` finds what is wrong with a machine, says how to fix it, never hangs and never shows a secret."""

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmrbench_data.base.machine import available_memory, disk_of
from lmrbench_data.base.paths import benchmark_folder
from lmrbench_evaluate.doctor import inside
from lmrbench_evaluate.doctor.engine import compare_walls
from lmrbench_evaluate.doctor.examine import Check, examine
from lmrbench_evaluate.doctor.finding import Status, ok
from lmrbench_evaluate.doctor.machine import MEMORY_MB
from lmrbench_evaluate.doctor.redact import redact
from lmrbench_evaluate.sandbox.base import Sandbox
from support import warm_cli
from support.command_line import PROGRAM, in_process, in_terminal, plain
from support.hub_server import Hub
from support.openai_server import Reply, Server

NO_ENGINE = {"DOCKER_HOST": "tcp://127.0.0.1:1"}
#: Replaces variables of the user's environment.
NEUTRAL = {"HF_HUB_OFFLINE": "1", "OPENAI_API_KEY": "", "OPENAI_BASE_URL": "", "NO_PROXY": "127.0.0.1,localhost"}


class Examined:
    """The doctor's findings by check."""

    def __init__(self, done: Any) -> None:
        assert done.returncode in (0, 1), done.stderr
        self.status, self.stdout, self.stderr = done.returncode, done.stdout, done.stderr
        self.findings = json.loads(done.stdout)
        assert all(item.keys() == {"check", "status", "found", "fix"} for item in self.findings)

    def __getitem__(self, check: str) -> dict[str, str]:
        """The finding of a check that has only one."""
        [found] = [item for item in self.findings if item["check"] == check]
        return dict(found)


def doctor(*arguments: str | Path, cwd: Path | None = None, **variables: str) -> Examined:
    environment = {**os.environ, **NEUTRAL, **variables}
    return Examined(warm_cli.run([*PROGRAM, "doctor", "--json", *arguments], cwd=cwd, env=environment, text=True))


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        yield server.getsockname()[1]


# --- the machine ------------------------------------------------------------------------------------------------------


@pytest.mark.docker
def test_a_healthy_machine(docker_sandbox: Sandbox) -> None:
    found = doctor()
    assert found.status == 0
    assert [found[check]["status"] for check in ("engine", "image", "container", "sandbox")] == ["ok"] * 4
    assert re.search(r"(Docker|Podman) \d+\.", found["engine"]["found"])
    assert "sha256:" in found["image"]["found"]
    assert "limits hold" in found["container"]["found"]
    assert "`docker`" in found["sandbox"]["found"]


@pytest.mark.docker
def test_a_missing_image_is_no_problem_and_names_its_command(docker_sandbox: Sandbox, toy_benchmark: Path) -> None:
    environment = toy_benchmark / "environments" / "torch-cpu"
    environment.rename(toy_benchmark / "environments" / "mine")
    (toy_benchmark / "environments" / "mine" / "extra").write_text("another content, another tag\n")
    found = doctor("--benchmark", toy_benchmark)
    assert found.status == 0
    missing, there = [item for item in found.findings if item["check"] == "image"]
    assert (missing["status"], there["status"]) == ("note", "ok")
    assert missing["fix"].startswith(f"lmrbench images build mine --benchmark {toy_benchmark}")
    pulled = doctor("--benchmark", toy_benchmark, LMRBENCH_REGISTRY="example.org/lab")
    assert pulled.findings[2]["fix"].startswith("docker pull example.org/lab/lmrbench/mine:")


def test_open_walls_are_a_problem_and_loose_limits_a_note() -> None:
    """The program that runs in containers finds no walls on the host."""
    done = subprocess.run([sys.executable, "-I", inside.__file__], capture_output=True, text=True, check=True)
    ready, report = done.stdout.splitlines()
    assert ready == "ready"
    seen = json.loads(report)
    assert not seen["read_only_root"]
    assert compare_walls(seen, 0.5).status is Status.PROBLEM
    walls = dict.fromkeys(("unprivileged", "read_only_root", "no_network", "no_capabilities"), True)
    tight = {**walls, "memory": 2**20, "processes": 4}
    assert compare_walls(tight, 0.5).status is Status.OK
    for limit in ("memory", "processes"):
        for loose in (None, 2**60):
            finding = compare_walls({**tight, limit: loose}, 0.5)
            assert finding.status is Status.NOTE
            assert limit in finding.found
    for wall in walls:
        assert compare_walls({**tight, wall: False}, 0.5).status is Status.PROBLEM


def test_without_an_engine_another_sandbox_serves() -> None:
    found = doctor(**NO_ENGINE)
    assert found.status == 0
    assert found["engine"]["status"] == "note"
    assert "Connection refused" in found["engine"]["found"]
    assert "DOCKER_HOST" in found["engine"]["fix"]
    assert found["sandbox"]["status"] == "note"
    assert "leaderboard" in found["sandbox"]["found"]
    assert not [item for item in found.findings if item["check"] in ("image", "container")]


def test_without_engine_and_packages_nothing_works(toy_benchmark: Path) -> None:
    requirements = toy_benchmark / "environments" / "torch-cpu" / "requirements.txt"
    requirements.write_text(requirements.read_text().replace("numpy==", "no-such-package==1.0\nnumpy==", 1))
    found = doctor("--benchmark", toy_benchmark, **NO_ENGINE)
    assert found.status == 1
    assert found["sandbox"]["status"] == "problem"
    assert "no-such-package" in found["sandbox"]["found"]
    assert "pip install" in found["sandbox"]["fix"]


def test_a_full_disk_is_a_problem_and_a_nearly_full_one_a_note(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in {**NEUTRAL, **NO_ENGINE}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    facts = {"f_frsize": 4096, "f_files": 10**6, "f_favail": 10**5}
    cases = [(10, {}, "problem"), (50_000, {}, "note"), (10**7, {}, "ok"), (10**7, {"f_favail": 3}, "problem")]
    for blocks, more, status in cases:
        disk = SimpleNamespace(**{**facts, "f_bavail": blocks, **more})
        with monkeypatch.context() as patch:
            patch.setattr("os.statvfs", lambda path, disk=disk: disk)
            found = Examined(in_process("doctor", "--json"))
        assert {item["status"] for item in found.findings if item["check"] == "disk"} == {status}
        assert found.status == (status == "problem")


def test_workers_are_compared_with_memory_and_cores() -> None:
    found = doctor("--workers", "256", **NO_ENGINE)
    assert found.status == 0
    for check in ("memory", "cores"):
        assert found[check]["status"] == "note"
        assert re.fullmatch(r"use --workers \d+\b.*", found[check]["fix"])


def test_the_memory_of_a_worker_is_the_highest_limit_of_the_tasks() -> None:
    files = [path for name in ("task", "method") for path in benchmark_folder().glob(f"*/{name}.yaml")]
    limits = [int(found) for path in files for found in re.findall(r"memory_mb: (\d+)", path.read_text("utf-8"))]
    assert len(limits) > 50
    assert max(limits) == MEMORY_MB


def test_memory_and_disk_are_those_of_the_system(tmp_path: Path) -> None:
    memory = available_memory()
    assert memory is not None
    assert 2**20 < memory <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert disk_of(tmp_path / "not" / "yet").device == tmp_path.stat().st_dev


# --- elsewhere --------------------------------------------------------------------------------------------------------


def test_the_hub_knows_the_token_or_does_not(tmp_path: Path) -> None:
    with Hub() as hub:
        hub.add_user("hf_right_token", "ann", "org")
        for token, status, text in (
            ("hf_right_token", "ok", "ann at"),
            ("hf_wrong_token", "note", "rejects the token"),
            (None, "note", "no token"),
        ):
            variables = {**hub.environment(tmp_path, token), "HF_HUB_OFFLINE": "0", **NO_ENGINE}
            found = doctor(**variables)
            assert found.status == 0
            assert (found["hub"]["status"], text in found["hub"]["found"]) == (status, True), found["hub"]
    offline = doctor(**{**variables, "HF_TOKEN": "hf_right_token"})
    assert offline["hub"]["status"] == "note"
    assert "does not answer" in offline["hub"]["found"]


def test_a_model_is_asked_for_one_token() -> None:
    with Server() as server:
        server.key = "sk-right"
        asked = ("--model", "served", "--base-url", server.base_url, "--judge", "served")
        judged = ("--judge-base-url", server.base_url)
        right = doctor(*asked, *judged, OPENAI_API_KEY="sk-right", **NO_ENGINE)
        assert (right.status, right["model"]["status"], right["judge"]["status"]) == (0, "ok", "ok")
        assert [request.body["max_completion_tokens"] for request in server.requests] == [1, 1]
        wrong = doctor(*asked, *judged, OPENAI_API_KEY="sk-wrong-and-echoed", **NO_ENGINE)
    assert (wrong.status, wrong["model"]["status"], wrong["judge"]["status"]) == (1, "problem", "problem")
    assert "OPENAI_API_KEY" in wrong["model"]["fix"]
    assert "--judge-base-url" in wrong["judge"]["fix"]
    assert "Incorrect API key provided: ***" in wrong["model"]["found"]
    gone = doctor(*asked[:4], **NO_ENGINE)
    assert (gone.status, gone["model"]["status"]) == (1, "problem")
    assert "no server answers" in gone["model"]["found"]


def test_a_server_of_another_kind_is_no_model() -> None:
    """A proxy's welcome page passed for the model's answer."""
    with Server() as server:
        server.judge = lambda request: Reply(200, b"<html>Welcome to nginx</html>")
        said = doctor("--model", "served", "--base-url", server.base_url, OPENAI_API_KEY="sk-right", **NO_ENGINE)
    assert (said.status, said["model"]["status"]) == (1, "problem")
    assert "the server's answer is not a chat completion" in said["model"]["found"]
    assert "--base-url, which often ends in /v1" in said["model"]["fix"]
    with Server() as server:
        server.judge = lambda request: Reply(501, b"<html><style>p {}</style><p>Unsupported method ('POST')</p></html>")
        said = doctor("--model", "served", "--base-url", server.base_url, OPENAI_API_KEY="sk-right", **NO_ENGINE)
    assert (said.status, said["model"]["status"]) == (1, "problem")
    assert "has no models at this address" in said["model"]["found"]
    assert "<" not in said["model"]["found"]
    assert "p {}" not in said["model"]["found"]
    assert "--base-url" in said["model"]["fix"]


def test_an_address_without_a_model_is_refused() -> None:
    done = in_process("doctor", "--base-url", "http://localhost:1/v1")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "--base-url: needs the name of a model; add --model" in done.stderr


def test_a_user_without_a_home_has_no_stored_token(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "HF_HOME", "HF_TOKEN_PATH", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    assert redact("nothing to hide") == "nothing to hide"


@pytest.mark.parametrize(
    ("arguments", "found", "fix"),
    [
        (("--model", "m"), "no OPENAI_API_KEY", "set it"),
        (("--judge", "m", "--judge-base-url", "nonsense"), "'nonsense' is not an address", "give one such as"),
        (("--model", "m", "--base-url", "http://no-such-host.invalid/v1"), "no-such-host.invalid", "--base-url"),
    ],
)
def test_a_wrong_address_is_a_line(arguments: tuple[str, ...], found: str, fix: str) -> None:
    said = doctor(*arguments, **NO_ENGINE)
    assert said.status == 1
    [line] = [item for item in said.findings if item["status"] == "problem"]
    assert found in line["found"]
    assert fix in line["fix"]


# --- always -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_nothing_hangs_on_servers_that_never_answer(silent: int, tmp_path: Path) -> None:
    """Engine, Hub and model together: each costs its own few seconds, whatever the others do."""
    began = time.monotonic()
    found = doctor(
        "--model", "m", "--base-url", f"http://127.0.0.1:{silent}/v1",
        DOCKER_HOST=f"tcp://127.0.0.1:{silent}", HF_ENDPOINT=f"http://127.0.0.1:{silent}", HF_TOKEN="hf_some_token",
        HF_HUB_OFFLINE="0", HF_HOME=str(tmp_path),
    )  # fmt: skip
    took = time.monotonic() - began
    assert (found.status, took < 60) == (1, True)
    assert {check: found[check]["status"] for check in ("engine", "sandbox", "hub", "model")} == {
        "engine": "note", "sandbox": "problem", "hub": "note", "model": "problem",
    }  # fmt: skip
    assert "no answer within" in found["model"]["found"]
    assert "engine: may take up to 10 s" in found.stderr


def test_a_check_that_hangs_or_fails_is_a_finding() -> None:
    never = threading.Event()

    def hang() -> list[Any]:
        never.wait()
        return []

    def compute() -> list[Any]:
        began = time.process_time()
        while time.process_time() - began < 2.2:
            pass
        return [ok("c", "done")]

    def fail() -> list[Any]:
        raise RuntimeError("the check\nis broken")

    try:
        [late] = examine(Check("c", hang, limit_s=0.05, if_late=Status.NOTE, fix="wait"))
    finally:
        never.set()
    [slow] = examine(Check("c", compute, limit_s=2))
    assert slow.status is Status.OK
    assert (late.check, late.status, late.fix) == ("c", Status.NOTE, "wait")
    [broken] = examine(Check("c", fail))
    assert broken.status is Status.PROBLEM
    assert "please report it: RuntimeError: the check" in broken.found


def test_no_secret_of_the_environment_is_shown(tmp_path: Path) -> None:
    """Neither on stdout nor on stderr, though servers echo keys and addresses hold passwords."""
    secrets = {f"LMRBENCH_{name}": f"{name.lower()}-{number:x}-s3cret" for number, name in enumerate(
        ("API_KEY", "TOKEN", "CLIENT_SECRET", "PASSWORD", "CREDENTIALS"), start=1000
    )}  # fmt: skip
    secrets |= {"OPENAI_API_KEY": "sk-echoed-s3cret", "HF_TOKEN": "hf_s3cret_of_the_hub"}
    with Server() as server, Hub() as hub:
        server.key = "another"
        variables = {**hub.environment(tmp_path), **secrets, "DOCKER_HOST": "tcp://user:dock-s3cret@127.0.0.1:1"}
        judge_url = server.base_url.replace("://", "://user:pass-s3cret@")
        asked = ("--model", "m", "--base-url", server.base_url, "--judge", "m", "--judge-base-url", judge_url)
        found = doctor(*asked, **{**variables, "HF_HUB_OFFLINE": "0"})
        assert server.requests[0].headers["Authorization"] == "Bearer sk-echoed-s3cret"
    assert found.status == 1
    assert "s3cret" not in found.stdout + found.stderr
    assert "tcp://user:***@127.0.0.1:1" in found["engine"]["fix"]


@settings(max_examples=40, deadline=None)
@given(
    secret=st.text(st.characters(exclude_characters="*\0", exclude_categories=("Cs",)), min_size=4, max_size=40),
    around=st.tuples(st.text(max_size=20), st.text(max_size=20)),
    name=st.sampled_from(("OPENAI_API_KEY", "MY_TOKEN", "Db_Password", "AWS_SECRET_ACCESS_KEY")),
)
def test_any_secret_is_hidden_in_any_text(secret: str, around: tuple[str, str], name: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(name, secret)
        for shown in (secret, f"{secret!r}", " ".join(secret.split())):
            hidden = redact(shown.join(around))
            assert secret.strip() == "" or secret not in hidden


def test_the_lines_fit_a_terminal_and_have_colours() -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**NEUTRAL, **NO_ENGINE}.items():
            patch.setenv(name, value)
        shown = in_terminal(80, "doctor")
    assert "\x1b[32mok" in shown
    # The name of the check under way is overwritten by its result.
    lines = [
        re.sub(r"\x1b\[\??[0-9;]*[A-Za-z]", "", line.rpartition("\x1b[2K")[2]) for line in plain(shown).splitlines()
    ]
    assert max(map(len, lines)) <= 80
    assert lines[-1] == "Evaluation can work here."
    assert sum(line.startswith(("ok ", "note ")) for line in lines) > 8
