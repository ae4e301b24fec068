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
import os
import re
import resource
import signal
import sys
import tarfile
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import encoding
import runner

WORK = "/work"
_OURS = ("runner", "seccomp", "walls", "zygote", "zygote_job")
_HEAD = re.compile(rb"(output|raised) (\d{1,9})\n")
#: What this process has compiled: (path, source) → code.
_compiled: dict[tuple[str, bytes], CodeType] = {}
#: Array type and shape → what precedes the data in `.npy`.
_heads: dict[tuple[Any, ...], bytes] = {}

_Result = tuple[str, runner.Data]


def job(
    workspace: int, stdout: int, stderr: int, cgroup: list[int], count_kills: Callable[[], int], rlimits: dict[str, int]
) -> None:
    """Become the runner of one answer, in a process behind walls of its own.

    Args:
        workspace: a file in memory, which no answer can fill: it takes what a child's cases return, but for the last.
        cgroup: the files that `count_kills` reads, and that tested code must not.
    """
    for name in _OURS:
        sys.modules.pop(name, None)  # a repository may have modules of these names
    for fd, number in ((os.open(os.devnull, os.O_RDONLY), 0), (stdout, 1), (stderr, 2)):
        os.dup2(fd, number)
    unpack(os.pread(workspace, os.fstat(workspace).st_size, 0))
    for fd in set(map(int, os.listdir("/proc/self/fd"))) - {0, 1, 2, *cgroup, workspace}:
        with contextlib.suppress(OSError):  # that of the list itself
            os.close(fd)
    for name, value in rlimits.items():
        resource.setrlimit(getattr(resource, name), (value, value))
    for name in ("home", "tmp"):
        os.mkdir(f"{WORK}/{name}")
    os.environ.update(HOME=f"{WORK}/home", TMPDIR=f"{WORK}/tmp")
    importlib.machinery.SourceFileLoader.source_to_code = _code_of  # type: ignore[method-assign,assignment]
    dataclasses.exec = _execute  # type: ignore[attr-defined]
    encoding._npy = _npy
    runner.oom_kills = count_kills
    runner.preload = lambda threads: None
    runner.in_child = _Children(runner.in_child, workspace, cgroup).run
    runner.main()


def unpack(content: bytes) -> None:
    """Write the workspace; the runner's own code is loaded already."""
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        for member in tar:
            path = f"{WORK}/{member.name}"
            if not (member.name.startswith("harness/") and path.endswith(".py")):
                os.makedirs(os.path.dirname(path), exist_ok=True)
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


def _npy(array: Any, original: Any = encoding._npy) -> bytes:
    """Return the bytes of `encoding._npy`; NumPy takes longer for the head of a small array than a case runs."""
    array = sys.modules["numpy"].asarray(array, order="C")
    key = array.dtype, array.shape
    if key not in _heads:
        whole: bytes = original(array)
        _heads[key] = whole[: len(whole) - array.nbytes]
    return _heads[key] + bytes(array.tobytes())


class _Children:
    """Takes the place of the runner's function that runs a case in a child of its own."""

    def __init__(self, in_child: Callable[..., _Result], earlier: int, cgroup: list[int]) -> None:
        """Note the runner's own function, and the files of `job`."""
        self._in_child, self._earlier, self._cgroup = in_child, earlier, cgroup
        self._results: list[_Result] = []

    def run(self, stream: Any, limit: Any, case: str, seed: int, function: Any, plan: dict[str, Any]) -> _Result:
        """Return the result of a case. If no child has run it, one runs it and what it can of the cases after it."""
        if function is not runner.run_case or "answers" in plan:  # recordings and batches
            return self._in_child(stream, limit, case, seed, function, plan)
        if not self._results:
            runs = list(map(tuple, plan["runs"]))
            del runs[: runs.index((case, seed))]
            os.ftruncate(self._earlier, 0)
            os.lseek(self._earlier, 0, os.SEEK_SET)
            last = self._in_child(stream, limit, case, seed, lambda *_: self._run_all(runs), plan)
            self._results = [*self._finished(len(runs) - 1), last][::-1]
        return self._results.pop()

    def _finished(self, most: int) -> Iterator[_Result]:
        """Yield the results that a child wrote before its last one."""
        sent, position = os.pread(self._earlier, runner.RESULT_BYTES, 0), 0
        while most and (head := _HEAD.match(sent, position)) and len(sent) >= (end := head.end() + int(head[2])):
            yield head[1].decode(), sent[head.end() : end]
            position, most = end, most - 1

    def _run_all(self, runs: list[tuple[str, int]]) -> _Result:
        """Run cases in a child, each of which finds the state that the child had before any; return the last result."""
        for file in self._cgroup:
            os.close(file)
        state = list(sys.path), dict(os.environ), next(reversed(sys.modules))
        position = 0
        for case, seed in runs:
            restore(*state)
            try:
                kind, payload = runner.run_case(case, seed)
            except BaseException as error:
                kind, payload = "raised", runner.describe(error)
            record = b"%s %d\n" % (kind.encode(), len(payload)) + bytes(payload)
            dynamo = sys.modules.get("torch._dynamo.utils")
            # Another child runs what is left, without the state of `torch.compile` or with room for its results.
            if (
                (case, seed) == runs[-1]
                or (dynamo and dynamo.counters.get("frames"))
                or position + len(record) > runner.RESULT_BYTES
            ):
                break
            position += len(record)
            while record:  # with the function that sends a result, so that an answer that broke it ends the child here
                record = record[os.write(self._earlier, record) :]
        return kind, payload


def restore(path: list[str], environment: dict[str, str], last_module: str) -> None:
    """End other processes, forget the modules of the repository, undo global settings that cases and answers change.

    Args:
        last_module: the one that was loaded last. A set of all would count references to their names, which copies the
            memory that holds them and that the zygote shares.
    """
    with contextlib.suppress(ProcessLookupError):  # all but this one and process 1, which signals do not reach
        os.kill(-1, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    for name in list(itertools.takewhile(lambda name: name != last_module, reversed(sys.modules))):
        # Part of a library in C has no file; its library does.
        places = (getattr(sys.modules.get(part), "__file__", None) for part in (name, name.partition(".")[0]))
        if next(filter(None, places), WORK).startswith(WORK):
            del sys.modules[name]
    sys.path[:] = path
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(runner.REPO)
    if torch := sys.modules.get("torch"):
        torch.set_default_dtype(torch.float32)
        torch.set_grad_enabled(True)
        torch.set_num_threads(1)
        if torch.are_deterministic_algorithms_enabled():  # importing what the setter imports takes a second
            torch.use_deterministic_algorithms(False)
    if numpy := sys.modules.get("numpy"):
        numpy.seterr(divide="warn", over="warn", under="ignore", invalid="warn")
