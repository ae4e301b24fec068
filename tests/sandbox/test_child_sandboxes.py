"""Sandboxes of child processes: limits, a clean environment, no process and no folder left behind."""

import os
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lmrbench_data.base.archive import tar_bytes
from lmrbench_data.base.errors import InfraError, InputError
from lmrbench_data.loader import File
from lmrbench_evaluate.runner import one_answer
from lmrbench_evaluate.sandbox import open_sandbox
from lmrbench_evaluate.sandbox.base import ENVIRONMENT, PYTHON_OPTIONS, Ended, Limits, Sandbox
from lmrbench_evaluate.sandbox.local import LocalSandbox
from lmrbench_evaluate.sandbox.meter import make_outcome
from lmrbench_evaluate.verdict.verdict import Status
from support.sandboxes import harness, output_of, processes_with, until, workspace_of
from support.toy import attempt_in


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The parent of work folders; each test leaves it empty."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield tmp_path
    assert list(tmp_path.iterdir()) == []


STATUSES: dict[str, tuple[Status, str]] = {
    "right": (Status.PASSED, "return [value * factor for value in values]"),
    "memory": (Status.OOM, "bytearray(1 << 40)"),
    # `local` loses its runner; elsewhere it is process 1, which no signal from inside reaches.
    "kills_the_runner": (Status.ERROR, "import os, signal; os.kill(os.getppid(), signal.SIGKILL); os._exit(1)"),
    "deep_folders": (
        Status.ERROR,
        "import os\n    for _ in range(2000): os.mkdir('d'); os.chdir('d')\n    raise OSError",
    ),
    "file_too_large": (Status.ERROR, "open('big', 'wb').truncate(1 << 40)"),
}


@pytest.fixture(params=["local", pytest.param("bwrap", marks=pytest.mark.bwrap)])
def child_sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Each sandbox of child processes, in turn."""
    sandbox: Sandbox = request.getfixturevalue(f"{request.param}_sandbox")
    return sandbox


@pytest.mark.parametrize("name", STATUSES)
def test_answer_gets_the_status_of_a_container(
    name: str, toy_row: dict[str, Any], child_sandbox: Sandbox, own_folder: Path
) -> None:
    """The same verdicts as in a container; here, too, no answer becomes an infra error."""
    status, body = STATUSES[name]
    assert attempt_in(child_sandbox, toy_row)(f"def scale(values, factor):\n    {body}\n").status is status  # type: ignore[arg-type]


def test_environment_of_the_harness_stays_outside(
    child_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, own_folder: Path
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    outcome = child_sandbox.run("", workspace_of("import os; return sorted(os.environ.items())"), Limits(30, 256))
    found = dict(output_of(outcome))
    assert not found.keys() & {"HF_TOKEN", "PYTHONPATH"}
    assert {"PATH", "HOME", "TMPDIR"} <= found.keys()
    assert (found["USER"], found["LOGNAME"], found["PYTHONHASHSEED"]) == ("nobody", "nobody", "0")


def test_log_states_that_it_was_cut(local_sandbox: Sandbox) -> None:
    """It did not where the last piece that was read was the first to make it too long."""
    for size in (16_000, 40_000, 200_000):
        outcome = local_sandbox.run(
            "", workspace_of(f"import os; os.write(1, b'<' + b'x' * {size} + b'>')"), Limits(30, 256)
        )
        assert ("\n[...]\n" in outcome.log) is (size > 16_384)
        assert outcome.log.startswith("--- only seed 0\n<x")
        assert outcome.log.endswith("x>\n")


THREADS = """
import os
import numpy
square = numpy.ones((500, 500))
square @ square
return len(os.listdir("/proc/self/task"))
"""


def test_libraries_have_one_thread_in_a_sandbox_of_your_own(tmp_path: Path) -> None:
    """They were loaded before anything limited their threads, unless the sandbox knew the variables."""
    arguments, stdin = one_answer(workspace_of(THREADS), ["numpy"], str(tmp_path))
    command = [sys.executable, *PYTHON_OPTIONS, *arguments]
    output = subprocess.run(command, input=stdin, stdout=subprocess.PIPE, env=ENVIRONMENT, check=True).stdout
    answer = bytearray(output.partition(b"begin ")[2].partition(b"\n")[2])
    assert output_of(make_outcome(answer, "", Ended.EXITED, 0, None, "")) == 1


STRAGGLER = """
import os, sys, time
if os.fork() == 0:
    os.setsid()  # out of reach of a signal to the group
    os.execv(sys.executable, ["python", "-S", "-c", "import time; time.sleep(600)", "{mark}"])
time.sleep({pause})
"""


@pytest.mark.parametrize(("pause", "ended"), [(0, Ended.EXITED), (60, Ended.TIME_LIMIT)])
def test_straggler_ends_with_its_run(pause: int, ended: Ended, child_sandbox: Sandbox, own_folder: Path) -> None:
    mark = uuid.uuid4().hex
    outcome = child_sandbox.run("", workspace_of(STRAGGLER.format(pause=pause, mark=mark)), Limits(1, 256))
    assert outcome.ended is ended
    assert processes_with(mark) == []


def test_closing_a_sandbox_ends_its_runs(child_sandbox: Sandbox, own_folder: Path) -> None:
    sandbox, mark = type(child_sandbox)(), uuid.uuid4().hex
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(sandbox.run, "", workspace_of(STRAGGLER.format(pause=60, mark=mark)), Limits(60, 256))
        assert until(lambda: bool(processes_with(mark)))
        sandbox.close()
        assert str(run.exception(10)) == "the sandbox was closed"
    assert processes_with(mark) == []
    with pytest.raises(InfraError, match="closed"):
        sandbox.run("", workspace_of("return 1"), Limits(30, 256))


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_harness_that_ends_leaves_no_process(how: signal.Signals, bwrap_sandbox: Sandbox, own_folder: Path) -> None:
    """`local` cannot promise it: a process that left the killed harness's session lives on."""
    mark = uuid.uuid4().hex
    with harness("bwrap", STRAGGLER.format(pause=60, mark=mark)) as (process, _):
        assert until(lambda: bool(processes_with(mark)))
        process.send_signal(how)
        process.wait(15)
    assert until(lambda: not processes_with(mark), 5)


def test_runner_that_cannot_start_is_an_infra_error(own_folder: Path, child_sandbox: Sandbox) -> None:
    with pytest.raises(InfraError, match="did not start"):
        child_sandbox.run("", tar_bytes({"repo/scale.py": File(b"")}), Limits(30, 256))


def test_auto_falls_back_with_a_warning_and_docker_does_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    monkeypatch.setenv("PATH", str(tmp_path))
    local = open_sandbox("auto")
    assert (local.name, local.official) == ("local", False)
    for message, words in zip(
        caplog.messages, ("no Docker daemon answers", "bubblewrap is not installed", "does not isolate"), strict=True
    ):
        assert words in message
    for kind, words in {"docker": "DOCKER_HOST", "bwrap": "apt-get install bubblewrap"}.items():
        with pytest.raises(InfraError, match=words):
            open_sandbox(kind)
    with pytest.raises(InputError, match="auto, docker, bwrap, local"):
        open_sandbox("podman")


def test_auto_prefers_bubblewrap_to_no_wall(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture, bwrap_sandbox: Sandbox
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    with open_sandbox("auto") as sandbox:
        assert (sandbox.name, sandbox.official) == ("bwrap", False)
    assert "not for a leaderboard" in caplog.messages[-1]


def test_bubblewrap_that_this_user_may_not_use_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As where user namespaces are switched off; its last line is the reason."""
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(InfraError, match=r"does not work on this machine: .*: bwrap: setting up uid map") as error:
        open_sandbox("bwrap")
    assert "\n" not in str(error.value)


class Foreign(LocalSandbox):
    """A sandbox of a third party."""

    name = "foreign"


class Boaster(Foreign):
    official = True


def down() -> Sandbox:
    raise RuntimeError("the batch system\nis down")


def unlicensed() -> Sandbox:
    raise InfraError("no licence")


def test_sandbox_opens_by_its_import_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "broken.py").write_text("1 / 0\n")
    (tmp_path / "leaving.py").write_text("raise SystemExit\n")
    with open_sandbox(f"{__name__}:Foreign") as sandbox:
        assert sandbox.name == "foreign"
    for path, problem in {
        f"{__name__}:Boaster": "claims to be official, but only `docker` is",
        f"{__name__}:nothing": r"must be a callable that returns a Sandbox \(AttributeError: ",
        "no.such.module:Sandbox": r"\(ModuleNotFoundError: ",
        "broken:Sandbox": r"\(ZeroDivisionError: ",
        "leaving:Sandbox": r"\(SystemExit: ",
        "os:sep": r"'os:sep': must be a callable that returns a Sandbox \(TypeError: 'str' object is not callable\)",
        "os:getpid": "returns int, which is not a Sandbox: it lacks prepare, run",
        "os:open": r"\(TypeError: ",
        f"{__name__}:down": r"\(RuntimeError: the batch system is down\)$",
        f"{__name__}:Path": "returns PosixPath, which is not a Sandbox: it lacks prepare, run",
        "pathlib:Path.cwd": "expected auto, docker, bwrap, local, or an import path",
    }.items():
        with pytest.raises(InputError, match=problem):
            open_sandbox(path)
    with pytest.raises(InfraError, match="no licence"):
        open_sandbox(f"{__name__}:unlicensed")
