"""Proofs in proved.json, beside the tasks: a hash of all that a passed check in Docker read.

`dataset check` and `make test` check only instances that have changed since, and `dataset push`
takes no others. A change of any byte that the check read of the task needs a new check. The harness
is not part of it: after a change of how answers run, `tests/compare_isolations.py` shows that every
trial of every task still gets its verdict.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from lmrbench_data.base.archive import matching
from lmrbench_data.base.errors import InputError
from lmrbench_data.base.files import write_atomically
from lmrbench_data.dataset.build import build_rows
from lmrbench_data.dataset.rows import DatasetRow, content_sha256
from lmrbench_data.tasks.choices import FOLDER as CHOICES
from lmrbench_data.tasks.task import Instance, Task

FILE = "proved.json"


def proofs(task: Task, rows: Sequence[DatasetRow] = ()) -> dict[str, str]:
    """Return the proof of each instance of a task, whose rows may be built already.

    Raises:
        InputError: a recording is missing or older than the task.
    """
    by_id = {row["instance_id"]: row for row in rows or build_rows([task])}
    return {
        item.instance_id: proof_of(task, item, by_id[item.instance_id]) for item in task.instances
    }


def unproved(tasks: Sequence[Task], rows: Sequence[DatasetRow] = ()) -> list[str]:
    """Return the instances without a valid proof."""
    names = []
    for task in tasks:
        valid = read_proofs(task.folder.parent)
        try:
            present = proofs(task, rows)
            names += [name for name, proof in present.items() if valid.get(name) != proof]
        except InputError:  # `dataset check` reports faulty recordings
            names += [item.instance_id for item in task.instances]
    return names


def read_proofs(benchmark: Path) -> Mapping[str, str]:
    """Return the proofs by instance id; none if the file is unreadable."""
    try:
        content = json.loads((benchmark / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def write_proofs(benchmark: Path, new: Mapping[str, str]) -> None:
    """Write the proofs of these instances; those of others stay."""
    every = {**read_proofs(benchmark), **new}
    write_atomically(benchmark / FILE, json.dumps(dict(sorted(every.items())), indent=1) + "\n")


def proof_of(task: Task, item: Instance, row: DatasetRow) -> str:
    """Return the hash of everything that a check of one instance reads: row, recording, variants.

    The benchmark's version is not part of it. The demo command is, through README.md in the row
    (`tasks lint` requires it there).
    """
    digest = hashlib.sha256(f"{content_sha256(row)}\n".encode())
    if item.configuration.is_altered:
        for path in matching(task.folder / CHOICES, "**/*.py"):
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    for kind in item.configuration.variants:
        for variant in task.variants(item, kind):
            for file in matching(variant, "**/*.py") if variant.is_dir() else [variant]:
                name = file.relative_to(variant.parent.parent).as_posix()
                sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
                digest.update(f"{name} {sha256}\n".encode())
    return digest.hexdigest()
