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

from runner import oom_kills
from warm_cleaning import clean, network_state
from warm_zygote import DONE, serve

#: Each job takes one of them and the number after it.
UIDS = range(100_000, 2**31 - 2, 2)


def main() -> None:
    """Serve the harness until it closes stdin."""
    ours, its = socket.socketpair(type=socket.SOCK_SEQPACKET)
    zygote_pid = os.fork()
    if zygote_pid == 0:
        ours.close()
        serve(its)
    its.close()
    instances: dict[str, socket.socket] = {}
    stdin = os.fdopen(0, "rb", buffering=0)  # which does not read ahead
    while line := stdin.readline():
        message = json.loads(line)
        content = stored(message["size"])
        if message["kind"] == "run":
            if not run_job(instances[message["instance"]], zygote_pid, content):
                sys.exit("warm container: a job was killed, memory ran out or sockets were used")
            continue
        request(ours, "load", content)
        confirmed(ours)
        branch, its = socket.socketpair(type=socket.SOCK_SEQPACKET)
        request(ours, "branch", its.fileno())
        confirmed(ours)
        its.close()
        request(branch, "compile", content)
        confirmed(branch)
        os.close(content)
        instances[message["instance"]] = branch


def stored(size: int) -> int:
    """Read this many bytes from stdin into a file in memory; return its descriptor."""
    file = os.memfd_create("content")
    while size and (part := os.read(0, min(size, 1 << 20))):
        size -= os.write(file, part)
    return file


def request(control: socket.socket, kind: str, *fds: int, **facts: object) -> None:
    """Send a request to a zygote."""
    socket.send_fds(control, [json.dumps({"kind": kind, **facts}).encode("ascii")], fds)


def confirmed(control: socket.socket) -> bool:
    """Wait for a zygote's answer; return whether it is `DONE`."""
    if not (answer := control.recv(1)):
        sys.exit("warm container: its zygote has ended")
    return bool(answer == DONE)


def run_job(control: socket.socket, zygote_pid: int, workspace: int) -> bool:
    """Have a job forked for a workspace, pass its output on, clean up; return whether another job can follow.

    It can if this one ended by itself, used no sockets that leave a trace, and the kernel killed no process for lack of
    memory: an answer can steer which one the kernel kills, even to the job that should clean up after it.
    """
    kills_before, network_before = oom_kills(), network_state()
    uid = random.SystemRandom().choice(UIDS)
    (out, job_out), (log, job_log) = (os.pipe() for _ in range(2))
    send(b"begin %.3f\n" % cpu_seconds())
    request(control, "fork", workspace, job_out, job_log, uid=uid)
    for fd in (workspace, job_out, job_log):
        os.close(fd)
    is_well = relay(control, out, log)
    clean(uid, zygote_pid)
    send(b"end\n")
    return is_well and oom_kills() == kills_before and network_state() == network_before


def relay(control: socket.socket, out: int, log: int) -> bool:
    """Copy a job's output to stdout until the zygote says that it has ended; return whether it did so by itself."""
    poll = select.poll()
    poll.register(control, select.POLLIN)
    for fd in (out, log):
        os.set_blocking(fd, False)
        poll.register(fd, select.POLLIN)
    ended = is_well = False
    while not ended:
        for fd, _ in poll.poll():
            if fd == control.fileno():
                ended, is_well = True, confirmed(control)
            elif not forward(fd, out):
                poll.unregister(fd)
    for fd in (out, log):  # the last words of the job; what its stragglers still print is dropped
        while forward(fd, out):
            pass
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


def send(data: bytes) -> None:
    """Write to the harness."""
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
