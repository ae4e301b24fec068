"""Run the cases inside the sandbox and stream what they return to stdout.

This program is not trusted, because it shares a machine with tested code. It reports outputs,
exceptions and deaths of child processes. Verdicts are reached outside, where the expected outputs
are.

Tested code can forge its own output: a child must know its case, its seed and the pipe for its
result, and code in it finds all three in the stack or in /proc. A wrong function that has memorised
the published outputs therefore passes on published seeds, whatever this program does. It cannot
know the outputs for fresh seeds; those are the defence. A child gets only what it needs: the plan
is deleted from the disk before any tested code runs, and from the child's memory before the case is
loaded, so no child learns the other cases and seeds.

Layout of the work folder: `tests/cases.py`, `repo/`, and `plan.json` until it is read. Each case
and seed runs in a forked child, so none disturbs the next; only a plan that says `together` has one
child for all (together.py). This process imports the large libraries once, before forking, and
never any code of the repository.

Stdout has the line `ready` with the CPU seconds so far (from then on, tested code may be the cause
of any event), then frames, each one line of JSON {"case", "seed", "kind", "size"} and `size` bytes,
and last the line `used` with the CPU seconds since. Kinds: `output` (encoding.py), `raised` and
`died` (JSON), `listing` (JSON: the cases with their levels and comparisons). The output of print
goes to stderr, cut to its first and last 8 KiB.
"""

import contextlib
import importlib
import importlib.util
import json
import os
import random
import re
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple, NoReturn

import cgroup
import encoding
import lmrbench_cases
import walls

Data = bytes | bytearray


class Limit(NamedTuple):
    """When a case must end."""

    cpu: float
    """CPU seconds, as `spent` counts them."""
    wall: float
    """Seconds of `time.monotonic`. The harness ends sleeping cases long before (see
    `sandbox/meter.py`), unless it is gone."""


#: A case and its seed.
Run = tuple[str, int]
#: The kind of a frame and its payload.
Result = tuple[str, Data]
#: Yields the results of some runs.
Produce = Callable[[list[Run]], Iterator[Result]]


class Place(NamedTuple):
    """The folders of a job."""

    work: str
    repo: str
    """The rebuilt repository."""
    cases: str
    """The file of the cases."""


#: Set by `main`.
place = Place("/work", "/work/repo", "/work/tests/cases.py")
PRELOADED = ("numpy", "torch", "pandas", "scipy", "sklearn")
#: Submodules too: `from scipy import stats` costs every child most of a second otherwise. Not
#: `__main__` and other private modules: the text is a candidate's, and only imports may happen.
_IMPORT = re.compile(
    rf"^[ \t]*(?:import|from)[ \t]+((?:{'|'.join(PRELOADED)})(?:\.[a-z]\w*)*)\b"
    r"(?:[ \t]+import[ \t]+([a-zA-Z]\w*))?",
    re.MULTILINE,
)
#: No import starts after this many CPU seconds; children import the rest in their own time. Not by
#: the clock: on a busy machine every child would import torch again, and a run of seconds would
#: take minutes of CPU time.
PRELOAD_S = 20
#: Bytes at the start and at the end of a log that are kept, and what replaces those between.
LOG_BYTES = 8192
_CUT = b"\n[...]\n"
RESULT_BYTES = 16 * 1024 * 1024
PR_SET_DUMPABLE = 4
_READ_BYTES = 65536
#: Reads of what a child has left in the pipe of its log: a grandchild may keep printing.
_LAST_READS = 64
_HEAD = re.compile(rb"(output|raised|listing) (\d{1,9})\n")


def main(work: str, run_together: Produce) -> None:
    """Run the plan of a work folder; `run_together` runs several cases in one process."""
    global place
    place = Place(work, f"{work}/repo", f"{work}/tests/cases.py")
    started = spent()
    plan = take_plan()
    set_dumpable(0)
    stream = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    load_libraries(plan.get("threads", 1))
    ready = spent()
    limit = Limit(ready + plan["limit_s"], time.monotonic() + plan["wall_s"])
    stop_without_harness(plan["wall_s"], limit.wall)
    write_all(stream, b"ready %.3f\n" % (ready - started))
    if plan["runs"] is None:  # recording: the cases are not known yet
        list_runs(stream, limit, plan)
    run_plan(stream, limit, plan, run_together)
    write_all(stream, b"used %.3f\n" % (spent() - ready))


def spent() -> float:
    """Return the CPU seconds of this process and of all children that have ended."""
    # Not `os.times`, which counts in hundredths of a second; a case may take less.
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def take_plan() -> dict[str, Any]:
    """Read and delete the plan; no tested code has started yet."""
    path = os.path.join(place.work, "plan.json")
    with open(path, encoding="utf-8") as file:
        plan: dict[str, Any] = json.load(file)
    os.remove(path)
    return plan


def forget(plan: dict[str, Any]) -> None:
    """Empty the plan of a child in place, because frames below the tested code's refer to it."""
    for value in plan.values():
        if isinstance(value, list):
            value.clear()
    plan.clear()


def set_dumpable(value: int) -> None:
    """Set to 0 to keep this user's processes from tracing this one or opening its /proc files."""
    if sys.platform == "linux":  # elsewhere it is `local`, which is not a security boundary
        walls.prctl(PR_SET_DUMPABLE, value)


def load_libraries(threads: int) -> None:
    """Import the large libraries that the repository or the cases import, once for all children."""
    set_variables(threads)
    stop = spent() + PRELOAD_S
    for module, name in sorted(find_imports()):
        # The name may be a function, or of nothing; the child reports real errors.
        with contextlib.suppress(Exception, SystemExit):
            if spent() < stop:
                importlib.import_module(module)
            if name and spent() < stop:
                importlib.import_module(f"{module}.{name}")
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)


def set_variables(threads: int) -> None:
    """Write no bytecode, and limit the threads of libraries that are not loaded yet."""
    sys.dont_write_bytecode = True
    for library in ("OMP", "MKL", "OPENBLAS"):
        os.environ[f"{library}_NUM_THREADS"] = str(threads)
    # A sandbox may have fewer cores than the threads that tested code asks for; they must not spin.
    os.environ["OMP_WAIT_POLICY"] = "passive"


def find_imports() -> set[tuple[str, str]]:
    """Return the modules of large libraries, and the names in them, that the workspace imports."""
    imports = set()
    for folder, _, names in os.walk(place.work):
        for name in names:
            if name.endswith(".py"):
                with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                    imports.update(_IMPORT.findall(file.read()))
    return imports


def stop_without_harness(seconds: int, wall: float) -> None:
    """Let this process end itself at last, if the harness has died."""
    # Tested code can send signals, too: an early alarm does nothing, and process 1 of a container
    # ignores signals without a handler.
    signal.signal(signal.SIGALRM, lambda *_: time.monotonic() >= wall and os._exit(124))
    signal.alarm(seconds + 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def list_runs(stream: int, limit: Limit, plan: dict[str, Any]) -> None:
    """Send the cases, and plan each with each seed."""
    [(kind, payload)] = in_child(stream, limit, [("", 0)], list_cases, plan)
    send(stream, "", 0, kind, payload)
    cases = json.loads(payload) if kind == "listing" else []
    plan["runs"] = [(case["name"], seed) for case in cases for seed in plan["seeds"]]


def run_plan(
    stream: int,
    limit: Limit,
    plan: dict[str, Any],
    run_together: Produce,
) -> None:
    """Send the results of all runs."""
    # The plan's own list, which `forget` empties in every child.
    left = plan["runs"] = [(case, seed) for case, seed in plan["runs"]]
    while left:
        # No result has a name here, or the next child would inherit it.
        if plan.get("together"):
            deliver(stream, left, in_child(stream, limit, left[:], run_together, plan))
        else:
            deliver(stream, left, in_child(stream, limit, left[:1], run_alone, plan))


def deliver(stream: int, left: list[Run], results: list[Result]) -> None:
    """Send the results of the first runs that are left, and take these runs off."""
    for kind, payload in results:
        case, seed = left.pop(0)
        send(stream, case, seed, kind, payload)


def send(stream: int, case: str, seed: int, kind: str, payload: Data) -> None:
    header = {"case": case, "seed": seed, "kind": kind, "size": len(payload)}
    write_all(stream, json.dumps(header).encode("ascii") + b"\n")
    write_all(stream, payload)


def write_all(fd: int, data: Data) -> None:
    """Write to a pipe, which may take only a part at a time."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def in_child(
    stream: int,
    limit: Limit,
    runs: list[Run],
    produce: Produce,
    plan: dict[str, Any],
) -> list[Result]:
    """Produce the results of some runs in a forked child that knows nothing of the plan.

    Returns:
        A result for each run, or for the first ones if the child says that another child should run
        the rest.
    """
    kills_before = cgroup.oom_kills()
    cpu_s = max(1, int(limit.cpu - spent()) + 1)
    result_read, result_write = os.pipe()
    log_read, log_write = os.pipe()
    try:
        pid = os.fork()
    except OSError as error:  # earlier cases left too many processes behind
        close(result_read, result_write, log_read, log_write)
        return [died(reason=f"no process could be started: {error.strerror}")]
    if pid == 0:
        forget(plan)
        cgroup.close()
        close(stream, result_read, log_read)
        child(cpu_s, limit.wall, lambda: produce(runs), result_write, log_write)
    close(result_write, log_write)
    sent, log = collect(pid, result_read, log_read, stream)
    close(result_read, log_read)
    status = end(pid)
    write_log(*runs[0], log)
    return results_of(sent, len(runs), status, cgroup.oom_kills() > kills_before)


def close(*files: int) -> None:
    for file in files:
        os.close(file)


def results_of(sent: bytearray, count: int, status: int, is_oom: bool) -> list[Result]:
    """Return the results that a child has sent, and what it died of if it should have sent more."""
    results = take_results(sent, count)
    # A child may leave the rest to the next one, but not within a result; and nothing may follow
    # the last result.
    is_complete = len(results) == count or (results and status == 0)
    if is_complete and not sent:
        return results
    facts: dict[str, object] = {
        "signal": -status if status < 0 else None,
        "exit": status if status >= 0 else None,
        "oom": is_oom,
    }
    if len(sent) >= RESULT_BYTES:
        facts["reason"] = f"returned more than {RESULT_BYTES} bytes"
    return [*results[: count - 1], died(**facts)]


def died(**facts: object) -> Result:
    """Return the result of a run whose child did not send it."""
    return "died", json.dumps(facts).encode("ascii")


def take_results(sent: bytearray, most: int) -> list[Result]:
    """Take the complete results off the front of what a child has sent."""
    results: list[Result] = []
    while len(results) < most and (head := _HEAD.match(sent)):
        end_of_result = head.end() + int(head[2])
        if len(sent) < end_of_result:
            break
        results.append((head[1].decode("ascii"), sent[head.end() : end_of_result]))
        del sent[:end_of_result]
    return results


def child(
    cpu_s: int, wall: float, produce: Callable[[], Iterator[Result]], result_fd: int, log_fd: int
) -> NoReturn:
    """Send results and exit."""
    try:
        os.setsid()
        set_dumpable(1)
        prefer_for_oom()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(log_fd, 1)
        os.dup2(log_fd, 2)
        limit_time(cpu_s, wall)
        os.chdir(place.repo)
        sys.path.insert(0, place.repo)
        sys.argv = ["cases"]
        for kind, payload in produce():
            sys.stdout.flush()
            write_all(result_fd, f"{kind} {len(payload)}\n".encode("ascii"))
            write_all(result_fd, payload)
    finally:
        os._exit(0)


def limit_time(cpu_s: int, wall: float) -> None:
    """Let the kernel end this process."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(max(1, int(wall - time.monotonic()) + 1))  # in case the parent is gone
    # A second later even if it ignores the signal.
    set_limit(resource.RLIMIT_CPU, cpu_s, cpu_s + 1)


def set_limit(kind: int, soft: int, hard: int) -> None:
    """Set a limit of this process and of those that it starts; never raise it."""
    present = resource.getrlimit(kind)[1]
    if present != resource.RLIM_INFINITY:
        hard = min(hard, present)
    resource.setrlimit(kind, (min(soft, hard), hard))


def prefer_for_oom() -> None:
    """When memory runs out, let the kernel end this process before its parent, which reports it."""
    path = "/proc/self/oom_score_adj"
    with contextlib.suppress(OSError), open(path, "w", encoding="ascii") as file:
        file.write("1000")


def run_alone(runs: list[Run]) -> Iterator[Result]:
    """Yield the result of one case."""
    yield result_of(run_case, *runs[0])


def list_cases(_runs: list[Run]) -> Iterator[Result]:
    """Yield the cases of the file."""
    yield result_of(listing)


def result_of(function: Callable[..., Result], *arguments: Any) -> Result:
    """Return what tested code returned or raised."""
    try:
        return function(*arguments)
    except BaseException as error:
        return "raised", describe(error)


def load_cases() -> ModuleType:
    spec = importlib.util.spec_from_file_location("cases", place.cases)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["cases"] = module
    spec.loader.exec_module(module)
    return module


def listing() -> Result:
    cases = []
    for name, function in vars(load_cases()).items():
        if name.startswith("case_") and callable(function):
            case = {
                "name": name.removeprefix("case_"),
                "core": getattr(function, lmrbench_cases.CORE_ATTRIBUTE, False),
                **getattr(function, lmrbench_cases.METHOD_ATTRIBUTE, {}),
                **getattr(function, lmrbench_cases.COMPARISON_ATTRIBUTE, {}),
            }
            cases.append(case)
    # Core cases run first, because contract cases could use up their time and memory.
    cases.sort(key=lambda case: not case["core"])
    return "listing", json.dumps(cases).encode("ascii")


def run_case(case: str, seed: int) -> Result:
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)
    if "torch" in sys.modules:
        # Not `torch.manual_seed`, which formats its stack for devices that no container has.
        sys.modules["torch"].default_generator.manual_seed(seed)
    value = getattr(load_cases(), f"case_{case}")(seed)
    return "output", encoding.encode(value)


def describe(error: BaseException) -> bytes:
    """Return an exception as JSON."""
    try:
        message = str(error)[:2000]
    except BaseException:
        message = "(its message cannot be shown)"
    facts = {"type": type(error).__name__, "message": message, "frames": trace(error)}
    return json.dumps(facts).encode("ascii")


def trace(error: BaseException) -> list[str]:
    """Return where an exception was raised; logs must not publish the source of the tests."""
    frames = []
    for frame in traceback.extract_tb(error.__traceback__)[-30:]:
        path = os.path.normpath(frame.filename)  # `abspath` fails in a folder that is gone
        if path.startswith(place.repo + os.sep):
            line = (frame.line or "")[:200]
            file = os.path.relpath(path, place.repo)
            frames.append(f"{file}:{frame.lineno} in {frame.name}: {line}")
        elif path == place.cases:
            frames.append(f"(tests) in {frame.name}")
    return frames


def collect(pid: int, result_fd: int, log_fd: int, stream: int) -> tuple[bytearray, bytearray]:
    """Read both pipes until the result ends or the child is gone, but not for grandchildren."""
    result = bytearray()
    log = bytearray()
    poll = select.poll()
    for fd in (result_fd, log_fd):
        os.set_blocking(fd, False)
        poll.register(fd, select.POLLIN)
    poll.register(stream, 0)  # reports only that its reader is gone
    is_gone = False
    while len(result) < RESULT_BYTES:
        ready = [fd for fd, _ in poll.poll(0 if is_gone else 100)]
        if stream in ready:  # the harness is gone
            end(pid)
            os._exit(124)
        if log_fd in ready and not read_log(log_fd, log):
            poll.unregister(log_fd)
        has_ended = is_gone if result_fd not in ready else not read_some(result_fd, result)
        if has_ended:
            break
        is_gone = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    for _ in range(_LAST_READS):
        if not read_log(log_fd, log):
            break
    return result, log


def read_some(pipe: int, content: bytearray) -> bool:
    """Add what a pipe holds to its content; return False if it holds nothing or has ended."""
    try:
        chunk = os.read(pipe, _READ_BYTES)
    except BlockingIOError:
        return False
    content += chunk
    return bool(chunk)


def read_log(pipe: int, log: bytearray) -> bool:
    """Add what a pipe holds to a log, and cut out its middle; return the same as `read_some`."""
    has_more = read_some(pipe, log)
    if len(log) > 2 * LOG_BYTES + len(_CUT):
        log[LOG_BYTES:-LOG_BYTES] = _CUT
    return has_more


def end(pid: int) -> int:
    """Kill the child and all that it left; return its exit code, negative for a signal."""
    # In a container, this also reaches processes that left the case's session.
    is_alone = os.getpid() == 1
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(-1 if is_alone else -pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    with contextlib.suppress(ChildProcessError):  # none are left
        while os.waitpid(-1, 0 if is_alone else os.WNOHANG)[0]:
            pass
    return os.waitstatus_to_exitcode(status)


def write_log(case: str, seed: int, log: bytearray) -> None:
    if log:
        write_all(2, f"--- {case} seed {seed}\n".encode() + log.rstrip(b"\n") + b"\n")
