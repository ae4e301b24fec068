"""Run git in folders that only this program writes to, without settings of user or machine.

git reads configuration, ignore rules and attributes from the user's home, the system and the
repository. All are disabled, so equal input gives equal output everywhere. Never pass a folder that
an agent has written to: its `.git` and `.gitattributes` can run programs.
"""

import errno
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from .errors import InfraError

#: CPU time limit of one call in seconds.
CPU_S = 10
#: Limit of the address space of one call; macOS has none.
MEMORY_MIB = 1024
#: Wall time limit in seconds, for an overloaded machine.
WALL_S = 120
#: Shell commands, because the limits then hold even if this process is killed, and every Unix has
#: `ulimit`.
_LIMITED = (
    f'ulimit -c 0; ulimit -v {MEMORY_MIB * 1024} 2>/dev/null; ulimit -t {CPU_S} && exec git "$@"'
)
_NOT_FOUND = 127
_OPTIONS = f"""
-c core.autocrlf=false -c core.fileMode=true
-c core.hooksPath={os.devnull} -c core.attributesFile={os.devnull} -c core.excludesFile={os.devnull}
""".split()
_NOBODY = {
    "NAME": "LMR-Bench",
    "EMAIL": "lmr-bench@example.invalid",
    "DATE": "2026-01-01T00:00:00Z",
}
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    # A file has no children: no ~/.gitconfig (git before 2.32), no ~/.config/git/ignore or
    # attributes.
    "HOME": os.devnull,
    "LC_ALL": "C",
    **{
        f"GIT_{role}_{name}": value
        for role in ("AUTHOR", "COMMITTER")
        for name, value in _NOBODY.items()
    },
}
#: Override all `.gitattributes` of a work tree, so that git does not convert bytes.
_NO_ATTRIBUTES = (
    "* -text !eol !crlf -ident !filter !working-tree-encoding !whitespace !diff !merge\n"
)


class GitError(InfraError):
    """git failed; `reason` is its first line. Callers explain failures that input causes."""

    def __init__(self, what: str, reason: str) -> None:
        super().__init__(f"{what}: {reason}")
        self.reason = reason


class GitLimitError(GitError):
    """git exceeded its limit on CPU time or memory."""


def run_git(
    folder: Path,
    *arguments: str,
    stdin: bytes = b"",
    directory: Path | None = None,
    accepted: tuple[int, ...] = (0,),
) -> bytes:
    """Run git in a folder that this program created and return its output.

    Args:
        directory: git directory; by default `.git` of the folder, or elsewhere (see
            `empty_git_directory`). Because git is told where it is, it does not ask whose it is:
            some mounts show another owner.
        accepted: exit statuses that are not errors.

    Raises:
        GitError: git failed or exceeded its limit.
        InfraError: git is not installed, or the machine is overloaded.
    """
    places = {
        "GIT_DIR": str((directory or folder / ".git").resolve()),
        "GIT_WORK_TREE": str(folder.resolve()),
    }
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
        raise InfraError(
            f"git {arguments[0]} took more than {WALL_S} s: the machine is too busy"
        ) from None
    except OSError as error:
        if error.errno != errno.E2BIG:
            raise
        raise GitError(f"git {arguments[0]}", "its arguments are too long") from None
    if done.returncode == _NOT_FOUND:
        raise InfraError(
            "git is not installed; patches and the workspaces of agents need it on the PATH"
        )
    if done.returncode < 0 or b"fatal: Out of memory" in done.stderr:
        raise GitLimitError(
            f"git {arguments[0]}", f"more than {CPU_S} s of CPU time or {MEMORY_MIB} MiB of memory"
        )
    if done.returncode not in accepted:
        message = done.stderr.decode("utf-8", "replace").strip() or f"exit {done.returncode}"
        raise GitError(f"git {arguments[0]}", message.splitlines()[0][:300])
    return done.stdout


def ignored_files(folder: Path, names: Sequence[str]) -> list[str]:
    """Return the untracked files of a user's folder that git ignores by the user's own rules.

    Outside a repository, or without git, there are none.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    # `./`, because git takes a name that begins with a colon for a pattern.
    stdin = "".join(f"./{name}\0" for name in names).encode()
    command = ["git", "-c", "core.fsmonitor=false", "check-ignore", "-z", "--stdin"]
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, input=stdin, capture_output=True, timeout=WALL_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    ignored = done.stdout.decode("utf-8", "replace").split("\0")
    return [name.removeprefix("./") for name in ignored if name]


def empty_git_directory(path: Path) -> Path:
    """Create an empty git directory that overrides all attributes of its work tree."""
    for name in ("objects", "refs", "info"):
        (path / name).mkdir(parents=True)
    (path / "HEAD").write_text("ref: refs/heads/main\n", encoding="ascii")
    (path / "info" / "attributes").write_text(_NO_ATTRIBUTES, encoding="ascii")
    return path
