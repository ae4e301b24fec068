"""Process 1 of a warm container: run one answer after another, each under its own uid, and leave nothing of it.

It runs as root with no capabilities but SETUID, SETGID and KILL. Three kinds of process share the work:

- The *supervisor*, process 1, talks to the harness. It passes workspaces to jobs and output back, and cleans up
  (`warm_cleaning.py`).
- The *zygote* has loaded the large libraries. From it branches a zygote for each instance, which has compiled the
  sources of this instance and forks jobs. Zygotes never see an answer, so a job inherits nothing of the jobs before it
  (`warm_zygote.py`).
- A *job* gives up root for a uid that no job had before, unpacks its workspace, and acts as the runner for it
  (`warm_job.py`).

On stdin each message is a line of JSON {"kind", "instance", "size"} and `size` bytes: `learn` (JSON: modules to import,
[path, source] to compile; trusted texts only) or `run` (the tar of a workspace). On stdout: `begin CPU_SECONDS`,
`out SIZE` and `log SIZE` with that many bytes, and `end` once nothing of the job is left.
"""

import contextlib
import json
import os
import random
import re
import select
import socket
import sys
from collections.abc import Sequence

from runner import oom_kills
from warm_cleaning import clean, network_state
from warm_zygote import DONE, read_exactly, serve

#: Each job takes one of them and the number after it.
UIDS = range(100_000, 2**31 - 2, 2)


def main() -> None:
    """Serve the harness until it closes stdin."""
    ours, its = socket.socketpair()
    zygote_pid = os.fork()
    if zygote_pid == 0:
        ours.close()
        serve(its)
    its.close()
    instances: dict[str, socket.socket] = {}
    while line := read_line(0):
        message = json.loads(line)
        if message["kind"] == "run":
            if not run_job(instances[message["instance"]], zygote_pid, message["size"]):
                sys.exit("warm container: a job was killed, memory ran out or sockets were used")
            continue
        content = read_exactly(0, message["size"])
        ask(ours, "load", content)
        branch, its = socket.socketpair()
        ask(ours, "branch", fds=[its.fileno()])
        its.close()
        ask(branch, "compile", content)
        instances[message["instance"]] = branch


def ask(control: socket.socket, kind: str, content: bytes = b"", fds: Sequence[int] = ()) -> None:
    """Send a request to a zygote and wait until it has done what it says."""
    socket.send_fds(control, [request(kind, size=len(content))], fds)
    control.sendall(content)
    confirmed(control)


def request(kind: str, **facts: object) -> bytes:
    """Return the line of a request to a zygote."""
    return json.dumps({"kind": kind, **facts}).encode("ascii") + b"\n"


def confirmed(control: socket.socket) -> bool:
    """Wait for a zygote's answer; return whether it is `DONE`."""
    if not (answer := control.recv(1)):
        sys.exit("warm container: its zygote has ended")
    return bool(answer == DONE)


def run_job(control: socket.socket, zygote_pid: int, size: int) -> bool:
    """Have a job forked, pass its workspace on and its output back, and clean up after it.

    Returns:
        Whether the container can take another job: this one ended by itself, used no sockets that leave a trace, and
        the kernel killed no process for lack of memory. An answer can steer which process the kernel kills, even to
        the job that should clean up after it.
    """
    kills_before, network_before = oom_kills(), network_state()
    uid = random.SystemRandom().choice(UIDS)
    (job_in, workspace), (out, job_out), (log, job_log) = (os.pipe() for _ in range(3))
    send(b"begin %.3f\n" % cpu_seconds())
    socket.send_fds(control, [request("fork", size=0, uid=uid, workspace=size)], [job_in, job_out, job_log])
    for fd in (job_in, job_out, job_log):
        os.close(fd)
    is_well = relay(control, size, workspace, out, log)
    clean(uid, zygote_pid)
    send(b"end\n")
    return is_well and oom_kills() == kills_before and network_state() == network_before


def relay(control: socket.socket, size: int, workspace: int, out: int, log: int) -> bool:
    """Copy stdin to the job and its output to stdout until the zygote says that it has ended.

    Returns:
        Whether it ended by itself.
    """
    os.set_blocking(workspace, False)
    poll = select.poll()
    poll.register(control, select.POLLIN)
    for fd in (out, log):
        os.set_blocking(fd, False)
        poll.register(fd, select.POLLIN)
    waiting = b""
    poll.register(workspace, select.POLLOUT)
    open_pipes = {workspace, out, log}
    ended = is_well = False
    while not ended:
        for fd, _ in poll.poll():
            if fd == control.fileno():
                ended = True
                is_well = confirmed(control)
            elif fd == workspace:
                if not waiting and size:
                    waiting = os.read(0, min(size, 1 << 16))
                    size = size - len(waiting) if waiting else 0
                with contextlib.suppress(BlockingIOError, BrokenPipeError):
                    waiting = waiting[os.write(fd, waiting) :]
                    if waiting or size:
                        continue
                if not waiting and not size:
                    poll.unregister(fd)
                    open_pipes.discard(fd)
                    os.close(fd)
            elif not forward(fd, out):
                poll.unregister(fd)
    read_exactly(0, size)  # a job that ended early did not read everything
    for fd in (out, log):  # the last words of the job; what its stragglers still print is dropped
        while forward(fd, out):
            pass
    for fd in open_pipes:
        os.close(fd)
    return is_well


def forward(fd: int, out: int) -> bool:
    """Pass on what a pipe holds; return whether there was anything."""
    try:
        data = os.read(fd, 1 << 16)
    except BlockingIOError:
        return False
    if data:
        send(b"%s %d\n" % (b"out" if fd == out else b"log", len(data)) + data)
    return bool(data)


def cpu_seconds() -> float:
    """Return the CPU seconds of this container so far, as the engine counts them; -1 if the cgroup does not say."""
    for path, pattern, unit in (
        ("/sys/fs/cgroup/cpuacct/cpuacct.usage", r"(\d+)", 1e9),
        ("/sys/fs/cgroup/cpu.stat", r"usage_usec (\d+)", 1e6),
    ):
        with contextlib.suppress(OSError), open(path, encoding="ascii") as file:
            if found := re.match(pattern, file.read()):
                return int(found[1]) / unit
    return -1.0


def read_line(fd: int) -> bytes:
    """Read a line without reading ahead; empty at the end."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(fd, 1)
        if not byte:
            return b""
        line += byte
    return line


def send(data: bytes) -> None:
    """Write to the harness."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]
