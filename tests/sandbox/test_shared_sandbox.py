"""Warm containers: nothing of an answer reaches the next one, and everything else is as in a container of its own."""

import json
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from docker.errors import APIError

from lmrbench_evaluate.predictions.prediction import GOLD, MASKED, Prediction, own_answer
from lmrbench_evaluate.sandbox.base import Sandbox
from lmrbench_evaluate.sandbox.docker_client import connect
from lmrbench_evaluate.sandbox.shared import SharedSandbox
from lmrbench_evaluate.verdict.evaluator import evaluate_prediction
from lmrbench_evaluate.verdict.verdict import Status, Verdict
from support.toy import TOY_ANSWER, attempt_in, warm_containers

pytestmark = pytest.mark.docker

#: A wrong answer that leaves what it can: files, processes, sockets, shared memory, secrets in memory.
LITTERER = """
import ctypes, mmap, os, signal, socket, subprocess, sys, threading, time
MARK = "MARK-" + "of-the-litterer"

def scale(values, factor):
    for folder in ("/tmp", "/work", "/dev/shm", "/dev/mqueue", "/var/tmp", os.path.expanduser("~"), "."):
        try:
            path = os.path.join(folder, MARK)
            os.makedirs(path + "-folder/" + "d/" * 100)
            os.chmod(path + "-folder/d", 0)
            open(path, "w").write(MARK * 1000)
            os.mkfifo(path + "-pipe")
        except OSError:
            pass
    deep = os.getcwd()
    for number in range(300):
        try:
            os.mkdir("deep")
            os.chdir("deep")
        except OSError:
            break
    os.environ["MARK"] = MARK
    libc = ctypes.CDLL(None)
    memory = [libc.shmget(key, 4096, 0o1666) for key in (77, 78)]
    print("IPC", memory, libc.msgget(77, 0o1666), libc.semget(77, 1, 0o1666))
    listener = socket.socket()
    listener.bind(("127.0.0.1", 7777))
    listener.listen()
    os.set_inheritable(listener.fileno(), True)
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
                signal.signal(number, signal.SIG_IGN)
            while True:
                try:
                    if os.fork() == 0:
                        time.sleep(0.05)
                except OSError:
                    pass
                time.sleep(0.02)
    return values
"""
#: Looks for what others left: in files, processes, ports, the environment, and all of its own memory.
SEARCHER = """
import ctypes, json, os, re, socket

MARK = b"MARK-" + b"of-the-litterer"

def search():
    found = []
    for folder, names, files in os.walk("/", onerror=None):
        if folder.startswith(("/proc", "/sys", "/usr", "/lib", "/python")):
            names.clear()
            continue
        found += [os.path.join(folder, name) for name in names + files if name.startswith("MARK") or name == "deep"]
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) not in (os.getpid(), os.getppid()):
            if os.stat("/proc/" + name).st_uid == os.getuid():
                found.append("process " + name)
    if b"MARK" in os.environb:
        found.append("environment")
    libc = ctypes.CDLL(None)
    if any(libc.shmget(key, 4096, 0) >= 0 for key in (77, 78)) or libc.msgget(77, 0) >= 0 or libc.semget(77, 1, 0) >= 0:
        found.append("System V IPC")
    if socket.socket().connect_ex(("127.0.0.1", 7777)) == 0:
        found.append("port")
    memory = open("/proc/self/mem", "rb", 0)
    for line in open("/proc/self/maps").read().splitlines():
        first, last = (int(part, 16) for part in line.split()[0].split("-"))
        if " rw" in line and last - first < 2**28:
            try:
                memory.seek(first)
                content = memory.read(last - first)
            except (OSError, ValueError):
                continue
            if content.count(MARK + b"MARK-" + b"of"):
                found.append("memory at " + line)
    return found

def scale(values, factor):
    print("FOUND", json.dumps(search()), os.getuid() > 99_999)
    return [value * factor for value in values]
"""


@pytest.fixture
def attempt(toy_row: dict[str, Any], shared_sandbox: Sandbox) -> Callable[..., Verdict]:
    return attempt_in(shared_sandbox, toy_row)


def test_nothing_of_an_answer_is_left_for_the_next(attempt: Callable[..., Verdict]) -> None:
    honest = attempt(TOY_ANSWER)
    left = attempt(LITTERER)
    assert left.status is not Status.PASSED
    assert "IPC [-1, -1] -1 -1" in left.log
    verdict = attempt(SEARCHER)
    assert verdict.status is Status.PASSED, verdict.reason()
    [found] = {line for line in verdict.log.splitlines() if line.startswith("FOUND")}
    assert found == "FOUND [] True"
    assert attempt(TOY_ANSWER).cases == honest.cases


def test_one_container_serves_many_answers_and_is_replaced_if_it_dies(toy_row: dict[str, Any]) -> None:
    with SharedSandbox() as sandbox:
        attempt = attempt_in(sandbox, toy_row)
        api = connect()

        assert attempt(TOY_ANSWER).status is Status.PASSED
        [first] = warm_containers(sandbox)
        assert [attempt(TOY_ANSWER).status for _ in range(3)] == [Status.PASSED] * 3
        assert warm_containers(sandbox) == [first]
        api.kill(first)
        assert attempt(TOY_ANSWER).status is Status.PASSED
        [second] = warm_containers(sandbox)
        # An answer that exceeds a limit takes its container with it.
        assert attempt("def scale(values, factor):\n    while True: pass\n", timeout_s=2).status is Status.TIMEOUT
        assert second not in warm_containers(sandbox)
        assert attempt(TOY_ANSWER).status is Status.PASSED
    assert warm_containers(sandbox) == []


def test_a_job_without_room_for_a_process_is_no_answers_fault(toy_row: dict[str, Any]) -> None:
    with SharedSandbox() as sandbox:
        attempt = attempt_in(sandbox, toy_row)
        assert attempt(TOY_ANSWER).status is Status.PASSED
        [container] = warm_containers(sandbox)
        [_, *processes] = subprocess.check_output(["docker", "top", container], text=True).splitlines()
        # The job gets a place, its child does not.
        subprocess.check_call(["docker", "update", "--pids-limit", str(len(processes) + 1), container])
        assert attempt(TOY_ANSWER).status is Status.PASSED
        assert warm_containers(sandbox) != [container]


def test_an_engine_that_fails_during_a_run_is_an_infra_error(
    toy_row: dict[str, Any], shared_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client's own error reached the caller when the engine could not start the probe of a busy machine."""

    def fail(*_: object) -> float:
        raise APIError("500 Server Error", explanation="fork/exec: resource temporarily unavailable")

    monkeypatch.setattr("lmrbench_evaluate.sandbox.warm.cpu_seconds", fail)
    verdict = attempt_in(shared_sandbox, toy_row)("import time\ntime.sleep(5)\n" + TOY_ANSWER, timeout_s=2)
    assert verdict.status is Status.INFRA_ERROR
    assert "Docker engine: fork/exec: resource temporarily unavailable" in verdict.reason()


def test_parallel_runs_have_containers_of_their_own(toy_row: dict[str, Any]) -> None:
    with SharedSandbox() as sandbox:
        attempt = attempt_in(sandbox, toy_row)
        answers = [TOY_ANSWER, LITTERER, TOY_ANSWER, "def scale(values, factor): ...\n"] * 3
        with ThreadPoolExecutor(len(answers)) as pool:
            verdicts = list(pool.map(attempt, answers))
        assert [verdict.status is Status.PASSED for verdict in verdicts] == [True, False] * 6


@pytest.mark.parametrize("word", [GOLD, MASKED])
def test_method_gets_the_verdict_of_a_container_of_its_own(
    word: str, method_row: dict[str, Any], shared_sandbox: Sandbox, docker_sandbox: Sandbox
) -> None:
    image = docker_sandbox.prepare(method_row["docker_image"])
    prediction = own_answer(method_row, word)  # type: ignore[arg-type]
    verdicts = [
        evaluate_prediction(method_row, prediction, place, image)  # type: ignore[arg-type]
        for place in (shared_sandbox, docker_sandbox)
    ]
    shared, own = ([(case.name, case.seed, case.status) for case in verdict.cases] for verdict in verdicts)
    assert shared == own


ASKS = """
import getpass, os, pwd
import torch
CALLS = []

@torch.compile(backend="eager")
def product(values, factor):
    return values * factor

def scale(values, factor):
    result = product(torch.tensor(values, dtype=torch.float64), factor).tolist()
    frames = sum(torch._dynamo.utils.counters["frames"].values())
    names = sorted(name for name in os.environ if name != "HOSTNAME")
    CALLS.append(1)
    place = os.path.basename(os.getcwd())
    print("SEEN", frames, len(CALLS), getpass.getuser(), pwd.getpwuid(os.getuid())[4:], names, place)
    os.environ["TOUCHED"] = "yes"
    os.chdir("/")
    return result
"""


def test_every_case_sees_what_it_sees_in_a_container_of_its_own(
    attempt: Callable[..., Verdict], try_in_docker: Callable[..., Verdict]
) -> None:
    """The name of its user, its variables and folder, fresh modules, and nothing that `torch.compile` keeps."""
    seen = []
    for place in (attempt, try_in_docker):
        verdict = place(ASKS, memory_mb=2048, timeout_s=60)
        assert verdict.status is Status.PASSED, verdict.reason()
        seen.append(sorted(line for line in verdict.log.splitlines() if line.startswith("SEEN")))
    assert seen[0] == seen[1]
    assert seen[0][0].startswith("SEEN 2 1 nobody ")
    assert seen[0][0].endswith(" repo")


def test_sources_of_another_instance_are_not_in_memory(toy_row: dict[str, Any]) -> None:
    """Zygotes compile the sources of an instance; jobs of other instances must not find them."""
    from lmrbench_evaluate.sandbox.warm import Recipe

    with SharedSandbox() as sandbox:
        marked = "X = 'MARK-" + "of-the-litterer" * 2 + "MARK-of'\n"
        sandbox.serving("other", lambda: Recipe("other", (), (("/work/job/repo/x.py", marked * 500),)))
        prediction = Prediction("toy-scale", "test", "goal_file", SEARCHER)
        image = sandbox.prepare(toy_row["docker_image"])
        other: dict[str, Any] = {**toy_row, "instance_id": "other"}
        evaluate_prediction(other, prediction, sandbox, image)  # type: ignore[arg-type]
        verdict = evaluate_prediction(toy_row, prediction, sandbox, image)  # type: ignore[arg-type]
        [found] = {line for line in verdict.log.splitlines() if line.startswith("FOUND")}
        assert json.loads(found.split(" ", 1)[1].rpartition(" ")[0]) == []
