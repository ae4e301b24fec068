"""The daemon is the one that `docker` uses, whatever names it, and its client's proxies stay out of containers."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lmrbench.generation.agents.box import open_box
from lmrbench_data.base.errors import InfraError
from lmrbench_evaluate.sandbox.base import Limits
from lmrbench_evaluate.sandbox.docker import DockerSandbox
from lmrbench_evaluate.sandbox.docker_client import connect
from support.sandboxes import output_of, workspace_of

pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(shutil.which("docker") is None, reason="the client of Docker is not installed"),
]


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a client's configuration, without contexts."""
    for name in ("DOCKER_HOST", "DOCKER_CONTEXT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "client"))
    return tmp_path / "client"


def docker(*words: str) -> bool:
    """Return whether the command succeeds."""
    return subprocess.run(["docker", *words], capture_output=True).returncode == 0


def answers() -> bool:
    """Return whether the daemon that the harness uses answers; it is never another than that of the command."""
    found = True
    try:
        connect(10)
    except InfraError:
        found = False
    assert docker("version") is found
    return found


def test_daemon_is_that_of_the_command(client: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    live, dead = (f"unix://{tmp_path / name}.sock" for name in ("live", "dead"))
    (tmp_path / "live.sock").symlink_to("/var/run/docker.sock")
    for name, host in {"live": live, "dead": dead}.items():
        assert docker("context", "create", name, "--docker", f"host={host}")
    for variables, current, expected in (
        ({"DOCKER_CONTEXT": "live"}, None, True),
        ({"DOCKER_CONTEXT": "dead"}, None, False),
        ({}, "live", True),
        ({}, "dead", False),
        ({"DOCKER_CONTEXT": "live"}, "dead", True),
        ({"DOCKER_CONTEXT": ""}, "dead", False),
        ({"DOCKER_HOST": live, "DOCKER_CONTEXT": "dead"}, "dead", True),
        ({"DOCKER_HOST": dead, "DOCKER_CONTEXT": "live"}, "live", False),
        ({"DOCKER_HOST": live, "DOCKER_CONTEXT": "missing"}, None, True),
        ({"DOCKER_CONTEXT": "missing"}, "live", False),
    ):
        if current:
            assert docker("context", "use", current)
        with monkeypatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            assert answers() is expected, (variables, current)
    monkeypatch.setenv("DOCKER_CONTEXT", "dead")
    with pytest.raises(InfraError, match=f"no Docker daemon answers at {dead} .*: No such file"):
        connect()
    monkeypatch.setenv("DOCKER_CONTEXT", "missing")
    with pytest.raises(InfraError, match=r'Docker context "missing": .*client.*; choose one of `docker context ls`'):
        connect()


def test_contexts_with_certificates_name_the_variables(client: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = "host=tcp://localhost:2376,skip-tls-verify=true"
    assert docker("context", "create", "encrypted", "--docker", host)
    monkeypatch.setenv("DOCKER_CONTEXT", "encrypted")
    with pytest.raises(InfraError, match="Docker context 'encrypted' uses TLS; set DOCKER_HOST, DOCKER_TLS_VERIFY and"):
        connect()


def test_proxies_of_the_client_do_not_enter_containers(client: Path, toy_row: dict[str, Any]) -> None:
    client.mkdir()
    proxies = {f"{name}Proxy": "http://robin:hunter2@10.0.0.1:3128" for name in ("http", "https", "ftp", "all")}
    (client / "config.json").write_text(json.dumps({"proxies": {"default": {**proxies, "noProxy": "example.org"}}}))
    names = "import os; return sorted(os.environ)"
    with DockerSandbox(isolation="container") as alone, DockerSandbox() as shared:
        for sandbox in (alone, shared):
            outcome = sandbox.run(sandbox.prepare(toy_row["docker_image"]), workspace_of(names), Limits(60, 256))
            seen = output_of(outcome)
            assert "PATH" in seen
            assert "proxy" not in str(seen).lower()
        with open_box(alone, alone.prepare(toy_row["docker_image"]), 60) as box:
            text = box.execute(["env"], time_s=60, output_bytes=10_000)[0].decode()
            assert "PATH" in text
            assert "proxy" not in text.lower()
