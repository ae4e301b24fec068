"""Recorded outputs of the references, committed beside each task like a lock file.

`lmrbench dataset record` writes them, `dataset build` reads them without running anything, and
`dataset check` proves that the references still return them. A recording belongs to a repository,
cases, seeds and image; after a change to any of these the build refuses it.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..base.archive import tar_bytes
from ..base.errors import InputError
from ..base.files import write_atomically
from ..base.paths import benchmark_option
from ..base.text import join_names
from ..loader import FUNCTION, File
from .experiments import Tables
from .task import RECORDED, Instance, Task

#: Version of the format: 2 has levels, and constant outputs once.
FORM = "2"
#: Characters of the hash of a file that a message may name.
_SHORT_HASH = 12


@dataclass(frozen=True)
class Recording:
    """The outputs of a reference for each case and seed, and the machine that it ran on."""

    cases: Sequence[Mapping[str, Any]]
    """Cases with their comparisons, defaults included: the rows' `tests.cases`."""
    outputs: bytes
    """The runner's frames, gzipped (`lmrbench_evaluate/verdict/decode.py` reads them)."""
    image: str
    """Tag of the environment's image."""
    sandbox: str
    cpu: str
    tables: Tables = field(default_factory=dict)
    """Results of the experiments of an underspecified instance."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Hash of each file of the inputs; empty in recordings of earlier versions."""
    inputs: str = ""
    """Hash of all inputs, in a recording that was read."""

    @property
    def sha256(self) -> str:
        """Hash of the outputs."""
        return hashlib.sha256(self.outputs).hexdigest()


def inputs_sha256(task: Task, instance: Instance) -> str:
    """Hash the inputs of a recording: reference, cases, seeds, image."""
    facts = {"seeds": json.dumps(instance.tests.seeds), "image": task.image_tag, "form": FORM}
    files = _files(task, instance)
    files.update((name, File(text.encode("ascii"))) for name, text in facts.items())
    return hashlib.sha256(tar_bytes(files)).hexdigest()


def _files(task: Task, instance: Instance) -> dict[str, File]:
    files = {f"repo/{name}": file for name, file in task.golden_repo(instance).items()}
    files["cases.py"] = File(task.cases(instance))
    return files


def _file_hashes(task: Task, instance: Instance) -> dict[str, str]:
    hashes = {}
    for name, file in _files(task, instance).items():
        content = bytes([file.executable]) + file.data
        hashes[name] = hashlib.sha256(content).hexdigest()[:_SHORT_HASH]
    return hashes


def _changed_inputs(task: Task, instance: Instance, recording: Recording) -> str:
    """Name the inputs that differ from the recorded ones, as far as the recording tells."""
    if recording.image != task.image_tag:
        return "the environment"
    if not recording.files:
        return "files of repo/, the cases or the seeds"
    present = _file_hashes(task, instance)
    changed = []
    for name in sorted({*recording.files, *present}):
        if name not in present:
            changed.append(f"{name} (missing)")
        elif recording.files.get(name) != present[name]:
            changed.append(name)
    return join_names(changed) or "the seeds"


def read_recording(task: Task, instance: Instance) -> Recording:
    """Read the recording of an instance."""
    recording = _read(task, instance)
    if recording.inputs != inputs_sha256(task, instance):
        path, _ = _paths(task, instance)
        changed = _changed_inputs(task, instance, recording)
        restore = "restore what you did not change yourself (a clone lacks files that git ignores)"
        raise InputError(
            f"{path}: changed since it was recorded: {changed}; {restore}, or else "
            f"{_command(task, instance)}"
        )
    return recording


def last_recording(task: Task, instance: Instance) -> Recording | None:
    """Read a recording even if it is out of date; None if it is missing or damaged."""
    try:
        return _read(task, instance)
    except InputError:
        return None


def write_recording(task: Task, instance: Instance, recording: Recording) -> None:
    """Write a recording beside its task, as one of the task's present inputs."""
    stated = {
        "inputs_sha256": inputs_sha256(task, instance),
        "outputs_sha256": recording.sha256,
        "image": recording.image,
        "sandbox": recording.sandbox,
        "cpu": recording.cpu,
        "files": _file_hashes(task, instance),
        "cases": recording.cases,
    }
    if recording.tables:
        stated["tables"] = recording.tables
    facts, outputs = _paths(task, instance)
    write_atomically(outputs, recording.outputs)
    write_atomically(facts, json.dumps(stated, indent=1) + "\n")


def _read(task: Task, instance: Instance) -> Recording:
    path, outputs = _paths(task, instance)
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        recording = Recording(
            cases=facts["cases"],
            outputs=outputs.read_bytes(),
            image=facts["image"],
            sandbox=facts["sandbox"],
            cpu=facts["cpu"],
            tables=facts.get("tables", {}),
            files=facts.get("files", {}),
            inputs=facts["inputs_sha256"],
        )
        is_whole = recording.sha256 == facts["outputs_sha256"]
    except FileNotFoundError:
        raise InputError(f"{path}: missing; {_command(task, instance)}") from None
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise InputError(
            f"{path}: damaged ({type(error).__name__}); {_command(task, instance)}"
        ) from error
    if not is_whole:
        raise InputError(f"{outputs}: does not match {path.name}; {_command(task, instance)}")
    return recording


def _paths(task: Task, instance: Instance) -> tuple[Path, Path]:
    """Return the file of facts and the file of outputs."""
    folder = task.folder / RECORDED
    return folder / f"{instance.instance_id}.json", folder / f"{instance.instance_id}.frames.gz"


def _command(task: Task, instance: Instance) -> str:
    config = "" if instance.config == FUNCTION else f" --config {instance.config}"
    option = benchmark_option(task.folder.parent)
    return f"run `lmrbench dataset record {task.name}{config}{option}`"
