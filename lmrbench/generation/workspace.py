"""A folder for an agent: the files that its track may see, one instance per folder.

```
DIR/
  TASK.md      the task, and the layout of this folder
  paper.md     the paper, as our summary
  repo/        the masked repository; on the user's disk also a git repository with one commit
.DIR.lmrbench.json   which instance and track this is, for `collect`; on the user's disk only
```

The container of `agent run` has no git, so `repo/` is plain files there, and TASK.md says so.
"""

import contextlib
import json
import os
import shutil
from pathlib import Path
from typing import NamedTuple

from lmrbench_data.base.configurations import configuration_of
from lmrbench_data.base.errors import InputError
from lmrbench_data.base.files import read_regular, write_atomically
from lmrbench_data.base.git import run_git
from lmrbench_data.base.jsonl import parse_row
from lmrbench_data.base.proportions import CONTRACT
from lmrbench_data.base.templates import environment
from lmrbench_data.dataset.masked import lacks_helpers, other_masked_functions
from lmrbench_data.dataset.rows import DatasetRow, contract_of
from lmrbench_data.loader import File, read_archive, unpack
from lmrbench_data.tasks.environments import versions_in

TASK, PAPER, REPO = "TASK.md", "paper.md", "repo"
_MAX_MARKER_BYTES = 4096


class Marker(NamedTuple):
    """The instance that a workspace was made from."""

    instance_id: str
    track: str
    row_sha256: str


def with_cpu_budget(row: DatasetRow, cpu_s: int) -> DatasetRow:
    """Return a row whose instruction states this CPU budget in place of its own, if any."""
    instruction = row["instruction"]
    budget = f"may take {row.get('cpu_budget_s')} seconds of CPU time."
    new_budget = f"may take {cpu_s} seconds of CPU time."
    if budget in instruction:
        instruction = instruction.replace(budget, new_budget)
    else:
        instruction += f"\n\nAll that runs in the container {new_budget}"
    return {**row, "instruction": instruction}


def workspace_files(
    row: DatasetRow, *, track: str = "paper", has_network: bool = False
) -> dict[str, File]:
    """Return the files of an instance that an agent may see in a container, by path.

    Args:
        track: `paper`, or `contract`: then TASK.md states the contract as well.
        has_network: whether the agent can reach a network; TASK.md then asks not to use it.
    """
    task = task_text(row, track, has_git=False, has_network=has_network)
    files = {TASK: File(task.encode()), PAPER: File(row["paper_text"].encode())}
    for name, file in read_archive(row["repo_archive"]).items():
        files[f"{REPO}/{name}"] = file
    return files


def write_workspace(row: DatasetRow, folder: Path, *, track: str = "paper") -> Path:
    """Write a workspace into a new folder on the user's disk; equal rows give equal folders.

    Raises:
        InputError: the folder has content; nothing is written.
        InfraError: there is no git here, or it fails; nothing is left behind.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: is not an empty folder; name a new one, or remove it")
    new = folder / REPO if folder.exists() else folder
    try:
        _fill(row, folder, track)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    return folder


def _fill(row: DatasetRow, folder: Path, track: str) -> None:
    """Write the contents of a workspace, and its marker last."""
    task = task_text(row, track, has_git=True)
    repo = unpack(row, folder / REPO)
    _commit(repo, f"{row['repo_name']}, {configuration_of(row).masked} masked")
    (folder / TASK).write_bytes(task.encode())
    (folder / PAPER).write_bytes(row["paper_text"].encode())
    marker = Marker(row["instance_id"], track, row["row_sha256"])
    write_atomically(marker_of(folder), json.dumps(marker._asdict()) + "\n")


def _commit(repo: Path, message: str) -> None:
    """Make a git repository with one commit."""
    run_git(repo, "init", "--quiet", "--initial-branch=main", "--template=")
    run_git(repo, "add", "--all", "--force")
    run_git(repo, "commit", "--quiet", "--no-verify", "--message", message)


def task_text(row: DatasetRow, track: str, *, has_git: bool, has_network: bool = False) -> str:
    """Return the text of TASK.md."""
    template = environment(Path(__file__).parent).get_template("task.md.j2")
    return template.render(
        row=row,
        goals=row.get("goals", ()),
        missing_parts=missing_parts(row, f"{REPO}/"),
        contract=contract_of(row) if track == CONTRACT else "",
        versions=versions_in(row["docker_image"]),
        network="Do not use the network." if has_network else "There is no network.",
        has_git=has_git,
    )


def missing_parts(row: DatasetRow, folder: str = "") -> str:
    """Say what else is masked or removed in the repository of a function; empty if nothing is.

    Masked functions are named, because a reader could call them. Removed helpers are not: their
    names would show how the reference is built.

    Args:
        folder: the folder of the repository as the reader sees it, with a slash at the end.
    """
    if configuration_of(row).is_method:
        return ""
    places = []
    for path, names in other_masked_functions(row).items():
        functions = "`, `".join(names)
        places.append(f"`{functions}` in `{folder}{path}`")
    text = ""
    if places:
        text += f" Also masked, because other tasks ask for it: {'; '.join(places)}."
        text += " The reference does not need it."
    if lacks_helpers(row):
        helpers = "Helpers that only the removed code used are gone, too"
        text += f" {helpers}: define those that you need."
    return text


def marker_of(folder: Path) -> Path:
    """Return the path of a workspace's marker, which stands beside it."""
    path = Path(os.path.abspath(folder))
    return path.with_name(f".{path.name}.lmrbench.json")


def read_marker(folder: Path) -> Marker:
    """Read the marker of a workspace; InputError if the folder is not a workspace."""
    path = marker_of(folder)
    facts = None
    with contextlib.suppress(OSError):
        keys = dict.fromkeys(Marker._fields, str)
        facts = parse_row(read_regular(path, _MAX_MARKER_BYTES), keys)
    if facts is None:
        problem = f"{path} is missing or damaged"
        raise InputError(f"{folder}: is not a workspace of `lmrbench agent workspace` ({problem})")
    return Marker(facts["instance_id"], facts["track"], facts["row_sha256"])
