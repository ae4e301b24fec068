"""The zygote: load libraries once, and fork each answer from here. It never sees tested code.

On stdin, after its program, each message is a line of JSON {"modules", "work", "rlimits", "size"}
and `size` bytes: the libraries that trusted texts import, the folder and the limits of the job, and
the tar of its workspace; or {}, which ends the job.

On stdout: `started NANOSECONDS` once it can take jobs; then `begin NANOSECONDS`, `out SIZE` and
`log SIZE` with that many bytes, and `end KILLS STATUS` once the job has ended: how many processes
the kernel has killed meanwhile for lack of memory, and the job's exit status. The nanoseconds are
the CPU time so far, of the container or, without one, of this process and of its ended children.

A zygote whose only job needs no walls runs it in its own place: what follows `begin` is the output
of the job alone.

No byte of an answer, of its inputs or of its outputs may enter this process's memory, which every
later job inherits: the kernel moves them from pipe to file and from pipe to pipe.
"""

import contextlib
import ctypes
import fcntl
import gc
import importlib
import json
import os
import re
import select
import signal
import sys
import tempfile
import termios
from collections.abc import Callable
from typing import Any

import cgroup
import job
import runner
import seccomp
import walls

_SET_CHILD_SUBREAPER = 36
_MADV_COLLAPSE = 25
_HUGE_PAGE = 1 << 21
#: Without it, on systems other than Linux, there are no walls, and so no secrets.
_HAS_SPLICE = hasattr(os, "splice")
#: Libraries that `load` has tried to import.
_tried: set[str] = set()


def main(settings: dict[str, Any]) -> None:
    """Serve the harness until it closes stdin.

    Args:
        settings: `walls`: the fields of `Walls` but its program, or None if jobs have none.
            `in_place`: whether the first job is the only one and takes the place of this process.
            `has_cgroup`: whether this process has a container of its own, which limits memory and
            counts CPU time. `required`: names of libraries that must not be missing here, or
            answers would be blamed for it.
    """
    runner.set_variables(threads=1)
    has_cgroup = settings["has_cgroup"]
    program = b""
    if settings["walls"] or settings["in_place"]:
        program = seccomp.filter_program(has_cgroup=has_cgroup)
    fork = fork_plainly
    if settings["walls"]:
        fork = walls.prepare(walls.Walls(program, **settings["walls"]))
    send_time(b"started", has_cgroup)
    while line := read_line():
        message = json.loads(line)
        if not message:  # the job to end has ended by itself
            continue
        is_new = load(message["modules"], settings["required"])
        answer = job.Answer(store(message["size"]), message["work"], message["rlimits"])
        send_time(b"begin", has_cgroup)
        if settings["in_place"]:
            walls.restrict(program)
            job.run_job(answer, 1, 2)
            return
        serve(fork, answer)
        if is_new:  # after the first answer, which would wait for it
            collapse()


def send_time(event: bytes, has_cgroup: bool) -> None:
    """Report an event and the CPU time so far."""
    nanoseconds = cgroup.cpu_nanoseconds() if has_cgroup else None
    if nanoseconds is None:
        nanoseconds = int(sum(os.times()[:4]) * 1e9)
    runner.write_all(1, b"%s %d\n" % (event, nanoseconds))


def read_line() -> bytes:
    """Read a line from stdin and nothing after it; empty at the end."""
    line = bytearray()
    while not line.endswith(b"\n") and (byte := os.read(0, 1)):
        line += byte
    return bytes(line)


def store(size: int) -> int:
    """Move this many bytes from stdin into a file in memory; return its descriptor."""
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("workspace")
    else:
        file, path = tempfile.mkstemp()
        os.unlink(path)
    move(0, file, size)
    return file


def move(pipe: int, target: int, size: int) -> None:
    """Move bytes from a pipe in the kernel."""
    while size:
        if _HAS_SPLICE:
            moved = os.splice(pipe, target, size)
        else:
            moved = os.write(target, os.read(pipe, min(size, select.PIPE_BUF)))
        if not moved:
            return
        size -= moved


def load(modules: list[str], required: list[str]) -> bool:
    """Import libraries that have not been tried yet; return whether there are any.

    Raises:
        SystemExit: a required library cannot be imported.
    """
    new = [name for name in modules if name not in _tried]
    if not new:
        return False
    _tried.update(new)
    gc.disable()  # collecting takes a fourteenth of the time of an import
    for name in new:
        try_import(name, name in required)
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)
    gc.freeze()  # collections in jobs would copy memory that they share with this process
    gc.enable()
    return True


def try_import(name: str, is_required: bool) -> None:
    """Import a library, if there is one of this name."""
    try:
        importlib.import_module(name)
    except (Exception, SystemExit) as error:
        # Other names may be functions, or unused by the repository; the job reports real errors.
        if is_required:
            sys.exit(f"cannot import {name}: {type(error).__name__}: {error}")


def collapse() -> None:
    """Gather this process's memory in huge pages (Linux 6.1).

    Copying tables of pages is a tenth of a case's time.
    """
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None)
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        writable = re.findall(r"^(\w+)-(\w+) rw-p 0+ 00:00 ", file.read(), re.MULTILINE)
    for first, last in writable:
        start = -(-int(first, 16) // _HUGE_PAGE) * _HUGE_PAGE
        size = int(last, 16) // _HUGE_PAGE * _HUGE_PAGE - start
        if size > 0:
            libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(size), _MADV_COLLAPSE)


def fork_plainly(run: Callable[[], object]) -> int:
    """Fork a job without walls, whose orphans become children of this process (Linux)."""
    if sys.platform == "linux":
        walls.prctl(_SET_CHILD_SUBREAPER, 1)
    pid = os.fork()
    if not pid:
        walls.run_and_exit(run)
    return pid


def serve(fork: walls.Fork, answer: job.Answer) -> None:
    """Have a job run an answer, and pass on its output to its end."""
    kills_before = cgroup.oom_kills()
    out, job_out = os.pipe()
    log, job_log = os.pipe()
    pid = fork(lambda: job.run_job(answer, job_out, job_log))
    runner.close(job_out, job_log, answer.workspace)
    relay(pid, {out: b"out", log: b"log"})
    _, status = os.waitpid(pid, 0)
    end_orphans()
    kills = cgroup.oom_kills() - kills_before
    runner.write_all(1, b"end %d %d\n" % (kills, status))


def end_orphans() -> None:
    """End the processes that a job without walls has left (Linux)."""
    path = f"/proc/self/task/{os.getpid()}/children"
    while os.path.exists(path):
        with open(path, encoding="ascii") as file:
            children = file.read().split()
        if not children:
            return
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(child), signal.SIGKILL)
        reap()


def reap() -> None:
    """Wait for a child to end, and reap all that have ended by then: there may be thousands."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(-1, 0)
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def relay(pid: int, pipes: dict[int, bytes]) -> None:
    """Pass on a job's output until no process holds its pipes; end the job if asked to."""
    poll = select.poll()
    for fd in (0, *pipes):
        poll.register(fd, select.POLLIN)
    while pipes:
        for fd, _ in poll.poll():
            if fd == 0:
                read_line()
                os.kill(pid, signal.SIGKILL)
                poll.unregister(0)
            elif size := count_bytes(fd):
                runner.write_all(1, b"%s %d\n" % (pipes[fd], size))
                move(fd, 1, size)
            else:
                poll.unregister(fd)
                os.close(fd)
                del pipes[fd]


def count_bytes(pipe: int) -> int:
    """Return the number of bytes that a pipe holds."""
    number = bytearray(4)
    fcntl.ioctl(pipe, termios.FIONREAD, number)
    return int.from_bytes(number, sys.byteorder)
