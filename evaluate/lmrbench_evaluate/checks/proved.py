"""Proofs in benchmark/proved.json: for each instance a hash of everything that a passed `dataset check` in Docker read.

`make test` checks only instances that have changed since; `make test-all` and the nightly run check all. `dataset push`
accepts the proofs of any machine. A change of any byte that the check read needs a new check.
"""

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.files import write_atomically
from lmrbench_data.base.paths import has_variants
from lmrbench_data.base.problems import Problem, Severity
from lmrbench_data.dataset.build import build_rows
from lmrbench_data.dataset.check_records import content_sha256, unchecked
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.tasks.choices import FOLDER as CHOICES
from lmrbench_data.tasks.task import Altered, Instance, Task

from ..runner import runner_sha256
from .trials import Finding

#: Folders of an instance's variants.
KINDS = ("valid", "plain", "careless", "wrong")
FILE = "proved.json"


def proofs(task: Task) -> Iterator[tuple[DatasetRow, str]]:
    """Yield the row and the proof of each instance of a task.

    Raises:
        InputError: a recording is missing or older than the task.
    """
    rows = {row["instance_id"]: row for row in build_rows([task])}
    for item in task.instances:
        yield rows[item.instance_id], proof_of(task, item, rows[item.instance_id])


def unproved(tasks: Sequence[Task]) -> list[str]:
    """Return the instances without a valid proof."""
    found = []
    for task in tasks:
        known = _read(task.folder.parent)
        try:
            found += [row["instance_id"] for row, proof in proofs(task) if known.get(row["instance_id"]) != proof]
        except InputError:  # `dataset check` reports faulty recordings
            found += [item.instance_id for item in task.instances]
    return found


def unproved_rows(rows: Sequence[DatasetRow], tasks: Sequence[Task], fix: str) -> list[Problem]:
    """Return a warning for each instance of a build with a proof neither on this machine nor in `proved.json`.

    Tasks of an installed package give none: a proof covers variants, which a wheel does not have.

    Args:
        fix: command that proves it.
    """
    tasks = [task for task in tasks if has_variants(task.folder.parent)]
    missing = set(unchecked(rows))
    instances = [instance for instance in (unproved(tasks) if missing else ()) if instance in missing]
    return [Problem(name, "", f"not proved in Docker; run `{fix}`", Severity.WARNING) for name in instances]


def sound_tasks(tasks: Sequence[Task], findings: Sequence[Finding]) -> list[Task]:
    """Return the tasks without an error in any instance or in the repository."""
    bad = {finding.subject for finding in findings if finding.is_error}
    return [
        task for task in tasks if bad.isdisjoint({f"{task.name}/repo", *(item.instance_id for item in task.instances)})
    ]


def proved_contents(tasks: Sequence[Task]) -> set[str]:
    """Return the content hashes of the rows of these tasks with a valid proof."""
    found = set()
    for task in tasks:
        known = _read(task.folder.parent)
        with contextlib.suppress(InputError):  # a faulty recording proves nothing
            found |= {content_sha256(row) for row, proof in proofs(task) if known.get(row["instance_id"]) == proof}
    return found


def write_proofs(tasks: Sequence[Task], benchmark: Path) -> Path:
    """Write the proofs of these tasks, keep those of others, and return the file.

    Raises:
        InputError: a recording is missing or older than its task.
    """
    known = {**_read(benchmark), **{row["instance_id"]: proof for task in tasks for row, proof in proofs(task)}}
    write_atomically(benchmark / FILE, json.dumps(dict(sorted(known.items())), indent=1) + "\n")
    return benchmark / FILE


def proof_of(task: Task, item: Instance, row: DatasetRow) -> str:
    """Return the hash of everything that a check of one instance reads: row, recording, variants, the runner's code.

    The benchmark's version is not part of it. The demo command is, through README.md in the row (`tasks lint`
    requires it there).
    """
    digest = hashlib.sha256(f"{content_sha256(row)} {runner_sha256()}\n".encode())
    if isinstance(item, Altered):
        for path in sorted((task.folder / CHOICES).rglob("*.py")):
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    for path in _variants(task, item):
        name = f"{path.parent.name}/{path.name}"
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            inner = f"/{file.relative_to(path).as_posix()}" if file != path else ""
            digest.update(f"{name}{inner} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def _variants(task: Task, instance: Instance) -> list[Path]:
    return [path for kind in KINDS for path in task.variants(instance, kind)]


def _read(benchmark: Path) -> Mapping[str, str]:
    """Read the proofs by instance id; none if the file is unreadable."""
    try:
        content = json.loads((benchmark / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
