"""A job of a warm container: unpack the workspace of one answer and act as the runner for it.

The runner forks a child for each case. A job runs its cases in one child, because forks cost more than cases. Modules
of the repository are loaded afresh for every case and seed, because cases and answers change their settings. A child
that dies is replaced for the cases that remain. Tested code therefore knows all cases and seeds of its own job; it
still cannot know outputs for fresh seeds.
"""

import contextlib
import ctypes
import dataclasses
import importlib.machinery
import io
import itertools
import json
import os
import pwd
import re
import signal
import sys
import tarfile
import time
import traceback
from types import CodeType, ModuleType
from typing import Any, NoReturn

import runner

JOB = "/work/job"
PR_SET_CHILD_SUBREAPER = 36
#: Between two results of a child: it has begun the next case.
NEXT = b"next\n"
OURS = ("runner", "warm_job", "warm_zygote", "warm_cleaning", "warm_supervisor")
#: Code that the zygote, or this process, has compiled: (path, source) → code.
COMPILED: dict[tuple[str, bytes], CodeType] = {}


def job(workspace: int, stdout: int, stderr: int) -> NoReturn:
    """Become the runner of one answer; this process has given up root already."""
    try:
        for name in OURS:
            sys.modules.pop(name, None)  # a repository may have modules of these names
        for fd, number in ((workspace, 0), (stdout, 1), (stderr, 2)):
            os.dup2(fd, number)
        # Locks and settings of an open file that other jobs inherit, too, would reach them.
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        os.setsid()
        # Orphans come to this process, as they do to process 1 of a container.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        with open(0, "rb", closefd=False) as file:
            file.seek(0)
            unpack(file.read())
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for name in ("home", "tmp"):
            os.mkdir(f"{JOB}/{name}")
        os.environ.update(HOME=f"{JOB}/home", TMPDIR=f"{JOB}/tmp")
        # Its random user has no entry; in a container of its own, it is this one.
        nobody = pwd.getpwnam("nobody")
        pwd.getpwuid = lambda uid: nobody
        importlib.machinery.SourceFileLoader.source_to_code = compiled  # type: ignore[method-assign,assignment]
        dataclasses.exec = execute  # type: ignore[attr-defined]
        run_plan(runner)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)


def unpack(content: bytes) -> None:
    """Write the workspace; the runner's own code is loaded already."""
    os.mkdir(JOB, 0o700)
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        for member in tar:
            path = f"{JOB}/{member.name}"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if not (member.name.startswith("harness/") and path.endswith(".py")):
                with open(path, "wb") as file:
                    file.write(content[member.offset_data : member.offset_data + member.size])
                os.chmod(path, member.mode)


def compiled(_loader: Any, data: Any, path: str, **options: Any) -> CodeType:
    """Return the code of a module, which the zygote or an earlier case of this job has compiled."""
    key = path, bytes(data)
    if key not in COMPILED:
        COMPILED[key] = compile(data, path, "exec", dont_inherit=True)
    return COMPILED[key]


def execute(text: str, *namespaces: dict[str, Any]) -> None:
    """Execute the methods that `dataclasses` writes, which are the same in every case and half the time of a load."""
    exec(compiled(None, text.encode(), "<string>"), *namespaces)


def run_plan(runner: ModuleType) -> None:
    """Do what the runner's `main` does, with as few children as possible."""
    plan = runner.take_plan()
    if plan["runs"] is None or "answers" in plan:
        raise ValueError("recordings and batches need a container of their own")
    runner.set_dumpable(0)
    stream = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    begun = runner.spent()
    limit = runner.Limit(begun + plan["limit_s"], time.monotonic() + plan["wall_s"])
    signal.signal(signal.SIGALRM, lambda *_: time.monotonic() >= limit.wall and os._exit(124))
    signal.alarm(plan["wall_s"] + 1)
    ready = b"ready %.3f\n" % begun
    rest = [(case, seed) for case, seed in plan.pop("runs")]
    while rest:
        results = run_some(runner, stream, limit, rest, ready)
        ready = b""
        frames = io.BytesIO()
        for (case, seed), (kind, payload) in zip(rest, results, strict=False):
            runner.send(frames, case, seed, kind, payload)
        stream.write(frames.getvalue())
        stream.flush()
        rest = rest[len(results) :]
        del results, frames  # or this process grows, and is killed in place of a child when memory runs out
    stream.write(b"used %.3f\n" % (runner.spent() - begun))
    stream.flush()


def run_some(
    runner: ModuleType, stream: Any, limit: Any, runs: list[tuple[str, int]], ready: bytes
) -> list[tuple[str, Any]]:
    """Run cases in one child until it ends; return (kind, payload) of those that it finished or that ended it.

    The first child, after which `ready` is sent, must start: that it cannot is no answer's fault.
    """

    def every(_case: str, _seed: int) -> tuple[str, Any]:
        user = os.geteuid()
        os.setresuid(user, user, user)  # from now on, signals do not reach the job
        runner.set_dumpable(1)
        fresh = Fresh(runner)
        for place, (case, seed) in enumerate(runs):
            fresh.restore()
            try:
                kind, payload = runner.run_case(case, seed)
            except BaseException as error:
                kind, payload = "raised", runner.describe(error)
            dynamo = sys.modules.get("torch._dynamo.utils")
            if place == len(runs) - 1 or (dynamo and dynamo.counters.get("frames")):
                break  # another child runs what is left, without the state of `torch.compile`
            rest = memoryview(b"%s %d\n" % (kind.encode(), len(payload)) + bytes(payload) + NEXT)
            while rest:
                rest = rest[os.write(earlier, rest) :]
        return kind, payload

    kills_before, cpu_s = runner.oom_kills(), max(1, int(limit.cpu - runner.spent()) + 1)
    # Not the pipe: to wake its reader for every case costs a millisecond each time.
    earlier = os.memfd_create("results")
    result_read, result_write = os.pipe()
    log_read, log_write = os.pipe()
    gate_read, gate_write = os.pipe()  # opens when the child may begin, after `ready`
    try:
        pid = os.fork()
    except OSError as error:
        if ready:
            raise
        for fd in (earlier, result_read, result_write, log_read, log_write, gate_read, gate_write):
            os.close(fd)
        return [("died", json.dumps({"reason": f"no process could be started: {error.strerror}"}).encode())]
    if pid == 0:
        for fd in (stream.fileno(), result_read, log_read, gate_write):
            os.close(fd)
        os.read(gate_read, 1)
        os.close(gate_read)
        runner.child(cpu_s, limit.wall, *runs[0], every, result_write, log_write)
    os.close(result_write)
    os.close(log_write)
    stream.write(ready)
    stream.flush()
    for fd in (gate_read, gate_write):
        os.close(fd)
    last, log = runner.collect(pid, result_read, log_read, stream.fileno())
    status = runner.end(pid)
    kill_others()
    sent = os.pread(earlier, runner.RESULT_BYTES, 0) + last
    os.close(earlier)
    runner.write_log(*runs[0], log)
    results: list[tuple[str, Any]] = []
    position, begun = 0, True
    while begun and len(results) < len(runs):
        head = re.compile(rb"(output|raised) (\d{1,9})\n").match(sent, position)
        if not head or len(sent) < head.end() + int(head[2]):
            break
        position = head.end() + int(head[2])
        results.append((head[1].decode(), sent[head.end() : position]))
        begun = sent[position : position + len(NEXT)] == NEXT
        position += len(NEXT)
    too_long = len(sent) >= runner.RESULT_BYTES
    # What the child had not begun, or had not the length for, is left to the next one.
    if begun and len(results) < len(runs) and not (too_long and results):
        facts: dict[str, Any] = {"signal": -status if status < 0 else None, "exit": status if status >= 0 else None}
        if too_long:
            facts["reason"] = f"returned more than {runner.RESULT_BYTES} bytes"
        facts["oom"] = runner.oom_kills() > kills_before
        results.append(("died", json.dumps(facts).encode()))
    return results


def kill_others() -> None:
    """Kill all processes of this user but this one and the job, and collect those that come to this one."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(-1, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def processes() -> int:
    """Count the processes of the container."""
    return sum(name.isdigit() for name in os.listdir("/proc"))


class Fresh:
    """The state that a case finds: that of the child before any case."""

    def __init__(self, runner: ModuleType) -> None:
        self._repo, self._path = runner.REPO, list(sys.path)
        # Not their set: to count references to names copies the memory that holds them, which the zygote shares.
        self._last_module = next(reversed(sys.modules))
        self._environment = dict(os.environ)
        self._processes = processes()

    def restore(self) -> None:
        """Forget the modules of the repository, and undo the global settings that cases and answers change."""
        if processes() > self._processes:  # to signal them all costs a millisecond even if there are none
            kill_others()
        for name in list(itertools.takewhile(lambda name: name != self._last_module, reversed(sys.modules))):
            if str(getattr(sys.modules[name], "__file__", None) or JOB).startswith(JOB):
                del sys.modules[name]
        sys.path[:] = self._path
        os.environ.clear()
        os.environ.update(self._environment)
        os.chdir(self._repo)
        if torch := sys.modules.get("torch"):
            torch.set_default_dtype(torch.float32)
            torch.set_grad_enabled(True)
            torch.set_num_threads(1)
            if torch.are_deterministic_algorithms_enabled():  # importing what the setter imports takes a second
                torch.use_deterministic_algorithms(False)
        if numpy := sys.modules.get("numpy"):
            numpy.seterr(divide="warn", over="warn", under="ignore", invalid="warn")
