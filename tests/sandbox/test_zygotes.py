"""Zygotes: limits and losses concern one answer, and a case sees the same whether its zygote runs one answer or many.

That nothing of one answer reaches another is tested with the exploits (`test_exploit_colluding_answers`).
"""

from collections.abc import Iterator
from typing import Any, NamedTuple
from unittest.mock import Mock

import psutil
import pytest
from docker.errors import APIError

from lmrbench_data.base.errors import InfraError
from lmrbench_data.tasks.environments import known_environments
from lmrbench_evaluate.predictions.prediction import GOLD, MASKED, Prediction, own_answer
from lmrbench_evaluate.sandbox.base import Limits, Sandbox
from lmrbench_evaluate.sandbox.docker_client import connect
from lmrbench_evaluate.verdict.evaluator import evaluate_prediction
from lmrbench_evaluate.verdict.expected import read_expected
from lmrbench_evaluate.verdict.verdict import Status
from support.sandboxes import workspace_of
from support.toy import TOY_ANSWER, attempt_in, containers_of


class Counted(NamedTuple):
    """A sandbox, and the zygotes that were started in it."""

    sandbox: Any
    started: list[str]


WALLS = [pytest.param("docker", marks=pytest.mark.docker), pytest.param("bwrap", marks=pytest.mark.bwrap)]


@pytest.fixture
def counted(wall: Any, monkeypatch: pytest.MonkeyPatch) -> Counted:
    started: list[str] = []
    start = wall.zygote

    def count(image: str, limits: Limits) -> Any:
        started.append(image)
        return start(image, limits)

    wall.prepare(known_environments()[0].tag)  # which tries walls
    monkeypatch.setattr(wall, "zygote", count)
    return Counted(wall, started)


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
}
#: The verdicts on them.
ENDED_BY_ITSELF = (Status.FAILED, Status.ERROR, Status.TIMEOUT)


def test_answer_that_exceeds_a_limit_costs_itself_alone(counted: Counted, toy_row: dict[str, Any]) -> None:
    attempt = attempt_in(counted.sandbox, toy_row)
    for name, answer in EXCESSES.items():
        assert attempt(answer, timeout_s=1, memory_mb=1024).status in ENDED_BY_ITSELF, name
        assert attempt(TOY_ANSWER, memory_mb=1024).status is Status.PASSED, name
    busy = f"import time\nwhile time.process_time() < 0.4: pass\n{TOY_ANSWER}"  # long enough to be measured
    assert attempt(busy, timeout_s=4, memory_mb=1024).status is Status.PASSED, "time of others counts"
    assert len(counted.started) == 1


def test_zygote_that_was_killed_is_replaced(counted: Counted, toy_row: dict[str, Any]) -> None:
    sandbox, started = counted
    with sandbox:
        attempt = attempt_in(sandbox, toy_row)
        assert attempt(TOY_ANSWER).status is Status.PASSED
        if sandbox.name == "docker":
            for container in containers_of(sandbox.run_id):
                connect().kill(container)
        else:
            zygotes = [child for child in psutil.Process().children() if child.name() == "bwrap"]
            assert zygotes
            for zygote in zygotes:
                zygote.kill()
        assert attempt(TOY_ANSWER).status is Status.PASSED
    assert len(started) == 2
    assert sandbox.name == "bwrap" or containers_of(sandbox.run_id) == []


@pytest.fixture
def untried(docker_sandbox: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A sandbox in Docker that has not tried walls in any image."""
    monkeypatch.setattr(type(docker_sandbox), "_refusals", {})
    with type(docker_sandbox)() as sandbox:
        yield sandbox


@pytest.mark.docker
def test_machine_that_refuses_walls_gives_each_answer_a_container(
    toy_row: dict[str, Any], untried: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as patch:  # the container's own filter refuses what builds walls
        patch.setattr("lmrbench_evaluate.sandbox.docker.NEEDED_FOR_WALLS", ())
        untried.prepare(toy_row["docker_image"])
    assert untried.isolation == "container"
    assert "each answer gets a container (`--isolation container`), which is slower: " in caplog.text
    assert attempt_in(untried, toy_row)(TOY_ANSWER).status is Status.PASSED


@pytest.mark.docker
def test_engine_that_failed_for_a_moment_changes_no_isolation(
    toy_row: dict[str, Any], untried: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(untried, "container", Mock(side_effect=InfraError("Docker engine: try again")))
        untried.prepare(toy_row["docker_image"])
    assert attempt_in(untried, toy_row)(TOY_ANSWER).status is Status.PASSED
    assert untried.isolation == "shared"


@pytest.mark.docker
def test_an_engine_that_fails_during_a_run_is_an_infra_error(
    toy_row: dict[str, Any], untried: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client's own error reached the caller when the engine could not start the probe of a busy machine."""
    monkeypatch.setattr("lmrbench_evaluate.verdict.evaluator.INFRA_TRIES", 1)
    untried.prepare(toy_row["docker_image"])
    refusal = APIError("500 Server Error", explanation="fork/exec: resource temporarily unavailable")
    monkeypatch.setattr("docker.APIClient.exec_create", Mock(side_effect=refusal))
    verdict = attempt_in(untried, toy_row)("import time\ntime.sleep(5)\n" + TOY_ANSWER, timeout_s=2)
    assert verdict.status is Status.INFRA_ERROR
    assert "Docker engine: fork/exec: resource temporarily unavailable" in verdict.reason()


@pytest.mark.parametrize("word", [GOLD, MASKED])
def test_method_gets_the_same_verdict_in_both_lives(
    word: str, method_row: dict[str, Any], shared_sandbox: Sandbox, docker_container_sandbox: Sandbox
) -> None:
    prediction = own_answer(method_row, word)  # type: ignore[arg-type]
    verdicts = [
        evaluate_prediction(method_row, prediction, place, place.prepare(method_row["docker_image"]))  # type: ignore[arg-type]
        for place in (shared_sandbox, docker_container_sandbox)
    ]
    shared, alone = ([(case.name, case.seed, case.status) for case in verdict.cases] for verdict in verdicts)
    assert shared == alone


ASKS = """
import getpass, os, random, sys, warnings
import numpy
import torch
CALLS = []

def scale(values, factor):
    CALLS.append(1)
    facts = {
        "calls": len(CALLS), "user": getpass.getuser(), "folder": os.path.basename(os.getcwd()),
        "environment": sorted(name for name in os.environ if name not in ("HOSTNAME", "PWD")),
        "numbers": [random.random(), float(numpy.random.rand()), float(torch.rand(1))], "hash": hash("text"),
        "threads": [torch.get_num_threads(), os.environ["OMP_NUM_THREADS"]], "dtype": torch.get_default_dtype(),
        "warnings": warnings.filters, "arguments": sys.argv, "path": sys.path, "errors": numpy.geterr(),
        "modules": [name for name in sys.modules if not name.startswith("encodings")],
        "limit": sys.getrecursionlimit(), "umask": os.umask(0o22),
    }
    print("SEEN", facts)
    os.environ["TOUCHED"] = "yes"
    os.chdir("/")
    warnings.simplefilter("error")
    torch.set_default_dtype(torch.float64)
    return [value * factor for value in values]
"""


@pytest.mark.parametrize("kind", WALLS)
def test_every_case_sees_the_same_in_both_lives(kind: str, toy_row: Any, request: pytest.FixtureRequest) -> None:
    """The name of its user, its variables and folder, random numbers, threads and settings, and fresh modules."""
    seen = []
    for name in (f"{kind}_container_sandbox", f"{kind}_sandbox", f"{kind}_sandbox"):
        verdict = attempt_in(request.getfixturevalue(name), toy_row)(ASKS, memory_mb=2048)
        assert verdict.status is Status.PASSED, verdict.reason()
        seen.append(sorted(line for line in verdict.log.splitlines() if line.startswith("SEEN")))
    assert seen[0] == seen[1] == seen[2]
    assert seen[0][0].startswith("SEEN {'calls': 1, 'user': 'nobody', 'folder': 'repo'")


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


OPTIMISES = """
import sys
import torch

def scale(values, factor):
    known = set(sys.modules)
    torch.optim.SGD([torch.ones(1)])
    print("NEW", sorted(set(sys.modules) - known))
    return [value * factor for value in values]
"""


@pytest.mark.bwrap
def test_no_case_loads_again_what_the_reference_loads_late(toy_row: Any, bwrap_sandbox: Sandbox) -> None:
    """Torch imports its compiler for the first optimiser, which took most of the CPU time of cases that train."""
    row = {**toy_row, "golden_file": OPTIMISES}
    verdict = attempt_in(bwrap_sandbox, row)(OPTIMISES, memory_mb=2048, timeout_s=60)
    assert verdict.status is Status.PASSED, verdict.reason()
    assert {line for line in verdict.log.splitlines() if line.startswith("NEW")} == {"NEW []"}


#: A part of a library in C has no file.
IMPORTS = """
import torch
import torch._C._dynamo.guards

def scale(values, factor):
    return (torch.tensor(values, dtype=torch.float64) * factor).tolist()
"""


@pytest.mark.bwrap
def test_library_that_only_the_answer_imports_stays_whole(toy_row: Any, bwrap_sandbox: Sandbox) -> None:
    """Its parts without a file were forgotten after each case, as modules of the repository are."""
    verdict = attempt_in(bwrap_sandbox, toy_row)(IMPORTS, memory_mb=2048, timeout_s=60)
    assert verdict.status is Status.PASSED, verdict.reason()


@pytest.mark.bwrap
def test_no_case_sees_what_torch_compile_kept_of_another(toy_row: Any, bwrap_sandbox: Sandbox) -> None:
    """Not even where all cases run in one process."""
    row = {**toy_row, "tests": {**toy_row["tests"], "memory_mb": 2048, "timeout_s": 60}}
    answer = Prediction("toy-scale", "m", "function", COMPILES)
    image = bwrap_sandbox.prepare(row["docker_image"])
    two = read_expected(row)[:2]  # each loads the compiler
    verdict = evaluate_prediction(row, answer, bwrap_sandbox, image, expected=two, together=True)  # type: ignore[arg-type]
    assert verdict.status is Status.PASSED, verdict.reason()
    assert [line for line in verdict.log.splitlines() if line.startswith("FRAMES")] == ["FRAMES 2"] * 2


#: A type of this machine, one of another machine, and one that stands for another.
ARRAYS = """
import numpy
numbers = numpy.linspace(0, 1, 3)
return [numpy.asarray(numbers, dtype) for dtype in ("float64", ">f8", "longdouble", "float64")]
"""


def test_arrays_are_the_same_where_all_cases_run_in_one_process(local_sandbox: Sandbox) -> None:
    """Big-endian and extended arrays became other numbers there, or none."""
    alone, together = (
        local_sandbox.run("", workspace_of(ARRAYS, together=is_together), Limits(60, 1024)).stdout
        for is_together in (False, True)
    )
    assert together == alone
