"""The Docker sandbox: what tested code sees of its container, and that no container outlives its run."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lmrbench_data.base.errors import InfraError
from lmrbench_data.loader import File
from lmrbench_evaluate.rebuild.workspace import workspace_tar
from lmrbench_evaluate.sandbox.base import Ended, Limits, Outcome
from lmrbench_evaluate.sandbox.docker import RUN_LABEL, DockerSandbox
from lmrbench_evaluate.sandbox.docker_client import connect
from lmrbench_evaluate.verdict.verdict import Verdict

pytestmark = pytest.mark.docker

PODMAN = "podman" in os.environ.get("DOCKER_HOST", "")


class TestFromInside:
    """A candidate's view of its container."""

    @pytest.fixture
    def seen(self, look_around: Callable[..., dict[str, Any]], try_in_docker: Callable[..., Verdict]) -> dict[str, Any]:
        return look_around(try_in_docker)

    def test_an_unprivileged_user(self, seen: dict[str, Any]) -> None:
        for status in (seen["status"], seen["runner"]):
            assert set(status["Uid"].split()) == set(status["Gid"].split()) == {"65534"}
            for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
                assert int(status[name], 16) == 0, name
            assert status["NoNewPrivs"] == "1"
            assert status["Seccomp"] == "2"
        assert not set(seen["groups"]) & {0, 27, 999}
        assert seen["parent"] == 1  # so that signals from inside do not end the runner

    def test_no_network(self, seen: dict[str, Any]) -> None:
        assert seen["interfaces"] == ["lo"]
        assert seen["routes"] == []

    def test_only_two_small_folders_are_writable(self, seen: dict[str, Any]) -> None:
        assert set(seen["writable"]) == {"/tmp", "/work"}
        assert seen["size_mb"] == {"/tmp": 256, "/work": 256}
        options = dict(mount.split() for mount in seen["mounts"])
        assert "ro" in options["/"].split(",")
        for folder in ("/tmp", "/work"):
            assert {"nosuid", "nodev"} <= set(options[folder].split(","))

    def test_no_folder_of_the_host_is_mounted(self, seen: dict[str, Any]) -> None:
        own = ("/proc", "/dev", "/sys", "/etc/resolv.conf", "/etc/hostname", "/etc/hosts", "/tmp", "/work")
        own += ("/run", "/var/tmp") if PODMAN else ()  # empty and read-only
        for mount in seen["mounts"]:
            path = mount.split()[0]
            assert path == "/" or any(path == place or path.startswith(f"{place}/") for place in own), mount

    def test_limits(self, seen: dict[str, Any]) -> None:
        assert int(seen["memory"]) == 300 * 2**20
        assert int(seen["pids"]) == 256
        quota, period = (int(part) for part in seen["cpu"].split())
        assert quota == period  # one processor
        assert seen["core"] == [0, 0]
        assert seen["files"] == [1024, 1024]

    def test_the_environment_reveals_nothing_of_the_harness(self, seen: dict[str, Any]) -> None:
        allowed = {"PATH", "HOSTNAME", "HOME", "LANG", "TMPDIR", "GPG_KEY"}
        allowed |= {"TERM", "container"} if PODMAN else set()
        names = {name for name in seen["environment"] if not name.startswith(("PYTHON_", "OMP_", "MKL_", "OPENBLAS_"))}
        assert names <= allowed
        assert "/work" in seen["environment"]["HOME"]


# --- containers come and go ---------------------------------------------------------------------------------------


def _workspace(body: str) -> bytes:
    """A workspace whose one case runs `body`."""
    cases = f"def case_only(seed):\n{textwrap.indent(textwrap.dedent(body), '    ')}\n"
    return workspace_tar({"empty.py": File(b"")}, cases.encode(), runs=[("only", 0)], limit_s=60)


def _containers(run_id: str) -> list[str]:
    return [container["Id"] for container in connect().containers(all=True, filters={"label": f"{RUN_LABEL}={run_id}"})]


def _until(condition: Callable[[], bool], seconds: float = 120) -> bool:
    stop = time.monotonic() + seconds
    while time.monotonic() < stop:
        if condition():
            return True
        time.sleep(0.1)
    return condition()


@pytest.fixture
def image(docker_sandbox: DockerSandbox, toy_row: dict[str, Any]) -> str:
    return docker_sandbox.prepare(toy_row["docker_image"])


@pytest.fixture
def own_sandbox(docker_sandbox: DockerSandbox) -> Iterator[DockerSandbox]:
    """A sandbox that the test may close."""
    sandbox = DockerSandbox()
    yield sandbox
    sandbox.close()


class _Background(threading.Thread):
    """A run on another thread, with its outcome or error."""

    def __init__(self, sandbox: DockerSandbox, image: str, body: str) -> None:
        super().__init__()
        self.result: Outcome | Exception | None = None
        self._arguments = (image, _workspace(body), Limits(60, 256))
        self._sandbox = sandbox
        self.start()

    def run(self) -> None:
        try:
            self.result = self._sandbox.run(*self._arguments)
        except Exception as error:
            self.result = error


def test_a_container_is_labelled_while_it_runs_and_gone_after(own_sandbox: DockerSandbox, image: str) -> None:
    thread = _Background(own_sandbox, image, "import time; time.sleep(2)")
    assert _until(lambda: len(_containers(own_sandbox.run_id)) == 1)
    thread.join()
    assert isinstance(thread.result, Outcome)
    assert thread.result.ended is Ended.EXITED
    assert _containers(own_sandbox.run_id) == []


def test_close_during_runs(own_sandbox: DockerSandbox, image: str) -> None:
    """Runs end at once as infra errors, nothing is left, and nothing can be started afterwards."""
    threads = [_Background(own_sandbox, image, "import time; time.sleep(50)") for _ in range(3)]
    assert _until(lambda: len(_containers(own_sandbox.run_id)) == 3)
    started = time.monotonic()
    own_sandbox.close()
    for thread in threads:
        thread.join(20)
        assert isinstance(thread.result, InfraError), thread.result
    assert time.monotonic() - started < 15
    assert _containers(own_sandbox.run_id) == []
    with pytest.raises(InfraError, match="closed"):
        own_sandbox.run(image, _workspace("return 1"), Limits(60, 256))
    own_sandbox.close()  # again, as an interrupted run does


@pytest.mark.parametrize("how", ["kill", "stop", "remove"])
def test_a_container_stopped_from_outside_is_an_infra_error(how: str, own_sandbox: DockerSandbox, image: str) -> None:
    thread = _Background(own_sandbox, image, "import time; time.sleep(50)")
    assert _until(lambda: bool(_running(own_sandbox.run_id)))
    [container] = _containers(own_sandbox.run_id)
    api = connect()
    {
        "kill": lambda: api.kill(container),
        "stop": lambda: api.stop(container, timeout=0),
        "remove": lambda: api.remove_container(container, force=True),
    }[how]()
    thread.join(20)
    assert isinstance(thread.result, InfraError)
    assert _containers(own_sandbox.run_id) == []


def _running(run_id: str) -> list[Any]:
    return list(connect().containers(filters={"label": f"{RUN_LABEL}={run_id}", "status": "running"}))


def test_an_image_that_cannot_run_is_an_infra_error(own_sandbox: DockerSandbox) -> None:
    missing = f"sha256:{'0' * 64}"
    with pytest.raises(InfraError, match=r"(?i)no such image"):
        own_sandbox.run(missing, _workspace("return 1"), Limits(60, 256))
    assert _containers(own_sandbox.run_id) == []


HARNESS = """
import sys
from lmrbench_evaluate.sandbox.base import Limits
from lmrbench_evaluate.sandbox.docker import DockerSandbox

sandbox = DockerSandbox()
print(sandbox.run_id, flush=True)
sandbox.run(sys.argv[1], sys.stdin.buffer.read(), Limits(60, 256))
"""


@pytest.mark.parametrize("group", [False, True], ids=["process", "process_group_and_polite_signal"])
def test_a_harness_that_is_killed_leaves_no_container(group: bool, image: str) -> None:
    harness = subprocess.Popen(
        [sys.executable, "-c", HARNESS, image], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    assert harness.stdin is not None
    assert harness.stdout is not None
    with contextlib.closing(harness.stdout):
        harness.stdin.write(_workspace("import time; time.sleep(50)"))
        harness.stdin.close()
        run_id = harness.stdout.readline().decode().strip()
        assert _until(lambda: bool(_running(run_id)))
        if group:  # as a batch system ends a job: every process gets a signal, then the harness is killed
            [reaper] = _reapers(run_id)
            for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
                os.kill(reaper, number)
        harness.kill()
        harness.wait()
    assert _until(lambda: not _containers(run_id)), "the reaper did not remove the container"


def test_the_reaper_leaves_when_the_harness_is_done(own_sandbox: DockerSandbox, image: str) -> None:
    own_sandbox.run(image, _workspace("return 1"), Limits(60, 256))
    assert len(_reapers(own_sandbox.run_id)) == 1
    own_sandbox.close()
    assert _reapers(own_sandbox.run_id) == []


def _reapers(run_id: str) -> list[int]:
    """Processes of this machine that were started with the run's id."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if run_id.encode() in path.read_bytes():
                found.append(int(path.parent.name))
    return found
