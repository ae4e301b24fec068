"""Clean a warm container after a job: kill every process that is not root's and remove all files, as their users.

Process 1 has no capability to change or remove other users' files, and needs none. What the kernel keeps of sockets
cannot be removed, only noticed (`network_state`).
"""

import contextlib
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable

from warm_zygote import become

#: Folders that jobs can write to.
SHARED_FOLDERS = ("/work", "/tmp")


def clean(uid: int, zygote_pid: int) -> None:
    """Kill all processes of jobs and remove the files of a uid; end the container if that fails."""
    for number in range(50):
        reap(zygote_pid)
        alive = users()
        if not alive:
            break
        time.sleep(number / 1000)
        for user in alive:
            # All at once, as that user: one after the other, they could fork faster than they are killed.
            as_user(user, lambda: os.kill(-1, signal.SIGKILL), own=user + 1)
    else:
        sys.exit("warm container: processes of a job cannot be killed")
    for remove in (remove_trees, remove_stubborn):
        if not any(os.listdir(folder) for folder in SHARED_FOLDERS):
            break
        as_user(uid, remove)
        reap(zygote_pid)
    if any(os.listdir(folder) for folder in SHARED_FOLDERS):
        sys.exit("warm container: files of a job cannot be removed")
    reset_times()


def network_state() -> list[str]:
    """Return what shows that sockets were used: those that exist, and the counters of this network.

    Sockets that are on their way through each other outlive all processes, with the files and the memory that travel
    with them, and a closed connection is remembered for a minute.
    """
    found: list[str] = []
    for name in ("sockstat", "sockstat6", "dev", "snmp", "snmp6", "netstat", "ip6_flowlabel"):
        with contextlib.suppress(OSError), open(f"/proc/net/{name}", encoding="ascii", errors="replace") as file:
            # Other numbers of these two count the whole machine.
            found += re.findall(r"used \d+|inuse \d+|tw \d+", file.read()) if "sock" in name else [file.read()]
    return found


def reset_times() -> None:
    """Reset the times of what any user may write to, which an answer could set for the next one to read."""
    for path in (*(entry.path for entry in os.scandir("/dev")), *SHARED_FOLDERS):
        with contextlib.suppress(OSError):
            os.utime(path, (0, 0))


def users() -> set[int]:
    """Return the users other than root that have a process; supervisor and zygotes are root's.

    Zombies count: a process whose main thread has ended while another one runs looks like one.
    """
    found = set()
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError), open(f"/proc/{name}/status", encoding="utf-8", errors="replace") as file:
                # The name of a process, which it can choose, stands before; line breaks in it are escaped.
                if line := re.search(r"^Uid:\t(\d+)", file.read(), re.MULTILINE):
                    found.add(int(line[1]))
    return found - {0}


def as_user(uid: int, action: Callable[[], object], own: int | None = None) -> None:
    """Run something as a user in a child; if `own`, its real user, is another, processes of `uid` cannot signal it."""
    pid = os.fork()
    if pid == 0:
        try:
            # The channels to the harness and the zygotes are no user's business.
            null = os.open(os.devnull, os.O_RDWR)
            for number in range(3):
                os.dup2(null, number)
            os.closerange(3, os.sysconf("SC_OPEN_MAX"))
            become(uid, own)
            action()
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def remove_trees() -> None:
    """Remove what this user may remove, as far as ordinary answers nest it; the two folders themselves stay."""
    for folder in SHARED_FOLDERS:
        shutil.rmtree(folder, ignore_errors=True)


def remove_stubborn() -> None:
    """Remove folders nested without end and folders without permissions."""
    paths = [os.path.join(folder, name) for folder in SHARED_FOLDERS for name in os.listdir(folder)]
    script = 'chmod -R u+rwX -- "$@"; rm -rf -- "$@"'
    os.execv("/bin/sh", ["sh", "-c", script, "sh", *paths])


def reap(zygote_pid: int) -> None:
    """Collect orphans that have ended."""
    with contextlib.suppress(ChildProcessError):
        while pid := os.waitpid(-1, os.WNOHANG)[0]:
            if pid == zygote_pid:
                sys.exit("warm container: its zygote has ended")
