"""The daemon is the one that `docker` uses, whatever names it, and its client's proxies stay out of containers."""

import json
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lmrbench.generation.agents.box import open_box
from lmrbench_data.base.errors import InfraError
from lmrbench_evaluate.sandbox.base import Limits
from lmrbench_evaluate.sandbox.docker import DockerSandbox
from lmrbench_evaluate.sandbox.docker_client import connect
from support.loopback import LoopbackHandler, LoopbackServer
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
    with pytest.raises(InfraError, match=r"Docker context 'missing' is not in .*client; choose one of `docker context"):
        connect()


@pytest.mark.parametrize("address", ["tcp://localhost:99999", "tcp://localhost:port", "foo://localhost"])
def test_malformed_address_is_one_error(address: str, client: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", address)
    with pytest.raises(InfraError, match=f"no Docker daemon answers at {address} "):
        connect()


class _Version(LoopbackHandler):
    def do_GET(self) -> None:
        body = json.dumps({"ApiVersion": "1.41", "Version": "20.10.0"}).encode()
        self.respond(200, {"Content-Type": "application/json"}, body)

    do_HEAD = do_GET


@pytest.fixture
def encrypted(tmp_path: Path) -> Iterator[tuple[str, ssl.SSLContext]]:
    """The port and the context of a daemon behind TLS; its certificate is key.pem and cert.pem."""
    command = "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -subj /CN=localhost -addext"
    subprocess.run(
        [*command.split(), "subjectAltName=DNS:localhost"], cwd=tmp_path, check=True, stderr=subprocess.DEVNULL
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    context.load_verify_locations(tmp_path / "cert.pem")
    with LoopbackServer(_Version) as server:
        server.encrypt(context)
        yield server.endpoint.rpartition(":")[2], context


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
@pytest.mark.parametrize("is_mutual", [False, True])
def test_contexts_bring_their_certificates(
    is_mutual: bool, client: Path, encrypted: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port, context = encrypted
    context.verify_mode = ssl.CERT_REQUIRED if is_mutual else ssl.CERT_NONE
    ca, own = (f"ca={tmp_path}/cert.pem", f"cert={tmp_path}/cert.pem,key={tmp_path}/key.pem")
    contexts = {
        "both": (f"{ca},{own}", True),
        "authority": (ca, not is_mutual),
        "unverified": (f"skip-tls-verify=true,{own}", True),
        "anonymous": ("skip-tls-verify=true", not is_mutual),
        "unknown-authority": (own, False),
    }
    for name, (options, expected) in contexts.items():
        host = f"host=tcp://localhost:{port},{options}"
        assert docker("context", "create", name, "--docker", host)
        monkeypatch.setenv("DOCKER_CONTEXT", name)
        assert answers() is expected, name


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
