"""benchmark/proved.json: what a whole `dataset check` in Docker has proved, by the content of all that it looks at.

`make test` checks only what has changed since; `make test-all` and the nightly run check everything. `dataset push`
takes its word, whichever machine proved it: a change of any byte that was looked at needs a new check.
"""

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.files import write_atomically
from lmrbench_data.dataset.build import build_rows
from lmrbench_data.dataset.proofs import content_sha256, unchecked
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.tasks.task import Implementation, Task

from ..runner import runner_sha256
from .trials import Finding

#: Folders of variants of an instance.
KINDS = ("valid", "plain", "careless", "wrong")
FILE = "proved.json"


def proofs(task: Task) -> Iterator[tuple[DatasetRow, str]]:
    """(row, hash of the row, its recorded outputs, its variants and the runner's code) of a task's instances.

    Raises:
        InputError: a recording is missing or older than the task.
    """
    rows = {row["instance_id"]: row for row in build_rows([task])}
    for item in task.implementations:
        yield rows[item.instance_id], proof_of(task, item, rows[item.instance_id])


def unproved(tasks: Sequence[Task]) -> list[str]:
    """The instances that have changed since they were proved, or never were."""
    found = []
    for task in tasks:
        known = _read(task.folder.parent)
        try:
            found += [row["instance_id"] for row, proof in proofs(task) if known.get(row["instance_id"]) != proof]
        except InputError:  # the check says what is wrong with its recordings
            found += [item.instance_id for item in task.implementations]
    return found


def unproved_rows(rows: Sequence[DatasetRow], tasks: Sequence[Task]) -> list[str]:
    """The instances of a build that were proved neither on this machine nor in `proved.json`."""
    missing = set(unchecked(rows))
    return [instance for instance in (unproved(tasks) if missing else ()) if instance in missing]


def sound_tasks(tasks: Sequence[Task], findings: Sequence[Finding]) -> list[Task]:
    """The tasks of which no instance and no repository has a bad finding."""
    bad = {finding.instance_id for finding in findings if not finding.ok}
    return [
        task
        for task in tasks
        if bad.isdisjoint({f"{task.name}/repo", *(item.instance_id for item in task.implementations)})
    ]


def proved_contents(tasks: Sequence[Task]) -> set[str]:
    """The content hashes of the rows, built from these tasks as they are now, that some machine has proved."""
    found = set()
    for task in tasks:
        known = _read(task.folder.parent)
        with contextlib.suppress(InputError):  # a recording that is not in order proves nothing
            found |= {content_sha256(row) for row, proof in proofs(task) if known.get(row["instance_id"]) == proof}
    return found


def write_proofs(tasks: Sequence[Task], benchmark: Path) -> Path:
    """Note that these tasks are proved as they are; other entries stay. Returns the file.

    Raises:
        InputError: a recording is missing or older than its task.
    """
    known = {**_read(benchmark), **{row["instance_id"]: proof for task in tasks for row, proof in proofs(task)}}
    write_atomically(benchmark / FILE, json.dumps(dict(sorted(known.items())), indent=1) + "\n")
    return benchmark / FILE


def proof_of(task: Task, item: Implementation, row: DatasetRow) -> str:
    """The hash of all that a check of one instance looks at; the number of the version is not among it.

    The demo command is there by way of README.md, which names it (`tasks lint` sees to that) and is in the row.
    """
    digest = hashlib.sha256(f"{content_sha256(row)} {runner_sha256()}\n".encode())
    for path in _variants(task, item):
        digest.update(f"{path.parent.name}/{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def _variants(task: Task, implementation: Implementation) -> list[Path]:
    return [path for kind in KINDS for path in task.variants(implementation, kind)]


def _read(benchmark: Path) -> Mapping[str, str]:
    """Instance id → proof; a file that cannot be read proves nothing."""
    try:
        content = json.loads((benchmark / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
