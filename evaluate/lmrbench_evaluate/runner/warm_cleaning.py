"""Clean a warm container after a job: kill the processes of its uid and remove its files, as that user.

Process 1 has no capability to change or remove other users' files, and needs none.
"""

import contextlib
import os
import re
import signal
import sys
from collections.abc import Callable, Iterable

from warm_zygote import become

#: Folders that jobs can write to.
SHARED_FOLDERS = ("/work", "/tmp")
TRIES = 50


def clean(uid: int, zygote_pid: int) -> None:
    """Kill the processes of a uid and remove its files; end the container if that fails."""
    for _ in range(TRIES):
        alive = [user for user in (uid, uid + 1) if processes_of(user)]
        if not alive:
            break
        for user in alive:
            # All at once, as that user: one after the other, they could fork faster than they are killed.
            as_user(user, lambda: os.kill(-1, signal.SIGKILL))
        reap(zygote_pid)
    else:
        sys.exit("warm container: processes of a job cannot be killed")
    for remove in (lambda: remove_tree(SHARED_FOLDERS), lambda: remove_stubborn(SHARED_FOLDERS)):
        if not any(os.listdir(folder) for folder in SHARED_FOLDERS):
            return
        as_user(uid, remove)
        reap(zygote_pid)
    if any(os.listdir(folder) for folder in SHARED_FOLDERS):
        sys.exit("warm container: files of a job cannot be removed")


def processes_of(uid: int) -> list[int]:
    """Return the living processes of a user."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError), open(f"/proc/{name}/status", encoding="utf-8", errors="replace") as file:
                text = file.read()
                # The name of a process, which it can choose, stands before both; line breaks in it are escaped.
                if re.search(rf"^Uid:\t{uid}\b", text, re.MULTILINE) and not re.search(r"^State:\tZ", text, re.M):
                    found.append(int(name))
    return found


def as_user(uid: int, action: Callable[[], object]) -> None:
    """Run something as a user in a child and wait for it."""
    pid = os.fork()
    if pid == 0:
        try:
            become(uid)
            action()
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def remove_tree(folders: Iterable[str], depth: int = 40) -> None:
    """Remove what this user may remove below folders, as far as ordinary answers nest them."""
    for folder in folders:
        with contextlib.suppress(OSError):
            for entry in list(os.scandir(folder)):
                with contextlib.suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        if depth:
                            remove_tree([entry.path], depth - 1)
                        os.rmdir(entry.path)
                    else:
                        os.unlink(entry.path)


def remove_stubborn(folders: Iterable[str]) -> None:
    """Remove folders nested without end and folders without permissions."""
    paths = [os.path.join(folder, name) for folder in folders for name in os.listdir(folder)]
    script = 'chmod -R u+rwX -- "$@"; rm -rf -- "$@"'
    os.execv("/bin/sh", ["sh", "-c", script, "sh", *paths])


def reap(zygote_pid: int) -> None:
    """Collect orphans that have ended."""
    with contextlib.suppress(ChildProcessError):
        while pid := os.waitpid(-1, os.WNOHANG)[0]:
            if pid == zygote_pid:
                sys.exit("warm container: its zygote has ended")
