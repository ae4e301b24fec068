"""benchmark/proved.json: what a whole `dataset check` in Docker has proved, by the content of all that it looks at.

`make test` checks only what has changed since; `make test-all` and the nightly run check everything.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ...build import build_rows
from ...errors import InputError
from ...files import write_atomically
from ...tasks import Implementation, Task
from ..runner import runner_sha256
from .check import VARIANTS

FILE = "proved.json"


def proofs(task: Task) -> Iterator[tuple[str, str]]:
    """(instance id, hash of its row, its recorded outputs, its variants and the runner's code) of a task's instances.

    Raises:
        InputError: a recording is missing or older than the task.
    """
    rows = {row["instance_id"]: row for row in build_rows([task])}
    for item in task.implementations:
        row = rows[item.instance_id]
        digest = hashlib.sha256(f"{row['row_sha256']} {row['recording']['sha256']} {runner_sha256()}\n".encode())
        for path in _variants(task, item):
            digest.update(f"{path.parent.name}/{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
        yield item.instance_id, digest.hexdigest()


def unproved(tasks: Sequence[Task]) -> list[str]:
    """The instances that have changed since they were proved, or never were."""
    found = []
    for task in tasks:
        known = _read(task.folder.parent)
        try:
            found += [instance for instance, proof in proofs(task) if known.get(instance) != proof]
        except InputError:  # the check says what is wrong with its recordings
            found += [item.instance_id for item in task.implementations]
    return found


def write_proofs(tasks: Sequence[Task], benchmark: Path) -> Path:
    """Note that these tasks are proved as they are; other entries stay. Returns the file.

    Raises:
        InputError: a recording is missing or older than its task.
    """
    known = {**_read(benchmark), **{instance: proof for task in tasks for instance, proof in proofs(task)}}
    write_atomically(benchmark / FILE, json.dumps(dict(sorted(known.items())), indent=1) + "\n")
    return benchmark / FILE


def _variants(task: Task, implementation: Implementation) -> list[Path]:
    return [path for kind in VARIANTS for path in task.variants(implementation, kind)]


def _read(benchmark: Path) -> Mapping[str, str]:
    """Instance id → proof; a file that cannot be read proves nothing."""
    try:
        content = json.loads((benchmark / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
