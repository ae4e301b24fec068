"""Remember which rows `dataset check` has proved in Docker, so that nothing else is published.

A record belongs to the content of a row, expected outputs included: whatever changes needs a new check.
"""

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .paths import cache_folder
from .version import __version__


def record_checked(rows: Sequence[Mapping[str, Any]], sandbox: str) -> None:
    """Note that every probe of these rows came out as it should in this sandbox."""
    for row in rows:
        path = _path(row, sandbox)
        path.parent.mkdir(parents=True, exist_ok=True)
        fact = {"instance_id": row["instance_id"], "harness": __version__}
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
            file.write(json.dumps(fact) + "\n")
        os.replace(file.name, path)


def unchecked(rows: Sequence[Mapping[str, Any]], sandbox: str = "docker") -> list[str]:
    """Instance ids of the rows that nobody has proved in this sandbox on this machine."""
    return [str(row["instance_id"]) for row in rows if not _path(row, sandbox).is_file()]


def _path(row: Mapping[str, Any], sandbox: str) -> Path:
    return cache_folder() / "checked" / sandbox / f"{row['row_sha256']}.json"
