"""The local sandbox: limits, a clean environment, no process and no folder left behind. It promises no isolation."""

import os
import tempfile
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import lmrbench_data
import lmrbench_evaluate
from lmrbench_data.base.archive import tar_bytes
from lmrbench_data.base.errors import InfraError, InputError
from lmrbench_data.loader import File
from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.rebuild.workspace import workspace_tar
from lmrbench_evaluate.sandbox import open_sandbox
from lmrbench_evaluate.sandbox.base import Ended, Limits, Outcome, Sandbox
from lmrbench_evaluate.sandbox.local import LocalSandbox
from lmrbench_evaluate.verdict.decode import decode, read_frames
from lmrbench_evaluate.verdict.evaluator import evaluate_prediction
from lmrbench_evaluate.verdict.verdict import Status


def _workspace(body: str, repo: dict[str, File] | None = None) -> bytes:
    """A workspace whose one case runs `body`."""
    cases = f"def case_only(seed):\n{textwrap.indent(textwrap.dedent(body), '    ')}\n"
    return workspace_tar(repo or {"empty.py": File(b"")}, cases.encode(), runs=[("only", 0)], limit_s=60)


def _output(outcome: Outcome) -> Any:
    [frame] = read_frames(outcome.stdout)
    assert frame.kind == "output", frame.payload
    return decode(frame.payload)


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where work folders are made; each test leaves it empty."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield tmp_path
    assert list(tmp_path.iterdir()) == []


STATUSES: dict[str, tuple[Status, dict[str, int], str]] = {
    "right": (Status.PASSED, {}, "return [value * factor for value in values]"),
    "wrong": (Status.FAILED, {}, "return values"),
    "raises": (Status.ERROR, {}, "raise KeyError"),
    "endless": (Status.TIMEOUT, {"timeout_s": 1}, "while True: pass"),
    "memory": (Status.OOM, {}, "bytearray(1 << 40)"),
    "exits": (Status.ERROR, {}, "import os; os._exit(0)"),
    "kills_the_runner": (Status.ERROR, {}, "import os, signal; os.kill(os.getppid(), signal.SIGKILL)"),
    "deep_folders": (
        Status.ERROR,
        {},
        "import os\n    for _ in range(2000): os.mkdir('d'); os.chdir('d')\n    raise OSError",
    ),
    "file_too_large": (Status.ERROR, {}, "open('big', 'wb').truncate(1 << 40)"),
}


@pytest.mark.parametrize("name", STATUSES)
def test_statuses(name: str, toy_row: dict[str, Any], local_sandbox: Sandbox, own_folder: Path) -> None:
    """The same verdicts as in a container; here, too, no answer becomes an infra error."""
    status, limits, body = STATUSES[name]
    row = {**toy_row, "tests": {**toy_row["tests"], **limits}}
    prediction = Prediction("toy-scale", "test", "goal_file", f"def scale(values, factor):\n    {body}\n")
    assert evaluate_prediction(row, prediction, local_sandbox, "").status is status


def test_secrets_of_the_environment_stay_outside(
    local_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, own_folder: Path
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    outcome = local_sandbox.run("", _workspace("import os; return sorted(os.environ)"), Limits(30, 256))
    names = set(_output(outcome))
    assert not names & {"HF_TOKEN", "PYTHONPATH"}
    assert {"PATH", "HOME", "TMPDIR"} <= names


STRAGGLER = """
import os, time
if os.fork() == 0:
    os.setsid()  # out of reach of a signal to the group
    while True:
        time.sleep(1)
time.sleep({pause})
"""


@pytest.mark.parametrize(("pause", "ended"), [(0, Ended.EXITED), (60, Ended.TIME_LIMIT)])
def test_no_process_is_left(pause: int, ended: Ended, local_sandbox: Sandbox, own_folder: Path) -> None:
    outcome = local_sandbox.run("", _workspace(STRAGGLER.format(pause=pause)), Limits(2, 256))
    assert outcome.ended is ended
    assert _processes_below(own_folder) == []


def test_close_ends_all_runs(own_folder: Path) -> None:
    sandbox = LocalSandbox()
    failures: list[Exception] = []

    def run() -> None:
        try:
            sandbox.run("", _workspace(STRAGGLER.format(pause=60)), Limits(60, 256))
        except InfraError as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert _until(lambda: len(_processes_below(own_folder)) >= 3)
    sandbox.close()
    thread.join(10)
    assert [str(error) for error in failures] == ["the sandbox was closed"]
    assert _processes_below(own_folder) == []
    with pytest.raises(InfraError, match="closed"):
        sandbox.run("", _workspace("return 1"), Limits(30, 256))


@pytest.mark.docker
def test_no_process_of_an_ordinary_user_is_left(docker_sandbox: Sandbox, toy_row: dict[str, Any]) -> None:
    """Root may read everybody's environment, an ordinary user may not: so this package itself runs in a container."""
    packages = [Path(package.__file__).parent for package in (lmrbench_data, lmrbench_evaluate)]
    source = {
        path.relative_to(package.parent).as_posix(): File(path.read_bytes())
        for package in packages
        for path in package.rglob("*.py")
    }
    image = docker_sandbox.prepare(toy_row["docker_image"])
    nested = f"""
    import glob, os
    from lmrbench_evaluate.sandbox.base import Limits
    from lmrbench_evaluate.sandbox.local import LocalSandbox
    LocalSandbox().run("", {_workspace(STRAGGLER.format(pause=60))!r}, Limits(2, 256))
    states = [open(path).read().rsplit(")", 1)[1].split()[0] for path in glob.glob("/proc/[0-9]*/stat")]
    return os.getuid(), len(states), sum(state != "Z" for state in states)
    """
    user, processes, alive = _output(docker_sandbox.run(image, _workspace(nested, source), Limits(60, 512)))
    assert user != 0
    assert processes > 2  # the dead ones that nobody has waited for yet
    assert alive == 2  # the outer runner and the case itself


def test_a_runner_that_cannot_start_is_an_infra_error(own_folder: Path, local_sandbox: Sandbox) -> None:
    with pytest.raises(InfraError, match="did not start"):
        local_sandbox.run("", tar_bytes({"repo/scale.py": File(b"")}), Limits(30, 256))


def test_it_is_announced_and_not_official(caplog: pytest.LogCaptureFixture) -> None:
    sandbox = open_sandbox("local")
    assert not sandbox.official
    assert any("does not isolate" in line for line in caplog.messages)
    with pytest.raises(InputError, match="auto, docker, local"):
        open_sandbox("podman")


def test_auto_falls_back_with_a_warning_and_docker_does_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    assert open_sandbox("auto").name == "local"
    assert "no Docker daemon answers" in caplog.messages[0]
    with pytest.raises(InfraError, match="DOCKER_HOST"):
        open_sandbox("docker")


class Foreign(LocalSandbox):
    """A sandbox of a third party."""

    name = "foreign"


class Boaster(Foreign):
    official = True


def test_a_sandbox_opens_by_its_import_path() -> None:
    with open_sandbox(f"{__name__}:Foreign") as sandbox:
        assert sandbox.name == "foreign"
    for path, problem in {
        f"{__name__}:Boaster": "claims to be official, but only `docker` is",
        f"{__name__}:nothing": "cannot be imported",
        "no.such.module:Sandbox": "cannot be imported",
        f"{__name__}:Path": "lacks prepare, run",
        "pathlib:Path.cwd": "expected auto, docker, local, or an import path",
    }.items():
        with pytest.raises(InputError, match=problem):
            open_sandbox(path)


def _processes_below(folder: Path) -> list[str]:
    """Return the processes of this machine whose command names the folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if f"{folder}/".encode() in path.read_bytes() and path.parent.name != str(os.getpid()):
                found.append(path.parent.name)
        except OSError:
            continue  # it has just ended
    return found


def _until(condition: Callable[[], bool], seconds: float = 15) -> bool:
    stop = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > stop:
            return False
        time.sleep(0.05)
    return True
