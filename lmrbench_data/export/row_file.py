"""A row as a file for a container without Arrow: the columns that a verdict needs, and never the reference."""

import base64
import gzip
import json
from typing import Any, cast

from ..base.archive import gzip_bytes
from ..dataset.rows import DatasetRow

#: The columns that `evaluate_repository` reads. A row has those of its configuration.
COLUMNS = (
    "instance_id",
    "repo_archive",
    "goal_file",
    "goal_function",
    "goals",
    "choices",
    "cpu_budget_s",
    "tests",
    "tests_archive",
    "expected",
    "docker_image",
    "row_sha256",
)
_BYTES = "base64"


def row_bytes(row: DatasetRow) -> bytes:
    """Return a row as gzipped JSON; equal rows give equal bytes."""
    kept = {name: value for name, value in row.items() if name in COLUMNS}
    return gzip_bytes(json.dumps(kept, default=_encode, sort_keys=True).encode("ascii"))


def read_row(data: bytes) -> DatasetRow:
    """Return a row from a file that this package wrote."""
    return cast(DatasetRow, json.loads(gzip.decompress(data), object_hook=_decode))


def _encode(value: bytes) -> dict[str, str]:
    return {_BYTES: base64.b64encode(value).decode("ascii")}


def _decode(value: dict[str, Any]) -> Any:
    return base64.b64decode(value[_BYTES]) if value.keys() == {_BYTES} else value
