"""A folder for an agent: the files that its track may see, one instance per folder.

```
DIR/
  TASK.md      the task, and the layout of this folder
  paper.md     the paper (or paper.pdf, paper.json)
  repo/        the masked repository; on the user's disk also a git repository with one commit
  .lmrbench.json   which instance and track this is, for `collect`; on the user's disk only
```

The container of `agent run` has no git, so `repo/` is plain files there, and TASK.md says so.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..base.errors import InputError
from ..base.files import read_regular, write_atomically
from ..base.git import run_git
from ..dataset.masked import lacks_helpers, other_masked_functions
from ..dataset.rows import DatasetRow, contract_of, goals_of, is_method
from ..loader import File, read_archive, unpack

MARKER = ".lmrbench.json"
TASK, REPO = "TASK.md", "repo"
_MAX_MARKER_BYTES = 4096
_TO_DO = """## What to do

Write that function. Paper and repository say what it has to compute and how it is used. Change whatever the function
needs; keep names, signatures and everything else as it is. {network} Hidden tests call the function and
compare what it returns; the tests in the repository only look whether it runs, and some may need another masked
function. You are done when it is written: the state of the files in `repo/` is your answer"""
_METHOD_TO_DO = """## What to do

Write these functions: together they are the method of the paper. Paper and repository say what each has to compute and
how it is used. Change whatever the functions need; keep names, signatures and everything else as it is. {network}
Hidden tests call the functions, run short experiments with them, and compare the results; the tests in the
repository only look whether the code runs. You are done when all are written: the state of the files in `repo/` is your
answer"""
_NETWORK = {False: "There is no network.", True: "Do not use the network."}
_GIT = ", a git repository with one commit"
_STATE = {True: ", committed or not.", False: ". There is no git here, and nothing has to be committed."}


def with_cpu_budget(row: DatasetRow, cpu_s: int) -> DatasetRow:
    """Return a row whose instruction states the agent's CPU seconds in place of the row's own budget."""
    told, sentence = row["instruction"], "may take {} seconds of CPU time."
    own = sentence.format(row.get("cpu_budget_s"))
    if own in told:
        return {**row, "instruction": told.replace(own, sentence.format(cpu_s))}
    return {**row, "instruction": f"{told}\n\nAll that runs in the container {sentence.format(cpu_s)}"}


def workspace_files(
    row: DatasetRow,
    *,
    track: str = "paper",
    papers: Mapping[str, bytes] | None = None,
    has_git: bool = False,
    has_network: bool = False,
) -> dict[str, File]:
    """Return the files of an instance that an agent may see, by path: TASK.md, the paper, and the masked repository.

    Args:
        track: `paper`, or `contract`: then TASK.md states the contract as well.
        papers: the files of the paper by name; by default paper.md, our summary.
        has_git: whether the repository becomes a git repository where the agent works; TASK.md says which.
        has_network: whether the agent can reach a network; TASK.md then asks not to use it.
    """
    papers = {"paper.md": row["paper_text"].encode()} if papers is None else papers
    return {
        TASK: File(task_text(row, track, sorted(papers), has_git=has_git, has_network=has_network).encode()),
        **{name: File(data) for name, data in papers.items()},
        **{f"{REPO}/{name}": file for name, file in read_archive(row["repo_archive"]).items()},
    }


def write_workspace(
    row: DatasetRow, folder: Path, *, track: str = "paper", papers: Mapping[str, bytes] | None = None
) -> Path:
    """Write a workspace into a new folder on the user's disk; equal rows give equal folders.

    Args:
        track, papers: see `workspace_files`.

    Raises:
        LoadError: the folder has content.
        InfraError: there is no git here, or it fails.
    """
    files = workspace_files(row, track=track, papers=papers, has_git=True)
    commit_masked(unpack(row, folder / REPO), row)
    for name, file in files.items():
        if not name.startswith(f"{REPO}/"):
            (folder / name).write_bytes(file.data)
    facts = {"instance_id": row["instance_id"], "track": track, "row_sha256": row["row_sha256"]}
    write_atomically(folder / MARKER, json.dumps(facts) + "\n")
    return folder


def commit_masked(repo: Path, row: DatasetRow) -> None:
    """Make a folder with the masked repository a git repository with one commit, whose hash depends on the row alone.

    Raises:
        InfraError: there is no git here, or it fails.
    """
    run_git(repo, "init", "--quiet", "--initial-branch=main", "--template=")
    run_git(repo, "add", "--all", "--force")
    what = "a method" if is_method(row) else "one function"
    run_git(repo, "commit", "--quiet", "--no-verify", "--message", f"{row['repo_name']}, {what} masked")


def task_text(row: DatasetRow, track: str, papers: list[str], *, has_git: bool, has_network: bool = False) -> str:
    """Return the text of TASK.md."""
    parts = [
        f"# Task\n\n{row['instruction'].strip()}",
        f"## What is here\n\n- `repo/`: the repository that belongs to the paper *{row['paper_title']}*"
        f"{_GIT if has_git else ''}. {masked_functions(row, f'{REPO}/')}",
    ]
    if papers:
        parts[1] += f"\n- {', '.join(f'`{name}`' for name in papers)}: the paper."
    if track == "contract":
        parts.append(f"## Contract\n\n{contract_of(row)}")
    to_do = (_METHOD_TO_DO if is_method(row) else _TO_DO).format(network=_NETWORK[has_network])
    parts.append(to_do + _STATE[has_git])
    return "\n\n".join(parts) + "\n"


def masked_functions(row: DatasetRow, folder: str = "") -> str:
    """Say which functions are masked.

    Args:
        folder: the folder of the repository as the reader sees it, with a slash at the end.
    """
    by = "replaced by `raise NotImplementedError`"
    if not is_method(row):
        body = f"The body of `{row['goal_function']}` in `{folder}{row['goal_file']}` was {by}."
        return body + missing_parts(row, folder)
    goals = goals_of(row)
    lines = [f"  - `{folder}{path}`: {', '.join(f'`{name}`' for name in names)}" for path, names in goals.items()]
    return f"The bodies of these functions were {by}:\n" + "\n".join(lines)


def missing_parts(row: DatasetRow, folder: str = "") -> str:
    """Say what else is masked or removed in the repository of a function; empty if nothing is.

    Masked functions are named, because a reader could call them. Removed helpers are not: their names would show how
    the reference is built.

    Args:
        folder: see `masked_functions`.
    """
    text, others = "", other_masked_functions(row)
    if others:
        places = [f"{', '.join(f'`{name}`' for name in names)} in `{folder}{path}`" for path, names in others.items()]
        text += f" Also masked, because other tasks ask for it: {'; '.join(places)}. The reference does not need it."
    if lacks_helpers(row):
        text += " Helpers that only the removed code used are gone, too: define those that you need."
    return text


def read_marker(folder: Path) -> tuple[str, str]:
    """Return (instance id, track) of a workspace.

    Raises:
        InputError: the folder is not a workspace.
    """
    try:
        facts: Any = json.loads(read_regular(folder / MARKER, _MAX_MARKER_BYTES))
        instance, track = facts["instance_id"], facts["track"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        instance = track = None
    if not (isinstance(instance, str) and isinstance(track, str)):
        raise InputError(f"{folder}: no workspace of `lmrbench agent workspace` ({MARKER} is missing or damaged)")
    return instance, track
