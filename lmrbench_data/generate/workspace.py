"""A folder for an agent: what its track may see, one instance to a folder, and the patch that it leaves behind.

```
DIR/
  TASK.md      what is asked, and how this folder is laid out
  paper.md     the paper (or paper.pdf, paper.json)
  repo/        the masked repository, a git repository with one commit
  .lmrbench.json   which instance and track this is, for `collect`
```

A patch is made against the row's own archive, in a git directory of ours: neither the history nor the configuration
that an agent leaves in `repo/.git` is read.
"""

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import InfraError, InputError
from ..files import write_atomically
from ..loader import read_archive, unpack, write_files
from ..rows import DatasetRow

MARKER = ".lmrbench.json"
TASK, REPO = "TASK.md", "repo"
GIT_S = 60
_TO_DO = """## What to do

Write that function. Paper and repository say what it has to compute and how it is used. Change whatever the function
needs; keep names, signatures and everything else as it is. There is no network. Hidden tests call the function and
compare what it returns; the tests in the repository only look whether it runs, and some may need another function of
the paper that is masked as well. You are done when it is written: the state of `repo/` is your answer, committed or
not."""
_PLAIN_DIFF = (
    *("--no-color", "--no-ext-diff", "--no-textconv", "--no-renames"),
    *("--src-prefix=a/", "--dst-prefix=b/"),
)
#: The settings of whoever runs this must not shape what an agent sees or what is taken from it.
_GIT_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_AUTHOR_NAME": "LMR-Bench",
    "GIT_AUTHOR_EMAIL": "lmr-bench@example.invalid",
    "GIT_COMMITTER_NAME": "LMR-Bench",
    "GIT_COMMITTER_EMAIL": "lmr-bench@example.invalid",
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
    "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
    "LC_ALL": "C",
}


def write_workspace(
    row: DatasetRow, folder: Path, *, track: str = "paper", papers: Mapping[str, bytes] | None = None
) -> Path:
    """Write what an agent may see of an instance into a new folder; equal rows give equal folders.

    Args:
        track: `paper`, or `contract`: then TASK.md states the contract as well.
        papers: the files of the paper by name; by default paper.md, our summary.

    Raises:
        LoadError: the folder has content.
        InfraError: there is no git here, or it fails.
    """
    papers = {"paper.md": row["paper_text"].encode()} if papers is None else papers
    unpack(row, folder / REPO)
    _git(folder / REPO, "init", "--quiet", "--initial-branch=main")
    _git(folder / REPO, "add", "--all", "--force")
    _git(folder / REPO, "commit", "--quiet", "--no-verify", "--message", f"{row['repo_name']}, one function masked")
    (folder / TASK).write_text(task_text(row, track, sorted(papers)), encoding="utf-8")
    for name, data in papers.items():
        (folder / name).write_bytes(data)
    facts = {"instance_id": row["instance_id"], "track": track, "row_sha256": row["row_sha256"]}
    write_atomically(folder / MARKER, json.dumps(facts) + "\n")
    return folder


def task_text(row: DatasetRow, track: str, papers: list[str]) -> str:
    """TASK.md."""
    parts = [
        f"# Task\n\n{row['instruction'].strip()}",
        f"## What is here\n\n- `repo/`: the repository that belongs to the paper *{row['paper_title']}*. The body of "
        f"`{row['goal_function']}` in `repo/{row['goal_file']}` was replaced by `raise NotImplementedError`.",
    ]
    if papers:
        parts[1] += f"\n- {', '.join(f'`{name}`' for name in papers)}: the paper."
    if track == "contract":
        parts.append(f"## Contract\n\n{row['contract'].strip()}")
    parts.append(_TO_DO)
    return "\n\n".join(parts) + "\n"


def read_marker(folder: Path) -> tuple[str, str]:
    """(instance id, track) of a workspace.

    Raises:
        InputError: it is none.
    """
    try:
        facts: Any = json.loads((folder / MARKER).read_text(encoding="utf-8"))
        instance, track = facts["instance_id"], facts["track"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        instance = track = None
    if not (isinstance(instance, str) and isinstance(track, str)):
        raise InputError(f"{folder}: no workspace of `lmrbench agent workspace` ({MARKER} is missing or damaged)")
    return instance, track


def collect_patch(row: DatasetRow, folder: Path) -> str:
    """What an agent changed in a workspace, as a unified diff against the masked repository; empty if nothing.

    Files that the repository's .gitignore names are left out; whatever else lies there and is no source is left out
    when the patch is applied (`evaluate/patch.py`).

    Raises:
        InputError: the workspace has no repository any more.
        InfraError: git fails.
    """
    repo = folder / REPO
    if not repo.is_dir() or repo.is_symlink():
        raise InputError(f"{repo}: is gone; nothing can be collected from this workspace")
    with tempfile.TemporaryDirectory(prefix="lmrbench-collect-") as name:
        base, own = Path(name) / "base", Path(name) / "git"
        write_files(read_archive(row["repo_archive"]), base)
        _git(base, "init", "--quiet", "--initial-branch=main", directory=own)
        _git(base, "add", "--all", "--force", directory=own)
        _git(base, "commit", "--quiet", "--no-verify", "--message", "base", directory=own)
        _git(repo, "add", "--all", directory=own)
        changes = (
            "diff",
            "--cached",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            "--no-renames",
            "--src-prefix=a/",
        )
        return _git(repo, *changes, "--dst-prefix=b/", "HEAD", directory=own)


def _git(work: Path, *arguments: str, directory: Path | None = None) -> str:
    """Run git on a folder, in a git directory elsewhere if one is given, and return what it prints."""
    places = {"GIT_DIR": str(directory), "GIT_WORK_TREE": str(work.resolve())} if directory else {}
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    options = ("-c", "core.autocrlf=false", "-c", "core.hooksPath=/dev/null", "-c", "core.fileMode=true")
    try:
        done = subprocess.run(
            ["git", *options, *arguments],
            cwd=work,
            env={**environment, **_GIT_ENVIRONMENT, **places},
            capture_output=True,
            timeout=GIT_S,
        )
    except FileNotFoundError:
        raise InfraError("git is not installed; agents need it for their workspaces") from None
    except subprocess.TimeoutExpired:
        raise InfraError(f"git {arguments[0]} took more than {GIT_S} s in {work}") from None
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise InfraError(f"git {arguments[0]} failed in {work}: {reason[-1] if reason else done.returncode}")
    return done.stdout.decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode("utf-8")
