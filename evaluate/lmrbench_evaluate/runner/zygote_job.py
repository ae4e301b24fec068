"""A job of a zygote: unpack the workspace of one answer and act as the runner for it.

The runner forks a child for each case. A job runs its cases in one child, because forks cost more than cases. Modules
of the repository are loaded afresh for every case and seed, because cases and answers change their settings. A child
that dies is replaced for the cases that remain. Tested code therefore knows all cases and seeds of its own job; it
still cannot know outputs for fresh seeds.
"""

import contextlib
import dataclasses
import importlib.machinery
import io
import itertools
import json
import os
import re
import resource
import signal
import sys
import tarfile
import time
from types import CodeType
from typing import Any

import runner

WORK = "/work"
#: Between two results of a child: it has begun the next case.
_NEXT = b"next\n"
_OURS = ("runner", "seccomp", "walls", "zygote", "zygote_job")
_RESULT = re.compile(rb"(output|raised) (\d{1,9})\n")
_KILLS = ("/sys/fs/cgroup/memory/memory.oom_control", "/sys/fs/cgroup/memory.events")
#: What this process has compiled: (path, source) → code.
_compiled: dict[tuple[str, bytes], CodeType] = {}

_Results = list[tuple[str, runner.Data]]


class OomKills:
    """Counts what `runner.oom_kills` counts, also where a wall hides the cgroup, if it was opened before."""

    def __init__(self) -> None:
        self.fd = next((os.open(path, os.O_RDONLY) for path in _KILLS if os.path.exists(path)), -1)

    def count(self) -> int:
        """Return the number of processes that the kernel has killed; 0 if the cgroup does not say."""
        found = re.search(rb"^oom_kill (\d+)$", os.pread(self.fd, 4096, 0), re.MULTILINE) if self.fd >= 0 else None
        return int(found[1]) if found else 0


def job(workspace: int, stdout: int, stderr: int, kills: OomKills, rlimits: dict[str, int]) -> None:
    """Become the runner of one answer, in a process behind walls of its own."""
    for name in _OURS:
        sys.modules.pop(name, None)  # a repository may have modules of these names
    for fd, number in ((os.open(os.devnull, os.O_RDONLY), 0), (stdout, 1), (stderr, 2)):
        os.dup2(fd, number)
    unpack(os.pread(workspace, os.fstat(workspace).st_size, 0))
    for fd in set(map(int, os.listdir("/proc/self/fd"))) - {0, 1, 2, kills.fd, workspace}:
        with contextlib.suppress(OSError):  # that of the list itself
            os.close(fd)
    for name, value in rlimits.items():
        resource.setrlimit(getattr(resource, name), (value, value))
    for name in ("home", "tmp"):
        os.mkdir(f"{WORK}/{name}")
    os.environ.update(HOME=f"{WORK}/home", TMPDIR=f"{WORK}/tmp")
    runner.oom_kills = kills.count
    importlib.machinery.SourceFileLoader.source_to_code = _code_of  # type: ignore[method-assign,assignment]
    dataclasses.exec = _execute  # type: ignore[attr-defined]
    plan = runner.take_plan()
    if plan["runs"] is None or "answers" in plan:  # recordings and batches
        runner.take_plan = lambda: plan
        runner.main()
    else:
        run_plan(plan, kills, workspace)


def unpack(content: bytes) -> None:
    """Write the workspace; the runner's own code is loaded already."""
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        for member in tar:
            path = f"{WORK}/{member.name}"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if not (member.name.startswith("harness/") and path.endswith(".py")):
                with open(path, "wb") as file:
                    file.write(content[member.offset_data : member.offset_data + member.size])
                os.chmod(path, member.mode)


def _code_of(_loader: Any, data: Any, path: str, **options: Any) -> CodeType:
    """Return the code of a module, which an earlier case of this job may have compiled."""
    key = path, bytes(data)
    if key not in _compiled:
        _compiled[key] = compile(data, path, "exec", dont_inherit=True)
    return _compiled[key]


def _execute(text: str, *namespaces: dict[str, Any]) -> None:
    """Execute the methods that `dataclasses` writes, which are the same in every case and half the time of a load."""
    exec(_code_of(None, text.encode(), "<string>"), *namespaces)


def run_plan(plan: dict[str, Any], kills: OomKills, earlier: int) -> None:
    """Do what the runner's `main` does, with as few children as possible.

    Args:
        earlier: a file in memory, which no answer can fill: it takes the results of all cases of a child but the last.
            A pipe would wake its reader for each of them.
    """
    runner.set_dumpable(0)
    stream = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    begun = runner.spent()
    limit = runner.Limit(begun + plan["limit_s"], time.monotonic() + plan["wall_s"])
    signal.signal(signal.SIGALRM, lambda *_: time.monotonic() >= limit.wall and os._exit(124))
    signal.alarm(plan["wall_s"] + 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # process 1 gets only signals that it handles
    stream.write(b"ready %.3f\n" % begun)
    stream.flush()
    rest = [(case, seed) for case, seed in plan.pop("runs")]
    while rest:
        results = run_some(rest, limit, stream, kills, earlier)
        frames = io.BytesIO()
        for (case, seed), (kind, payload) in zip(rest, results, strict=False):
            runner.send(frames, case, seed, kind, payload)
        stream.write(frames.getvalue())
        stream.flush()
        rest = rest[len(results) :]
        del results, frames  # or this process grows, and is killed in place of a child when memory runs out
    stream.write(b"used %.3f\n" % (runner.spent() - begun))
    stream.flush()


def run_some(runs: list[tuple[str, int]], limit: runner.Limit, stream: Any, kills: OomKills, earlier: int) -> _Results:
    """Run cases in one child until it ends; return (kind, payload) of those that it finished or that ended it."""
    kills_before, cpu_s = kills.count(), max(1, int(limit.cpu - runner.spent()) + 1)
    (result, child_result), (log, child_log) = os.pipe(), os.pipe()
    os.ftruncate(earlier, 0)
    os.lseek(earlier, 0, os.SEEK_SET)
    try:
        pid = os.fork()
    except OSError as error:
        for fd in (result, child_result, log, child_log):
            os.close(fd)
        return [("died", _json(reason=f"no process could be started: {error.strerror}"))]
    if pid == 0:
        for fd in {stream.fileno(), result, log, kills.fd} - {-1}:
            os.close(fd)
        runner.child(cpu_s, limit.wall, *runs[0], _Cases(runs, earlier).run, child_result, child_log)
    os.close(child_result)
    os.close(child_log)
    last, text = runner.collect(pid, result, log, stream.fileno())
    status = runner.end(pid)
    runner.write_log(*runs[0], text)
    sent = os.pread(earlier, runner.RESULT_BYTES, 0) + last
    results, begun = read_results(sent, len(runs))
    too_long = len(sent) >= runner.RESULT_BYTES
    # What the child had not begun, or had not the length for, is left to the next one.
    if begun and len(results) < len(runs) and not (too_long and results):
        facts: dict[str, Any] = {"signal": -status if status < 0 else None, "exit": status if status >= 0 else None}
        if too_long:
            facts["reason"] = f"returned more than {runner.RESULT_BYTES} bytes"
        results.append(("died", _json(**facts, oom=kills.count() > kills_before)))
    return results


def read_results(sent: bytes, most: int) -> tuple[_Results, bool]:
    """Return the results in the bytes of a child, and whether it had begun another case."""
    results: _Results = []
    position, begun = 0, True
    while begun and len(results) < most:
        head = _RESULT.match(sent, position)
        if not head or len(sent) < head.end() + int(head[2]):
            break
        position = head.end() + int(head[2])
        results.append((head[1].decode(), sent[head.end() : position]))
        begun = sent.startswith(_NEXT, position)
        position += len(_NEXT)
    return results, begun


def _json(**facts: Any) -> bytes:
    return json.dumps(facts).encode("ascii")


class _Cases:
    """The cases of a child, each of which finds the state that the child had before any case."""

    def __init__(self, runs: list[tuple[str, int]], earlier: int) -> None:
        self._runs, self._earlier = runs, earlier

    def run(self, _case: str, _seed: int) -> tuple[str, runner.Data]:
        """Run the cases; write the results to the file, and return that of the last one."""
        runner.set_dumpable(1)
        self._path, self._environment = list(sys.path), dict(os.environ)
        # Not their set: to count references to names copies the memory that holds them, which the zygote shares.
        self._last_module = next(reversed(sys.modules))
        self._processes = _processes()
        for place, (case, seed) in enumerate(self._runs):
            self._restore()
            try:
                kind, payload = runner.run_case(case, seed)
            except BaseException as error:
                kind, payload = "raised", runner.describe(error)
            dynamo = sys.modules.get("torch._dynamo.utils")
            if place == len(self._runs) - 1 or (dynamo and dynamo.counters.get("frames")):
                break  # another child runs what is left, without the state of `torch.compile`
            rest = memoryview(b"%s %d\n" % (kind.encode(), len(payload)) + bytes(payload) + _NEXT)
            while rest:
                rest = rest[os.write(self._earlier, rest) :]
        return kind, payload

    def _restore(self) -> None:
        """Forget the modules of the repository, and undo the global settings that cases and answers change."""
        if _processes() > self._processes:
            with contextlib.suppress(ProcessLookupError):  # all but this one and process 1, which signals do not reach
                os.kill(-1, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                while True:
                    os.waitpid(-1, 0)
        for name in list(itertools.takewhile(lambda name: name != self._last_module, reversed(sys.modules))):
            if str(getattr(sys.modules[name], "__file__", None) or WORK).startswith(WORK):
                del sys.modules[name]
        sys.path[:] = self._path
        os.environ.clear()
        os.environ.update(self._environment)
        os.chdir(runner.REPO)
        if torch := sys.modules.get("torch"):
            torch.set_default_dtype(torch.float32)
            torch.set_grad_enabled(True)
            torch.set_num_threads(1)
            if torch.are_deterministic_algorithms_enabled():  # importing what the setter imports takes a second
                torch.use_deterministic_algorithms(False)
        if numpy := sys.modules.get("numpy"):
            numpy.seterr(divide="warn", over="warn", under="ignore", invalid="warn")


def _processes() -> int:
    """Count the processes of the job."""
    return sum(name.isdigit() for name in os.listdir("/proc"))
