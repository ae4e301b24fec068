"""An agent's workspace: solve its task, look at its git history, collect the answer from it."""

import subprocess
from pathlib import Path
from typing import Any

from lmrbench.generation.collect import collect_rows

GOAL = "scale.py"


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder / "repo"), "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def solve(folder: Path) -> None:
    """Write the answer into the goal file, as an agent does."""
    path = folder / "repo" / GOAL
    path.write_text(
        path.read_text().replace("    raise NotImplementedError", "    return [factor * v for v in values]")
    )


def collect(row: Any, *folders: Path) -> list[dict[str, Any]]:
    return collect_rows(folders, {row["instance_id"]: row}, model="me", setting="agent")
