"""The result of an export."""

from typing import NamedTuple


class Exported(NamedTuple):
    """The result of an export."""

    instances: list[str]
    written: int
    """The number of instances whose files were new or had changed."""
