"""Each status of a verdict, provoked for real in containers, and the table that maps causes to statuses."""

import contextlib
import dataclasses
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.sandbox.base import Sandbox
from lmrbench_evaluate.sandbox.docker import DockerSandbox
from lmrbench_evaluate.verdict.evaluator import evaluate_prediction
from lmrbench_evaluate.verdict.expected import read_expected
from lmrbench_evaluate.verdict.verdict import Cause, Status, Verdict, worst
from support.sandboxes import processes_with, until
from support.toy import TOY_ANSWER, containers_of, evaluate_each

DAEMON = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")

# Name → (status, a word of the reason, body of the goal function).
PROVOKED: dict[str, tuple[Status, str, str]] = {
    "right": (Status.PASSED, "", "return [value * factor for value in values]"),
    "raises": (Status.ERROR, "ZeroDivisionError: division by zero", "return [1 / 0]"),
    "raises_in_a_folder_that_is_gone": (
        Status.ERROR,
        "ZeroDivisionError: division by zero",
        "import os; os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')\n    exec(compile('1 / 0', 'x.pyx', 'exec'))",
    ),
    "not_implemented": (Status.ERROR, "NotImplementedError", "raise NotImplementedError"),
    "import_fails": (Status.ERROR, "No module named 'nowhere'", "...\n\nimport nowhere"),
    "wrong_value": (Status.FAILED, "output[0]: got", "return [value + factor for value in values]"),
    "wrong_type": (Status.FAILED, "got tuple", "return tuple(value * factor for value in values)"),
    "wrong_number": (Status.FAILED, "4 items, expected 5", "return [value * factor for value in values][1:]"),
    "wrong_type_of_item": (Status.FAILED, "got int", "return [round(value * factor) for value in values]"),
    "memory_error": (Status.OOM, "MemoryError", "bytearray(1 << 60)"),
    "returned_flood": (Status.ERROR, "returned more than", "return ['x' * 20_000_000]"),
    "exits": (Status.ERROR, "exit status 0", "import os; os._exit(0)"),
    "crashes": (Status.ERROR, "signal 11", "import ctypes; ctypes.string_at(0)"),
    "kills_its_parent": (
        Status.ERROR,
        "signal 9",
        "import os, signal; os.kill(os.getppid(), signal.SIGKILL); os.kill(os.getpid(), signal.SIGKILL)",
    ),
    "returns_an_object": (Status.ERROR, "output of type", "return object()"),
}
# The same for those that end a whole run.
ENDS_THE_RUN = {
    "infinite_loop": (Status.TIMEOUT, "no output within the time limit", "while True: pass"),
    "memory_hog": (Status.OOM, "memory limit", "hog = []\n    while True: hog.append(bytearray(1 << 24))"),
    "breaks_the_runner": (
        Status.ERROR,
        "the runner ended before this case returned",
        "import os, resource; resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (0, 0))",
    ),
}


def check(verdict: Verdict, status: Status, reason: str) -> None:
    assert verdict.status is status, verdict.reason()
    details = [verdict.detail, *(case.detail for case in verdict.cases if case.status is status)]
    assert any(reason in detail for detail in details), details


@pytest.mark.docker
def test_provoked_in_one_container(toy_row: dict[str, Any], docker_sandbox: Sandbox) -> None:
    row: Any = {**toy_row, "tests": {**toy_row["tests"], "memory_mb": 512}}
    answers = [
        Prediction("toy-scale", name, "function", f"def scale(values, factor):\n    {body}\n")
        for name, (_, _, body) in PROVOKED.items()
    ]
    verdicts = evaluate_each(row, answers, docker_sandbox)
    for (status, reason, _), verdict in zip(PROVOKED.values(), verdicts, strict=True):
        check(verdict, status, reason)


@pytest.mark.docker
@pytest.mark.parametrize("name", ENDS_THE_RUN)
def test_provoked_in_a_container_of_its_own(name: str, try_in_docker: Callable[..., Verdict]) -> None:
    status, reason, body = ENDS_THE_RUN[name]
    check(try_in_docker(f"def scale(values, factor):\n    {body}\n", timeout_s=1), status, reason)


@pytest.mark.docker
def test_what_all_cases_return_together_is_limited(toy_row: dict[str, Any], docker_sandbox: Sandbox) -> None:
    row = {**toy_row, "tests": {**toy_row["tests"], "memory_mb": 512}}
    frames = [dataclasses.replace(read_expected(row)[0], seed=seed) for seed in range(6)]
    answer = Prediction("toy-scale", "m", "function", "def scale(values, factor):\n    return ['x' * 14_000_000]\n")
    image = docker_sandbox.prepare(row["docker_image"])
    verdict = evaluate_prediction(row, answer, docker_sandbox, image, expected=frames)
    assert verdict.status is Status.ERROR
    assert any("output limit" in case.detail for case in verdict.cases)


#: Leads from a socket to that of the daemon.
WAY = """
import contextlib, socket, sys, threading

def copy(source, target):
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)

server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen()
print("open", flush=True)
while True:
    ends = server.accept()[0], socket.socket(socket.AF_UNIX)
    ends[1].connect(sys.argv[2])
    for source, target in (ends, ends[::-1]):
        threading.Thread(target=copy, args=[source, target], daemon=True).start()
"""


@contextlib.contextmanager
def way_to_daemon(path: Path) -> Iterator[None]:
    """A socket that leads to the machine's Docker daemon, until it is cut."""
    command = [sys.executable, "-c", WAY, str(path), DAEMON.removeprefix("unix://")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()
            path.unlink()


@pytest.mark.docker
@pytest.mark.nightly
@pytest.mark.skipif(not DAEMON.startswith("unix://"), reason="the daemon has no socket of this machine")
def test_daemon_lost_mid_run(
    docker_sandbox: Sandbox, toy_row: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An infra error with a clear reason; once the daemon is back, answers pass again and no container is left."""
    path = tmp_path / "docker.sock"
    monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
    sleeping = "import time\ndef scale(values, factor):\n    time.sleep(20)\n"

    def evaluate(content: str) -> Verdict:
        return evaluate_prediction(toy_row, Prediction("toy-scale", "test", "goal_file", content), sandbox, image)

    with ThreadPoolExecutor(1) as pool:
        with way_to_daemon(path):
            sandbox = DockerSandbox()
            image = sandbox.prepare(toy_row["docker_image"])
            running = pool.submit(evaluate, sleeping)
            assert until(lambda: bool(containers_of(sandbox.run_id)))
        verdict = running.result(60)
    assert verdict.status is Status.INFRA_ERROR
    assert verdict.cases == []
    assert "Docker engine" in verdict.reason()
    assert "\n" not in verdict.reason()
    sandbox.close()  # the daemon is away: the reaper stays and waits for it
    with way_to_daemon(path):
        assert until(lambda: not containers_of(sandbox.run_id)), "a container was left behind"
        assert until(lambda: not processes_with(sandbox.run_id)), "the reaper stayed"
        sandbox = DockerSandbox()
        assert evaluate(TOY_ANSWER).status is Status.PASSED
        sandbox.close()


# --- the table ----------------------------------------------------------------------------------------------------


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
