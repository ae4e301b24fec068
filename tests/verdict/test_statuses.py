"""Each status of a verdict, provoked for real in containers, and the table that maps causes to statuses."""

import ast
import contextlib
import dataclasses
import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lmrbench_data.base.errors import InfraError
from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.sandbox.base import Sandbox
from lmrbench_evaluate.sandbox.docker import DockerSandbox
from lmrbench_evaluate.sandbox.docker_client import RUN_LABEL, connect
from lmrbench_evaluate.verdict import verdict as verdict_module
from lmrbench_evaluate.verdict.evaluator import evaluate_prediction
from lmrbench_evaluate.verdict.expected import read_expected
from lmrbench_evaluate.verdict.verdict import Cause, Status, Verdict, worst
from support.toy import TOY_ANSWER

DAEMON = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")

# Name → (status, a word of the reason, limits, body of the goal function). The issue that asked for them lists them.
PROVOKED: dict[str, tuple[Status, str, dict[str, int], str]] = {
    "right": (Status.PASSED, "", {}, "return [value * factor for value in values]"),
    "raises": (Status.ERROR, "ZeroDivisionError: division by zero", {}, "return [1 / 0]"),
    "not_implemented": (Status.ERROR, "NotImplementedError", {}, "raise NotImplementedError"),
    "import_fails": (Status.ERROR, "No module named 'nowhere'", {}, "...\n\nimport nowhere"),
    "wrong_value": (Status.FAILED, "output[0]: got", {}, "return [value + factor for value in values]"),
    "wrong_type": (Status.FAILED, "got tuple", {}, "return tuple(value * factor for value in values)"),
    "wrong_number": (Status.FAILED, "4 items, expected 5", {}, "return [value * factor for value in values][1:]"),
    "wrong_type_of_item": (Status.FAILED, "got int", {}, "return [round(value * factor) for value in values]"),
    "infinite_loop": (Status.TIMEOUT, "no output within the time limit", {"timeout_s": 1}, "while True: pass"),
    "memory_hog": (Status.OOM, "memory limit", {}, "hog = []\n    while True: hog.append(bytearray(1 << 24))"),
    "memory_error": (Status.OOM, "MemoryError", {}, "bytearray(1 << 60)"),
    "fork_bomb": (
        Status.TIMEOUT,
        "time limit",
        {"timeout_s": 2},
        "import os\n    while True:\n        try: os.fork()\n        except OSError: pass",
    ),
    "returned_flood": (Status.ERROR, "returned more than", {"memory_mb": 512}, "return ['x' * 20_000_000]"),
    "disk_filling": (
        Status.ERROR,
        "No space left on device",
        {"memory_mb": 1024},
        "import itertools, os\n    for n in itertools.count(): open(f'/tmp/{os.getpid()}-{n}', 'w').write('x' * 2**24)",
    ),
    "exits": (Status.ERROR, "exit status 0", {}, "import os; os._exit(0)"),
    "crashes": (Status.ERROR, "signal 11", {}, "import ctypes; ctypes.string_at(0)"),
    "kills_its_parent": (
        Status.ERROR,
        "signal 9",
        {},
        "import os, signal; os.kill(os.getppid(), signal.SIGKILL); os.kill(os.getpid(), signal.SIGKILL)",
    ),
    "breaks_the_runner": (
        Status.ERROR,
        "the runner ended before this case returned",
        {},
        "import os, resource; resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (0, 0))",
    ),
    "returns_an_object": (Status.ERROR, "output of type", {}, "return object()"),
}


@pytest.mark.docker
@pytest.mark.parametrize("name", PROVOKED)
def test_provoked_for_real(name: str, try_in_docker: Callable[..., Verdict]) -> None:
    status, reason, limits, body = PROVOKED[name]
    verdict = try_in_docker(f"def scale(values, factor):\n    {body}\n", **limits)
    assert verdict.status is status, verdict.reason()
    details = [verdict.detail, *(case.detail for case in verdict.cases if case.status is status)]
    assert any(reason in detail for detail in details), details


@pytest.mark.docker
def test_what_all_cases_return_together_is_limited(toy_row: dict[str, Any], docker_sandbox: Sandbox) -> None:
    row = {**toy_row, "tests": {**toy_row["tests"], "memory_mb": 512}}
    frames = [dataclasses.replace(read_expected(row)[0], seed=seed) for seed in range(6)]
    answer = Prediction("toy-scale", "m", "function", "def scale(values, factor):\n    return ['x' * 14_000_000]\n")
    image = docker_sandbox.prepare(row["docker_image"])
    verdict = evaluate_prediction(row, answer, docker_sandbox, image, expected=frames)
    assert verdict.status is Status.ERROR
    assert any("output limit" in case.detail for case in verdict.cases)


@pytest.fixture(scope="module")
def arrays_row(toy_row: dict[str, Any], docker_sandbox: Sandbox) -> dict[str, Any]:
    """The toy with a case that returns an array, recorded from the right answer."""
    from lmrbench_data.base.archive import pack
    from lmrbench_data.loader import File
    from lmrbench_evaluate.rebuild.workspace import rebuild
    from lmrbench_evaluate.verdict.expected import record_seeds

    cases = "import numpy\nfrom scale import scale\ndef case_array(seed):\n    return scale(numpy.ones((2, 3)), 2.0)\n"
    tests = {**toy_row["tests"], "cases": [{"name": "array", "core": True, "varies": True}], "seeds": [0]}
    row = {**toy_row, "tests_archive": pack({"cases.py": File(cases.encode())}), "tests": tests}
    answer = Prediction("toy-scale", "gold", "function", "def scale(values, factor):\n    return values * factor\n")
    image = docker_sandbox.prepare(row["docker_image"])
    row["frames"] = record_seeds(row, rebuild(row, answer), docker_sandbox, image, [0])
    return row


@pytest.mark.docker
@pytest.mark.parametrize(
    ("expression", "status", "reason"),
    [
        ("values * factor", Status.PASSED, ""),
        ("(values * factor).astype('float32')", Status.FAILED, "dtype float32, expected float64"),
        ("(values * factor).T", Status.FAILED, "shape (3, 2), expected (2, 3)"),
    ],
)
def test_arrays(
    expression: str, status: Status, reason: str, arrays_row: dict[str, Any], docker_sandbox: Sandbox
) -> None:
    prediction = Prediction("toy-scale", "test", "function", f"def scale(values, factor):\n    return {expression}\n")
    image = docker_sandbox.prepare(arrays_row["docker_image"])
    verdict = evaluate_prediction(arrays_row, prediction, docker_sandbox, image, expected=arrays_row["frames"])
    assert verdict.status is status
    assert reason in verdict.reason()


@pytest.mark.docker
@pytest.mark.parametrize(
    ("form", "content"),
    [
        ("function", "def another(values, factor): ...\n"),
        ("function", "def scale(values, factor:\n"),
        ("goal_file", "scale = None\n"),
        ("model_patch", "--- a/nowhere.py\n+++ b/nowhere.py\n@@ -1 +1 @@\n-a\n+b\n"),
    ],
)
def test_malformed(form: str, content: str, try_in_docker: Callable[..., Verdict]) -> None:
    verdict = try_in_docker(content, form=form)
    assert verdict.status is Status.MALFORMED
    assert verdict.cases == []
    assert verdict.reason()
    assert "\n" not in verdict.reason()


# --- the machinery fails ------------------------------------------------------------------------------------------


@pytest.mark.docker
def test_image_missing(toy_row: dict[str, Any], docker_sandbox: Sandbox) -> None:
    prediction = Prediction("toy-scale", "test", "goal_file", TOY_ANSWER)
    verdict = evaluate_prediction(toy_row, prediction, docker_sandbox, f"sha256:{'0' * 64}")
    assert verdict.status is Status.INFRA_ERROR
    assert "no such image" in verdict.reason().lower()
    with pytest.raises(InfraError, match=r"lmrbench/nowhere:000000000000 is missing.*LMRBENCH_REGISTRY"):
        docker_sandbox.prepare("lmrbench/nowhere:000000000000")


class WayToDaemon:
    """A socket that leads to the machine's Docker daemon, until it is cut."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._sockets: list[socket.socket] = []

    def open(self) -> None:
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(self.path))
        server.listen()
        self._sockets = [server]
        threading.Thread(target=self._serve, args=[server], daemon=True).start()

    def _serve(self, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                ends = server.accept()[0], socket.socket(socket.AF_UNIX)
                ends[1].connect(DAEMON.removeprefix("unix://"))
                self._sockets += ends
                for source, target in (ends, ends[::-1]):
                    threading.Thread(target=self._copy, args=[source, target], daemon=True).start()

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def cut(self) -> None:
        self.path.unlink()
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


@pytest.mark.docker
@pytest.mark.nightly
@pytest.mark.skipif(not DAEMON.startswith("unix://"), reason="the daemon has no socket of this machine")
def test_daemon_lost_mid_run(
    docker_sandbox: Sandbox, toy_row: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An infra error with a clear reason; once the daemon is back, answers pass again and no container is left."""
    way = WayToDaemon(tmp_path / "docker.sock")
    way.open()
    monkeypatch.setenv("DOCKER_HOST", f"unix://{way.path}")
    sandbox = DockerSandbox()
    image = sandbox.prepare(toy_row["docker_image"])
    sleeping = "import time\ndef scale(values, factor):\n    time.sleep(20)\n"
    verdicts: list[Verdict] = []

    def evaluate(content: str) -> Verdict:
        return evaluate_prediction(toy_row, Prediction("toy-scale", "test", "goal_file", content), sandbox, image)

    thread = threading.Thread(target=lambda: verdicts.append(evaluate(sleeping)))
    thread.start()
    label = {"label": f"{RUN_LABEL}={sandbox.run_id}"}
    api = connect()
    assert _until(lambda: bool(api.containers(filters={**label, "status": "running"})))
    way.cut()
    thread.join(60)
    [verdict] = verdicts
    assert verdict.status is Status.INFRA_ERROR
    assert verdict.cases == []
    assert "Docker engine" in verdict.reason()
    assert "\n" not in verdict.reason()

    sandbox.close()  # the daemon is away: the reaper stays and waits for it
    way.open()
    assert _until(lambda: not connect().containers(all=True, filters=label)), "a container was left behind"
    assert _until(lambda: not _is_running(sandbox.run_id)), "the reaper stayed"
    sandbox = DockerSandbox()
    assert evaluate(TOY_ANSWER).status is Status.PASSED
    sandbox.close()
    way.cut()


def _until(condition: Callable[[], bool], seconds: float = 30) -> bool:
    stop = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > stop:
            return False
        time.sleep(0.1)
    return True


def _is_running(word: str) -> bool:
    """Whether a process of this machine was started with this word."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has just ended
            if word.encode() in path.read_bytes():
                return True
    return False


# --- the table ----------------------------------------------------------------------------------------------------


def test_every_cause_is_used() -> None:
    folder = Path(verdict_module.__file__).parents[1]
    named = {
        node.attr
        for path in folder.rglob("*.py")
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Cause"
    }
    assert named == set(Cause.__members__)


def test_only_equal_output_passes_and_only_the_machinery_is_infra() -> None:
    assert [cause for cause in Cause if cause.status is Status.PASSED] == [Cause.EQUAL]
    machinery = {Cause.ENGINE, Cause.OVERLOAD, Cause.DATASET, Cause.BUG}
    assert {cause for cause in Cause if cause.status is Status.INFRA_ERROR} == machinery
    assert {cause.status for cause in Cause} == set(Status)


def test_an_instance_is_as_bad_as_its_worst_case_and_never_passes_without_one() -> None:
    assert worst([]) is Status.INFRA_ERROR
    assert worst([Status.PASSED, Status.PASSED]) is Status.PASSED
    for status in set(Status) - {Status.PASSED}:
        assert worst([Status.PASSED, status, Status.PASSED]) is status
