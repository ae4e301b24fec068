"""The Docker sandbox: no container outlives its run."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lmrbench_data.base.errors import InfraError
from lmrbench_evaluate.sandbox.base import Limits, Outcome
from lmrbench_evaluate.sandbox.docker import DockerSandbox
from lmrbench_evaluate.sandbox.docker_client import connect
from lmrbench_evaluate.sandbox.images import ensure_image
from support.sandboxes import harness, processes_with, until, workspace_of
from support.toy import containers_of

pytestmark = pytest.mark.docker


@pytest.fixture
def image(docker_sandbox: DockerSandbox, toy_row: dict[str, Any]) -> str:
    """The daemon's id, which sandboxes run that have not prepared the image."""
    return ensure_image(connect(), toy_row["docker_image"])


@pytest.fixture
def own_sandbox(docker_sandbox: DockerSandbox) -> Iterator[DockerSandbox]:
    """A sandbox that the test may close."""
    sandbox = DockerSandbox()
    yield sandbox
    sandbox.close()


@pytest.fixture
def start() -> Iterator[Callable[[DockerSandbox, str, str], Future[Outcome]]]:
    """A function that starts a run on another thread."""
    with ThreadPoolExecutor(4) as pool:
        yield lambda sandbox, image, body: pool.submit(sandbox.run, image, workspace_of(body), Limits(60, 256))


def test_closing_a_sandbox_ends_its_runs(
    own_sandbox: DockerSandbox, image: str, start: Callable[..., Future[Outcome]]
) -> None:
    """Runs end at once as infra errors, nothing is left, and nothing can be started afterwards."""
    runs = [start(own_sandbox, image, "import time; time.sleep(50)") for _ in range(3)]
    assert until(lambda: len(containers_of(own_sandbox.run_id, stopped=True)) == 3)
    started = time.monotonic()
    own_sandbox.close()
    assert all(isinstance(run.exception(20), InfraError) for run in runs)
    assert time.monotonic() - started < 15
    assert containers_of(own_sandbox.run_id, stopped=True) == []
    with pytest.raises(InfraError, match="closed"):
        own_sandbox.run(image, workspace_of("return 1"), Limits(60, 256))
    own_sandbox.close()  # again, as an interrupted run does


def test_container_stopped_from_outside_is_an_infra_error(image: str, start: Callable[..., Future[Outcome]]) -> None:
    api = connect()
    ways: tuple[Callable[[str], None], ...] = (
        api.kill,
        lambda container: api.stop(container, timeout=0),
        lambda container: api.remove_container(container, force=True),
    )
    with contextlib.ExitStack() as opened:
        sandboxes = [opened.enter_context(DockerSandbox()) for _ in ways]
        runs = [start(sandbox, image, "import time; time.sleep(50)") for sandbox in sandboxes]
        for sandbox, run, stop in zip(sandboxes, runs, ways, strict=True):
            assert until(lambda sandbox=sandbox: bool(containers_of(sandbox.run_id)))  # type: ignore[misc]
            [container] = containers_of(sandbox.run_id, stopped=True)
            stop(container)
            assert isinstance(run.exception(20), InfraError)
            assert containers_of(sandbox.run_id, stopped=True) == []


@pytest.mark.parametrize("group", [False, True], ids=["process", "process_group_and_polite_signal"])
def test_killed_harness_leaves_no_container(group: bool, image: str, tmp_path: Path) -> None:
    """Modules of the folder in which it was started do not reach the process that cleans up."""
    for name in ("signal", "contextlib", "datetime", "docker", "uuid"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a module of the working folder')\n")
    options: dict[str, Any] = {"cwd": tmp_path, "start_new_session": True}
    with harness("docker", "import time; time.sleep(50)", image, **options) as (process, run_id):
        assert until(lambda: bool(containers_of(run_id)))
        if group:  # as a batch system ends a job: every process gets a signal, then the harness is killed
            # The child of the harness ends as soon as it has forked the reaper.
            assert until(lambda: processes_with(run_id, but_child_of=process.pid))
            [reaper] = processes_with(run_id, but_child_of=process.pid)
            for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
                os.kill(reaper, number)
        process.kill()
    assert until(lambda: not containers_of(run_id, stopped=True)), "the reaper did not remove the container"


def test_reaper_ends_with_the_harness(own_sandbox: DockerSandbox, image: str) -> None:
    own_sandbox.run(image, workspace_of("return 1"), Limits(60, 256))
    assert len(processes_with(own_sandbox.run_id)) == 1
    own_sandbox.close()
    assert processes_with(own_sandbox.run_id) == []


def test_streams_are_closed_in_order(image: str) -> None:
    """Python 3.14 printed a traceback for each run; earlier ones print it in development mode."""
    environment = {**os.environ, "PYTHONDEVMODE": "1", "PYTHONWARNINGS": "ignore"}
    with harness("docker", "return 1", image, env=environment) as (process, _):
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline() == b"exited\n"
        assert b"Exception ignored" not in process.stderr.read()
