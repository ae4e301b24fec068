"""A job of a zygote: unpack the workspace of one answer, and act as its runner."""

import contextlib
import io
import os
import resource
import sys
import tarfile
from typing import NamedTuple

import cgroup
import runner
import together

#: Our modules; a repository may have its own modules of these names.
_HIDDEN = ("cgroup", "encoding", "job", "runner", "seccomp", "together", "walls", "zygote")


class Answer(NamedTuple):
    """An answer as a job gets it."""

    workspace: int
    """A file in memory with the tar, which the harness makes (`rebuild/workspace.py`): plain files
    only, with checked paths."""
    work: str
    """The folder that takes it."""
    rlimits: dict[str, int]
    """Values by name; none is raised above the present one."""


def run_job(answer: Answer, stdout: int, stderr: int) -> None:
    """Become the runner of one answer."""
    for name in _HIDDEN:
        sys.modules.pop(name, None)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    with open(answer.workspace, "rb") as workspace:
        workspace.seek(0)
        unpack(workspace.read(), answer.work)
    close_all_but({0, 1, 2, *cgroup.files()})
    for name, value in answer.rlimits.items():
        runner.set_limit(getattr(resource, name), value, value)
    make_folder("HOME", f"{answer.work}/home")
    make_folder("TMPDIR", f"{answer.work}/tmp")
    runner.main(answer.work, together.run_all)


def make_folder(variable: str, path: str) -> None:
    """Make a folder and set the variable that names it."""
    os.mkdir(path)
    os.environ[variable] = path


def unpack(content: bytes, work: str) -> None:
    """Write the files of the workspace."""
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        for member in tar:
            path = f"{work}/{member.name}"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content[member.offset_data : member.offset_data + member.size])
            os.chmod(path, member.mode)


def close_all_but(kept: set[int]) -> None:
    """Close all other files of this process."""
    for fd in set(map(int, os.listdir("/dev/fd"))) - kept:
        with contextlib.suppress(OSError):  # that of the list itself
            os.close(fd)
