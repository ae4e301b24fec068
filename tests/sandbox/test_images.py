"""Images: content-hashed tags, building, and a round trip through a real registry on this machine."""

import io
import logging
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lmrbench_data.base.errors import InfraError
from lmrbench_data.tasks.environments import Environment, load_environments
from lmrbench_evaluate.sandbox.base import Sandbox
from lmrbench_evaluate.sandbox.docker import DockerSandbox
from lmrbench_evaluate.sandbox.docker_client import connect
from lmrbench_evaluate.sandbox.images import build_image, ensure_image, image_id
from support.command_line import in_process
from support.sandboxes import until
from support.toy import IN_CI


@pytest.fixture
def api(docker_sandbox: Sandbox) -> Any:
    return connect()


@pytest.fixture
def tiny(tmp_path: Path) -> Environment:
    """An environment of a few bytes that no other test has."""
    folder = tmp_path / "environments" / "tiny"
    folder.mkdir(parents=True)
    (folder / "Dockerfile").write_text("FROM scratch\nCOPY content /content\n")
    (folder / "content").write_text(f"made at {time.time_ns()}\n")
    (folder / "environment.yaml").write_text("description: nothing but a file\ndisk_mb: 1\n")
    (folder / "requirements.txt").write_text("# What tasks may import\n")
    return load_environments(tmp_path)["tiny"]


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[str]:
    """The address of a registry of this test's own."""
    program = shutil.which("docker-registry")
    if program is None:
        if IN_CI:
            pytest.fail("CI needs docker-registry")
        pytest.skip("no docker-registry on this machine")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    configuration = tmp_path / "registry.yml"
    configuration.write_text(
        f"version: 0.1\nstorage: {{filesystem: {{rootdirectory: {tmp_path / 'registry'}}}}}\n"
        f"http: {{addr: '127.0.0.1:{port}'}}\n"
    )
    process = subprocess.Popen([program, "serve", str(configuration)], stderr=subprocess.DEVNULL)
    try:
        assert until(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0, 20), "the registry did not start"
        yield f"localhost:{port}"
    finally:
        process.terminate()
        process.wait()


@pytest.mark.docker
def test_round_trip_through_a_registry(
    api: Any,
    tiny: Environment,
    registry: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """An image is pulled on first use, under its plain tag, and is the same image."""
    monkeypatch.setenv("LMRBENCH_REGISTRY", f"{registry}/org/")
    caplog.set_level(logging.INFO)
    built = build_image(api, tiny)
    name = f"{registry}/org/{tiny.tag}"
    api.tag(tiny.tag, *name.rsplit(":", 1))
    api.push(name)
    for tag in (name, tiny.tag):
        api.remove_image(tag, force=True)
    assert image_id(api, tiny.tag) is None

    assert ensure_image(api, tiny.tag) == built
    assert any("pulling" in line for line in caplog.messages)
    api.remove_image(tiny.tag, force=True)


@pytest.mark.docker
def test_identity_does_not_depend_on_how_the_daemon_stores_images(api: Any, tiny: Environment) -> None:
    """An id is the hash of a configuration or, in a containerd store, of a manifest; the layers are the same."""
    stored = build_image(api, tiny)
    with DockerSandbox() as one, DockerSandbox() as another:
        identity = one.prepare(tiny.tag)
        list(
            api.build(fileobj=io.BytesIO(f"FROM {tiny.tag}\nLABEL a=b\n".encode()), tag=tiny.tag, rm=True, forcerm=True)
        )
        assert image_id(api, tiny.tag) != stored
        assert another.prepare(tiny.tag) == identity
        api.remove_image(tiny.tag, force=True)
        (tiny.folder / "content").write_text("another layer\n")
        build_image(api, tiny)
        assert one.prepare(tiny.tag) != identity
        api.remove_image(tiny.tag, force=True)


@pytest.mark.docker
def test_processes_that_find_no_image_build_it_once(api: Any, tiny: Environment, tmp_path: Path) -> None:
    """As two evaluations that are started together on a new machine."""
    program = "; ".join([
        "import logging, sys, pathlib",
        "from lmrbench_evaluate.sandbox import images",
        "from lmrbench_evaluate.sandbox.docker_client import connect",
        "logging.basicConfig(level=logging.INFO)",
        "print(images.ensure_image(connect(), sys.argv[1], pathlib.Path(sys.argv[2])))",
    ])  # fmt: skip
    command = [sys.executable, "-c", program, tiny.tag, tmp_path]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = [process.communicate() for process in started]
    assert {identity.strip() for identity, _ in outputs} == {image_id(api, tiny.tag)}
    assert sum("building it" in log for _, log in outputs) == 1, outputs
    api.remove_image(tiny.tag, force=True)


@pytest.mark.docker
def test_missing_image_or_file_is_one_error(api: Any, tiny: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LMRBENCH_REGISTRY", raising=False)
    with pytest.raises(InfraError, match="LMRBENCH_REGISTRY"):
        ensure_image(api, "lmrbench/torch-cpu:000000000000")
    (tiny.folder / "Dockerfile").write_text("FROM scratch\nCOPY missing /missing\n")
    with pytest.raises(InfraError, match="missing"):
        build_image(api, tiny)


@pytest.mark.docker
def test_agent_image_stands_on_an_environment_of_the_own_benchmark(tiny: Environment, tmp_path: Path) -> None:
    (tiny.folder / "Dockerfile").write_text("FROM scratch\nCOPY missing /missing\n")
    done = in_process("images", "build", "tiny", "--agent", "mini-swe-agent", "--benchmark", tmp_path)
    assert (done.returncode, "missing" in done.stderr.splitlines()[-1]) == (3, True), done.stderr
