"""Recorded outputs of the references: committed beside each task, like a lock file.

`lmrbench dataset record` makes them, `dataset build` reads them without running anything, and `dataset check` proves
that the references still return them. A recording belongs to the repository, cases, seeds and image it was made from:
after a change to any of these the build refuses it.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..base.archive import tar_bytes
from ..base.errors import InputError
from ..base.files import write_atomically
from ..base.paths import benchmark_option
from ..loader import File
from .task import RECORDED, Implementation, Task

#: What is recorded of a case changes with it: 2 has levels, and constant outputs once.
FORM = b"2"


@dataclass(frozen=True)
class Recording:
    """What a reference returned for each case and seed, and where it ran."""

    cases: Sequence[Mapping[str, Any]]
    """Each case with its comparison, defaults spelled out: the rows' `tests.cases`."""
    outputs: bytes
    """The runner's frames, gzipped (`lmrbench_evaluate/verdict/decode.py` reads them)."""
    image: str
    """Tag of the environment's image."""
    sandbox: str
    cpu: str

    @property
    def sha256(self) -> str:
        """Identity of the outputs."""
        return hashlib.sha256(self.outputs).hexdigest()


def inputs_sha256(task: Task, implementation: Implementation) -> str:
    """Identity of all that a recording is made from: reference, cases, seeds, image."""
    inputs = {
        **{f"repo/{name}": file for name, file in task.golden_repo(implementation).items()},
        "cases.py": File(task.cases(implementation)),
        "seeds": File(json.dumps(implementation.tests.seeds).encode("ascii")),
        "image": File(task.image_tag.encode("ascii")),
        "form": File(FORM),
    }
    return hashlib.sha256(tar_bytes(inputs)).hexdigest()


def read_recording(task: Task, implementation: Implementation) -> Recording:
    """The recording of an instance.

    Raises:
        InputError: missing, damaged, or made from other files than the task has now.
    """
    recording, made_from = _read(task, implementation)
    if made_from != inputs_sha256(task, implementation):
        path = _paths(task, implementation)[0]
        raise InputError(f"{path}: was recorded before the task changed; {_command(task, implementation)}")
    return recording


def last_recording(task: Task, implementation: Implementation) -> Recording | None:
    """The recording that is there, whatever it was made from; None if there is none that can be read."""
    try:
        return _read(task, implementation)[0]
    except InputError:
        return None


def write_recording(task: Task, implementation: Implementation, recording: Recording) -> None:
    """Put a recording in its place, as one that was made from the task as it is now."""
    facts, outputs = _paths(task, implementation)
    stated = {
        "inputs_sha256": inputs_sha256(task, implementation),
        "outputs_sha256": recording.sha256,
        "image": recording.image,
        "sandbox": recording.sandbox,
        "cpu": recording.cpu,
        "cases": [dict(case) for case in recording.cases],
    }
    write_atomically(outputs, recording.outputs)
    write_atomically(facts, json.dumps(stated, indent=1) + "\n")


def _read(task: Task, implementation: Implementation) -> tuple[Recording, str]:
    """(recording, hash of what it was made from)."""
    path, outputs = _paths(task, implementation)
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        place = {name: str(facts[name]) for name in ("image", "sandbox", "cpu")}
        recording = Recording(facts["cases"], outputs.read_bytes(), **place)
        made_from, sha256 = str(facts["inputs_sha256"]), facts["outputs_sha256"]
    except FileNotFoundError:
        raise InputError(f"{path}: missing; {_command(task, implementation)}") from None
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise InputError(f"{path}: damaged ({type(error).__name__}); {_command(task, implementation)}") from error
    if recording.sha256 != sha256:
        raise InputError(f"{outputs}: is not the file that {path.name} names; {_command(task, implementation)}")
    return recording, made_from


def _paths(task: Task, implementation: Implementation) -> tuple[Path, Path]:
    """The file of facts and the file of outputs."""
    folder = task.folder / RECORDED
    return folder / f"{implementation.instance_id}.json", folder / f"{implementation.instance_id}.frames.gz"


def _command(task: Task, implementation: Implementation) -> str:
    option = benchmark_option(task.folder.parent)
    return f"run `lmrbench dataset record {implementation.instance_id}{option}`"
