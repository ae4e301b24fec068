"""Rows and repositories for agents that read SWE-bench.

```
DIR/
  instances.jsonl           a row per instance, with SWE-bench's columns
  repos/<instance>.bundle   the masked repository as a git bundle with one commit, `base_commit`
```

`lmrbench evaluate` reads their predictions: `instance_id`, `model_name_or_path`, `model_patch`.
"""

import json
import tempfile
from pathlib import Path
from typing import TypedDict

from ..base.errors import InputError
from ..base.git import run_git
from ..base.progress import Progress
from ..dataset.rows import DatasetRow, config_of, contract_of, golden_files_of
from ..generation.changes import Changes
from ..generation.workspace import commit_masked, masked_functions
from ..loader import File, read_archive, write_files
from ..tasks.environments import registry_tag
from .chosen_rows import chosen_rows
from .exported import Exported
from .folders import exported_files, write_folder
from .settings import ExportSettings

INSTANCES, REPOS = "instances.jsonl", "repos"
_ORG = "lmr-bench"
_TO_DO = """Write what is missing. The paper and the repository say what it has to compute and how it is used. Keep
names, signatures and everything else as it is. Hidden tests call the functions and compare what they return."""


class SweBenchRow(TypedDict):
    """A row with SWE-bench's columns, and two of our own."""

    instance_id: str
    repo: str
    base_commit: str
    """The only commit of the bundle."""
    problem_statement: str
    """Instruction, masked functions and the paper."""
    hints_text: str
    """The contract in the track `contract`, else empty."""
    patch: str
    """The reference, as a patch against `base_commit`."""
    test_patch: str
    """Always empty: the hidden cases are not files of the repository."""
    FAIL_TO_PASS: str
    """The core cases with their seeds, as a JSON list."""
    PASS_TO_PASS: str
    """Always an empty JSON list."""
    version: str
    """Version of the benchmark."""
    created_at: str
    """Time of the commit, the same for all rows."""
    environment_setup_commit: str
    image_name: str
    """Image with the libraries. It does not contain the repository."""
    config: str


def export_swebench(settings: ExportSettings, progress: Progress | None = None) -> Exported:
    """Write the rows and their repositories.

    Raises:
        ArgumentError: see `chosen_rows`.
        InputError: the folder exists and is not an earlier export, or has instances that are not chosen now.
        LoadError: there is no such dataset.
        InfraError: git is missing.
    """
    progress = progress or Progress()
    rows, lines = chosen_rows(settings), []
    _keep_others(settings.out, {_bundle(row) for row in rows})
    files: dict[str, File] = {}
    progress.start(len(rows))
    for row in rows:
        exported, bundle = swebench_row(row, track=settings.track)
        lines.append(json.dumps(exported, ensure_ascii=False) + "\n")
        files[_bundle(row)] = File(bundle)
        progress.step(config_of(row))
    is_new = write_folder(settings.out, {INSTANCES: File("".join(lines).encode()), **files})
    return Exported([row["instance_id"] for row in rows], len(rows) if is_new else 0)


def _bundle(row: DatasetRow) -> str:
    return f"{REPOS}/{row['instance_id']}.bundle"


def _keep_others(folder: Path, bundles: set[str]) -> None:
    """Refuse to replace an export of more instances: the new one would remove them."""
    others = [name for name in exported_files(folder) if name.startswith(REPOS) and name not in bundles]
    if others:
        instance = Path(others[0]).stem
        raise InputError(
            f"{folder}: contains other instances ({len(others)}, such as {instance}); give a new folder, or remove it"
        )


def swebench_row(row: DatasetRow, *, track: str = "paper") -> tuple[SweBenchRow, bytes]:
    """Return a row for SWE-bench's readers, and the bundle of its repository."""
    masked = read_archive(row["repo_archive"])
    with tempfile.TemporaryDirectory(prefix="lmrbench-export-") as place:
        repo = Path(place) / "repo"
        write_files(masked, repo)
        commit_masked(repo, row)
        commit, _, created = run_git(repo, "log", "-1", "--format=%H %cI").decode().strip().partition(" ")
        # With several threads, the order of a pack may differ from run to run.
        bundle = run_git(repo, "-c", "pack.threads=1", "bundle", "create", "--quiet", "-", "HEAD", "main")
    tests = row["tests"]
    core = [
        f"case_{case['name']}[{seed}]"
        for case in tests["cases"]
        if case["core"]
        for seed in (tests["seeds"] if case["varies"] else tests["seeds"][:1])
    ]
    return {
        "instance_id": row["instance_id"],
        "repo": f"{_ORG}/{row['repo_name']}",
        "base_commit": commit,
        "problem_statement": _statement(row),
        "hints_text": contract_of(row) if track == "contract" else "",
        "patch": _reference_patch(row),
        "test_patch": "",
        "FAIL_TO_PASS": json.dumps(core),
        "PASS_TO_PASS": "[]",
        "version": row["benchmark_version"],
        "created_at": created,
        "environment_setup_commit": commit,
        "image_name": registry_tag(row["docker_image"]),
        "config": config_of(row),
    }, bundle


def _statement(row: DatasetRow) -> str:
    """Return the whole text for the model; it finds the rest in the repository."""
    parts = [row["instruction"].strip(), masked_functions(row), _TO_DO, f"# The paper\n\n{row['paper_text'].strip()}"]
    return "\n\n".join(parts) + "\n"


def _reference_patch(row: DatasetRow) -> str:
    masked = read_archive(row["repo_archive"])
    changes = Changes(masked)
    golden = {name: masked[name]._replace(data=text.encode()) for name, text in golden_files_of(row).items()}
    for name, file in (masked | golden).items():
        changes.add_file(name, len(file.data), file.executable, lambda data=file.data: data)  # type: ignore[misc]
    return changes.patch()
