"""Instances as a model sees them."""

from pathlib import Path
from typing import Any

from .task_folders import load_tasks


def view_instances(name: str, track: str, benchmark: Path | None = None) -> list[dict[str, Any]]:
    """Return the instance of this id, or all instances of the task folder of this name.

    Raises:
        InputError: the name is unknown, or the task is malformed.
    """
    return [
        {
            "instance_id": item.instance_id,
            "category": item.category,
            "paper": dict(task.paper),
            "instruction": item.instruction,
            **({"contract": item.contract} if track == "contract" else {}),
            "paper_text": task.paper_text,
            "goal_file": item.goal_file,
            "goal_function": item.goal_function,
            "context_files": list(item.context_files),
            "repository": sorted(task.repo),
            "masked_goal_file": task.masked_repo(item)[item.goal_file].data.decode("utf-8"),
        }
        for task in load_tasks([name], benchmark)
        for item in task.implementations
        if name in (item.instance_id, task.name)
    ]
