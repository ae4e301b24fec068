"""Run git in folders that only this program writes to; no setting of the user or of the machine takes part.

git reads configuration, ignore rules and attributes from the user's home, from the system and from the repository. All
three are switched off here, so that equal input gives equal output everywhere. Never name a folder that an agent has
owned: its `.git` and its `.gitattributes` are programs.
"""

import os
import subprocess
from pathlib import Path

from .errors import InfraError

#: Seconds of CPU time for one call.
CPU_S = 10
#: Seconds by the clock, should the machine have no time for git.
WALL_S = 120
#: As the shell's commands: a limit is a limit also if this process is killed, and `ulimit` is there on every Unix.
_LIMITED = f'ulimit -c 0; ulimit -t {CPU_S} && exec git "$@"'
_NOT_FOUND = 127
_OPTIONS = (
    *("-c", "core.autocrlf=false"),
    *("-c", "core.fileMode=true"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", f"core.attributesFile={os.devnull}"),
    *("-c", f"core.excludesFile={os.devnull}"),
)
_NOBODY = {"NAME": "LMR-Bench", "EMAIL": "lmr-bench@example.invalid", "DATE": "2026-01-01T00:00:00Z"}
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    # Below a file there is nothing: neither ~/.gitconfig (for git before 2.32) nor ~/.config/git/ignore and attributes.
    "HOME": os.devnull,
    "LC_ALL": "C",
    **{f"GIT_{role}_{name}": value for role in ("AUTHOR", "COMMITTER") for name, value in _NOBODY.items()},
}
#: Stand above all `.gitattributes` of a work tree: bytes go in and come out as they are.
_NO_ATTRIBUTES = "* -text !eol !crlf -ident !filter !working-tree-encoding !whitespace !diff !merge\n"


class GitError(InfraError):
    """git refused. Where that is a stranger's doing, the caller says so.

    Attributes:
        reason: the first line of what git says.
    """

    def __init__(self, what: str, reason: str) -> None:
        super().__init__(f"{what}: {reason}")
        self.reason = reason


class GitLimitError(GitError):
    """git met its limit of CPU time."""


def run_git(
    folder: Path, *arguments: str, stdin: bytes = b"", directory: Path | None = None, accepted: tuple[int, ...] = (0,)
) -> bytes:
    """Run git in a folder of this program's own making and return what it prints.

    Args:
        directory: a git directory elsewhere (see `empty_git_directory`); without one git looks into `folder`, and no
            further up.
        accepted: the exit statuses that are not errors.

    Raises:
        GitError: git refused, or met its limit.
        InfraError: git is not installed, or the machine has no time for it.
    """
    places = {"GIT_CEILING_DIRECTORIES": str(folder.resolve().parent)}
    if directory:
        places |= {"GIT_DIR": str(directory.resolve()), "GIT_WORK_TREE": str(folder.resolve())}
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", _LIMITED, "sh", *_OPTIONS, *arguments],
            cwd=folder,
            env={"PATH": os.environ.get("PATH", os.defpath), **_ENVIRONMENT, **places},
            input=stdin,
            capture_output=True,
            timeout=WALL_S,
        )
    except subprocess.TimeoutExpired:
        raise InfraError(f"git {arguments[0]} took more than {WALL_S} s: the machine is too busy") from None
    if done.returncode == _NOT_FOUND:
        raise InfraError("git is not installed; patches and the workspaces of agents need it on the PATH")
    if done.returncode < 0:
        raise GitLimitError(f"git {arguments[0]}", f"more than {CPU_S} s of CPU time")
    if done.returncode not in accepted:
        reason = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit {done.returncode}"]
        raise GitError(f"git {arguments[0]}", reason[0][:300])
    return done.stdout


def empty_git_directory(path: Path) -> Path:
    """Make a git directory without objects, settings and hooks, which overrules all attributes of its work tree."""
    for name in ("objects", "refs", "info"):
        (path / name).mkdir(parents=True)
    (path / "HEAD").write_text("ref: refs/heads/main\n", encoding="ascii")
    (path / "info" / "attributes").write_text(_NO_ATTRIBUTES, encoding="ascii")
    return path
