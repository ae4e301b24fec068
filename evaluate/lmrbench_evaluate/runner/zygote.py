"""The zygote: load libraries once, and fork each answer behind walls of its own.

It runs in a container or in bubblewrap, and never sees tested code. The *job* that it forks is process 1 of namespaces
of its own (walls.py) and acts as the runner of the answer (zygote_job.py); the zygote passes on what the job prints.

On stdin each message is a line of JSON: {"modules", "size"} and `size` bytes, the libraries that trusted texts import
and the tar of a workspace; or {}, which ends the job. On stdout: `walls` once, if the machine lets them be built; then
`begin NANOSECONDS`, `out SIZE` and `log SIZE` with that many bytes, and `end KILLS STATUS` once nothing of the job is
left: how many processes the kernel has killed meanwhile for lack of memory, and the job's exit status. The nanoseconds
are the container's CPU time so far; without a cgroup they are those of this process and of its ended children, and
follow `walls`, too.
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
import termios

import seccomp
from walls import Walls, enter, fork_inside
from zygote_job import job

_MADV_COLLAPSE = 25
_FILES = ("memory/memory.oom_control", "memory.events", "cpuacct/cpuacct.usage", "cpu.stat")
#: Files of the container's cgroup, opened before a wall hides them.
_cgroup = [os.open(path, os.O_RDONLY) for name in _FILES if os.path.exists(path := f"/sys/fs/cgroup/{name}")]
_tried: set[str] = set()


def main(arguments: str) -> None:
    """Serve the harness until it closes stdin.

    Args:
        arguments: JSON: `user` and `disk_mb` of `Walls`, the `rlimits` of each job by name, and `has_cgroup` of
            the filter.
    """
    settings = json.loads(arguments)
    program = seccomp.filter_program(has_cgroup=settings["has_cgroup"])
    walls, rlimits = Walls(program, settings["user"], settings["disk_mb"]), settings["rlimits"]
    sys.dont_write_bytecode = True
    enter()
    if os.waitpid(fork_inside(walls, lambda: None), 0)[1]:
        sys.exit(1)
    send(b"walls\n" if _cgroup else b"walls %d\n" % cpu_nanoseconds())
    while line := read_line():
        if message := json.loads(line):  # if not, the job to end has ended by itself
            is_new = load(message["modules"])
            run(walls, rlimits, stored(message["size"]))
            if is_new:  # after the first answer, which would wait for it
                collapse()


def read_line() -> bytes:
    """Read a line from stdin and nothing after it; empty at the end."""
    line = bytearray()
    while not line.endswith(b"\n") and (byte := os.read(0, 1)):
        line += byte
    return bytes(line)


def stored(size: int) -> int:
    """Move this many bytes from stdin into a file in memory, which takes results later; return its descriptor."""
    file = os.memfd_create("results")
    move(0, file, size)
    return file


def move(source: int, target: int, size: int) -> None:
    """Move bytes from a pipe in the kernel: what this process reads, each later job would find in its own memory."""
    while size and (moved := os.splice(source, target, size)):
        size -= moved


def load(modules: list[str]) -> bool:
    """Import libraries that have not been tried yet; return whether there are any."""
    new = [name for name in modules if name not in _tried]
    if not new:
        return False
    _tried.update(new)
    gc.disable()  # which takes a fourteenth of the time of an import
    for name in new:
        # Not a module but a function, say; the job reports real errors.
        with contextlib.suppress(Exception, SystemExit):
            importlib.import_module(name)
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)
        # The original also notes the seed, with a formatted stack, for devices that no container has.
        torch.manual_seed = torch.random.manual_seed = lambda seed: torch.default_generator.manual_seed(int(seed))  # type: ignore[attr-defined]
    gc.freeze()  # collections in jobs would copy memory that they share with this process
    gc.enable()
    return True


def collapse() -> None:
    """Gather this process's memory in huge pages (Linux 6.1), whose tables cost a fork next to nothing."""
    libc, size = ctypes.CDLL(None), 1 << 21
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        for first, last in re.findall(r"^(\w+)-(\w+) rw-p 0+ 00:00 ", file.read(), re.MULTILINE):
            start, end = -(-int(first, 16) // size) * size, int(last, 16) // size * size
            if end > start:
                libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _MADV_COLLAPSE)


def run(walls: Walls, rlimits: dict[str, int], workspace: int) -> None:
    """Have a job run a workspace, and pass on its output until nothing of it is left."""
    before = oom_kills()
    send(b"begin %d\n" % cpu_nanoseconds())
    (out, job_out), (log, job_log) = os.pipe(), os.pipe()
    pid = fork_inside(walls, lambda: job(workspace, job_out, job_log, _cgroup, oom_kills, rlimits))
    for fd in (job_out, job_log, workspace):
        os.close(fd)
    relay(pid, out, log)
    status = os.waitpid(pid, 0)[1]
    send(b"end %d %d\n" % (oom_kills() - before, status))
    os.close(out)
    os.close(log)


def relay(pid: int, out: int, log: int) -> None:
    """Copy a job's output to stdout to its end, which comes when no process of it is left; end it on request."""
    poll = select.poll()
    for fd in (0, out, log):
        poll.register(fd, select.POLLIN)
    left = {out: b"out", log: b"log"}
    while left:
        for fd, _ in poll.poll():
            if fd == 0:
                read_line()
                os.kill(pid, signal.SIGKILL)
                poll.unregister(0)
            elif size := waiting(fd):
                send(b"%s %d\n" % (left[fd], size))
                move(fd, 1, size)
            else:
                poll.unregister(fd)
                del left[fd]


def waiting(pipe: int) -> int:
    """Return the number of bytes that a pipe holds."""
    number = bytearray(4)
    fcntl.ioctl(pipe, termios.FIONREAD, number)
    return int.from_bytes(number, sys.byteorder)


def oom_kills() -> int:
    """Return the number of processes of the container that the kernel has killed; 0 if no cgroup says it."""
    return max(0, cgroup_number(rb"^oom_kill (\d+)$"))


def cpu_nanoseconds() -> int:
    """Return the CPU time so far, as the engine counts it or, without a cgroup, as this process knows it."""
    counted = max(1000 * cgroup_number(rb"^usage_usec (\d+)$"), cgroup_number(rb"\A(\d+)$"))
    return counted if counted >= 0 else int(sum(os.times()[:4]) * 1e9)


def cgroup_number(pattern: bytes) -> int:
    """Return the first number of this pattern in the cgroup's files; -1 if there is none."""
    found = (re.search(pattern, os.pread(file, 4096, 0), re.MULTILINE) for file in _cgroup)
    return next((int(match[1]) for match in found if match), -1)


def send(data: bytes) -> None:
    """Write to the harness."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]
