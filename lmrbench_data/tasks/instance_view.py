"""Instances as a model sees them."""

from pathlib import Path
from typing import Any

from ..base.errors import InputError
from ..loader import CONFIGS
from .recordings import last_recording
from .task import Implementation, Instance, Task
from .task_folders import load_tasks


def view_instances(name: str, track: str, benchmark: Path | None = None) -> list[dict[str, Any]]:
    """Return the instance of this id, or all instances of the task folder of this name, whatever their configuration.

    Raises:
        InputError: the name is unknown, or the task is malformed.
    """
    found: list[dict[str, Any]] = []
    unknown: InputError | None = None
    for config in CONFIGS:
        try:
            tasks = load_tasks([name], benchmark, config)
        except InputError as error:
            unknown = unknown or error
            continue
        found += [_view(task, item, track) for task in tasks for item in task.instances]
    if unknown and not found:
        raise unknown
    return found


def _view(task: Task, item: Instance, track: str) -> dict[str, Any]:
    masked, recording = task.masked_repo(item), last_recording(task, item)
    return {
        "instance_id": item.instance_id,
        "category": item.category,
        "paper": dict(task.paper),
        "instruction": task.instruction_of(item),
        **({"contract": item.contract} if track == "contract" and isinstance(item, Implementation) else {}),
        "paper_text": task.paper_of(item, recording.tables if recording else None),
        "goals": {name: list(functions) for name, functions in item.goals.items()},
        "context_files": list(item.context_files),
        "repository": sorted(masked),
        "masked_files": {name: masked[name].data.decode("utf-8") for name in item.goals},
    }
