"""Answers that share loaded libraries: limits, lost zygotes, and what a case sees are as in a fresh container.

That nothing of one answer reaches another is tested with the exploits (`test_exploit_colluding_answers`).
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pytest
from docker.errors import APIError

from lmrbench_data.base.errors import InfraError
from lmrbench_evaluate.predictions.prediction import GOLD, MASKED, Prediction, own_answer
from lmrbench_evaluate.sandbox.base import Sandbox
from lmrbench_evaluate.sandbox.docker_client import connect
from lmrbench_evaluate.sandbox.shared import SharedSandbox
from lmrbench_evaluate.verdict.evaluator import evaluate_prediction
from lmrbench_evaluate.verdict.expected import read_expected
from lmrbench_evaluate.verdict.verdict import Status, Verdict
from support.toy import TOY_ANSWER, attempt_in, containers_of


class Counted:
    """A wall that counts the zygotes started in it."""

    def __init__(self, wall: Any) -> None:
        self.wall, self.name, self.started = wall, wall.name, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.wall, name)

    def zygote(self, *arguments: Any) -> Any:
        self.started += 1
        return self.wall.zygote(*arguments)


@pytest.fixture
def attempt(toy_row: dict[str, Any], shared_sandbox: Sandbox) -> Callable[..., Verdict]:
    return attempt_in(shared_sandbox, toy_row)


@pytest.fixture
def counted(wall: Any) -> Counted:
    return Counted(wall)


#: Answers that exceed a limit; sleep is one of `ENDLESS` in `test_busy_machine`.
EXCESSES = {
    "processes": "import os\ndef scale(values, factor):\n    while True: os.fork()\n",
    "disk": """
def scale(values, factor):
    for folder in ("/tmp", "/work"):
        try:
            with open(f"{folder}/full", "wb", 0) as file:
                while True:
                    file.write(bytes(1 << 20))
        except OSError:
            pass
""",
    "log": "import sys\ndef scale(values, factor):\n    for _ in range(100): sys.stderr.write('x' * (1 << 20))\n",
}
#: The verdicts on them.
ENDED_BY_ITSELF = (Status.FAILED, Status.ERROR, Status.TIMEOUT)
HOG = """
KEPT = []

def scale(values, factor):
    while True:
        KEPT.append(b"x" * (1 << 24))
"""


def test_answer_that_exceeds_a_limit_costs_itself_alone(counted: Counted, toy_row: dict[str, Any]) -> None:
    with SharedSandbox(counted) as sandbox:  # type: ignore[arg-type]
        attempt = attempt_in(sandbox, toy_row)
        for name, answer in EXCESSES.items():
            assert attempt(answer, timeout_s=1, memory_mb=1024).status in ENDED_BY_ITSELF, name
            assert attempt(TOY_ANSWER, memory_mb=1024).status is Status.PASSED, name
        busy = f"import time\nwhile time.process_time() < 0.4: pass\n{TOY_ANSWER}"  # long enough to be measured
        assert attempt(busy, timeout_s=4, memory_mb=1024).status is Status.PASSED, "time of others counts"
    assert counted.started == 1


def test_answer_after_one_that_used_up_the_memory_passes(counted: Counted, toy_row: dict[str, Any]) -> None:
    with SharedSandbox(counted) as sandbox:  # type: ignore[arg-type]
        attempt = attempt_in(sandbox, toy_row)
        assert attempt(HOG, memory_mb=300).status is Status.OOM
        assert attempt(TOY_ANSWER, memory_mb=300).status is Status.PASSED


def test_zygote_that_was_killed_is_replaced(counted: Counted, toy_row: dict[str, Any]) -> None:
    with SharedSandbox(counted) as sandbox:  # type: ignore[arg-type]
        attempt = attempt_in(sandbox, toy_row)
        assert attempt(TOY_ANSWER).status is Status.PASSED
        if counted.name == "docker":
            for container in containers_of(counted.run_id):
                connect().kill(container)
        else:
            zygotes = [child for child in psutil.Process().children() if child.name() == "bwrap"]
            assert zygotes
            for zygote in zygotes:
                zygote.kill()
        assert attempt(TOY_ANSWER).status is Status.PASSED
    assert counted.started == 2
    assert counted.name == "bwrap" or containers_of(counted.run_id) == []


@pytest.mark.docker
@pytest.mark.parametrize(("refused", "as_root"), [(True, True), (False, False)])
def test_only_refused_walls_make_root_of_a_zygote(
    refused: bool, as_root: bool, toy_row: dict[str, Any], docker_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine that failed for a moment gave SYS_ADMIN to all zygotes after it."""
    wall: Any = type(docker_sandbox)()
    start, failures = wall.zygote, [1]

    @contextlib.contextmanager
    def fail_once(image: str, limits: Any) -> Iterator[Any]:
        is_first, failures[:] = bool(failures), []
        if is_first and not refused:
            raise InfraError("Docker engine: try again")
        with monkeypatch.context() as patch:
            if is_first:  # the container's own filter refuses what builds walls
                patch.setattr("lmrbench_evaluate.sandbox.docker.NEEDED_FOR_WALLS", ())
            with start(image, limits) as host:
                yield host

    wall.zygote = fail_once
    with SharedSandbox(wall) as sandbox:
        assert attempt_in(sandbox, toy_row)(TOY_ANSWER).status is Status.PASSED
    assert wall.zygotes_are_root is as_root


@pytest.mark.docker
def test_an_engine_that_fails_during_a_run_is_an_infra_error(
    toy_row: dict[str, Any], docker_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client's own error reached the caller when the engine could not start the probe of a busy machine."""

    def fail(*_: object) -> float:
        raise APIError("500 Server Error", explanation="fork/exec: resource temporarily unavailable")

    monkeypatch.setattr("lmrbench_evaluate.sandbox.docker.cpu_seconds", fail)
    monkeypatch.setattr("lmrbench_evaluate.verdict.evaluator.INFRA_TRIES", 1)
    with SharedSandbox(type(docker_sandbox)()) as sandbox:
        verdict = attempt_in(sandbox, toy_row)("import time\ntime.sleep(5)\n" + TOY_ANSWER, timeout_s=2)
    assert verdict.status is Status.INFRA_ERROR
    assert "Docker engine: fork/exec: resource temporarily unavailable" in verdict.reason()


@pytest.mark.parametrize("word", [GOLD, MASKED])
def test_method_gets_the_verdict_of_a_container_of_its_own(
    word: str, method_row: dict[str, Any], shared_sandbox: Sandbox, docker_sandbox: Sandbox
) -> None:
    prediction = own_answer(method_row, word)  # type: ignore[arg-type]
    verdicts = [
        evaluate_prediction(method_row, prediction, place, place.prepare(method_row["docker_image"]))  # type: ignore[arg-type]
        for place in (shared_sandbox, docker_sandbox)
    ]
    shared, own = ([(case.name, case.seed, case.status) for case in verdict.cases] for verdict in verdicts)
    assert shared == own


ASKS = """
import getpass, os, pwd
CALLS = []

def scale(values, factor):
    names = sorted(name for name in os.environ if name not in ("HOSTNAME", "PWD"))
    CALLS.append(1)
    place = os.path.basename(os.getcwd())
    print("SEEN", len(CALLS), getpass.getuser(), pwd.getpwuid(os.getuid())[4:], names, place)
    os.environ["TOUCHED"] = "yes"
    os.chdir("/")
    return [value * factor for value in values]
"""


def test_every_case_sees_what_it_sees_in_a_container_of_its_own(
    attempt: Callable[..., Verdict], try_in_docker: Callable[..., Verdict]
) -> None:
    """The name of its user, its variables and folder, and fresh modules."""
    seen = []
    for place in (attempt, try_in_docker):
        verdict = place(ASKS)
        assert verdict.status is Status.PASSED, verdict.reason()
        seen.append(sorted(line for line in verdict.log.splitlines() if line.startswith("SEEN")))
    assert seen[0] == seen[1]
    assert seen[0][0].startswith("SEEN 1 nobody ")
    assert seen[0][0].endswith(" repo")


COMPILES = """
import torch

@torch.compile(backend="eager")
def product(values, factor):
    return values * factor

def scale(values, factor):
    result = product(torch.tensor(values, dtype=torch.float64), factor).tolist()
    print("FRAMES", sum(torch._dynamo.utils.counters["frames"].values()))
    return result
"""


#: A part of a library in C has no file.
IMPORTS = """
import torch
import torch._C._dynamo.guards

def scale(values, factor):
    return (torch.tensor(values, dtype=torch.float64) * factor).tolist()
"""


@pytest.mark.bwrap
def test_library_that_only_the_answer_imports_stays_whole(toy_row: Any, bwrap_shared_sandbox: Sandbox) -> None:
    """Its parts without a file were forgotten after each case, as modules of the repository are."""
    verdict = attempt_in(bwrap_shared_sandbox, toy_row)(IMPORTS, memory_mb=2048, timeout_s=60)
    assert verdict.status is Status.PASSED, verdict.reason()


@pytest.mark.bwrap
def test_no_case_sees_what_torch_compile_kept_of_another(toy_row: Any, bwrap_shared_sandbox: Sandbox) -> None:
    row = {**toy_row, "tests": {**toy_row["tests"], "memory_mb": 2048, "timeout_s": 60}}
    answer = Prediction("toy-scale", "m", "function", COMPILES)
    image = bwrap_shared_sandbox.prepare(row["docker_image"])
    two = read_expected(row)[:2]  # each loads the compiler
    verdict = evaluate_prediction(row, answer, bwrap_shared_sandbox, image, expected=two)  # type: ignore[arg-type]
    assert verdict.status is Status.PASSED, verdict.reason()
    assert [line for line in verdict.log.splitlines() if line.startswith("FRAMES")] == ["FRAMES 2"] * 2
