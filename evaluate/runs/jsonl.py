"""Check the rows of the files that a run appends to: a kill may cut the last one short, a hand may damage any."""

import json
from collections.abc import Mapping
from typing import Any


def parse_row(line: bytes, keys: Mapping[str, Any]) -> dict[str, Any] | None:
    """A whole line's JSON object that has the keys, with these types; None for anything else."""
    if not line.endswith(b"\n"):
        return None
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if wrong_key(row, keys) is None else None


def wrong_key(value: Any, keys: Mapping[str, Any]) -> str | None:
    """The first of the keys that `value` lacks or has with another type."""
    if not isinstance(value, dict):
        return "no JSON object"
    return next((name for name, kind in keys.items() if not isinstance(value.get(name), kind)), None)
