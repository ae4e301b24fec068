"""Refuse methods, for tools that work on one goal function per instance."""

from collections.abc import Iterable

from ..base.errors import InputError
from .rows import DatasetRow, is_method


def only_functions(rows: Iterable[DatasetRow], tool: str) -> None:
    """Check that rows have one goal function each.

    Args:
        tool: the tool that needs it, as the subject of the message.

    Raises:
        InputError: a row is a method.
    """
    if method := next((row["instance_id"] for row in rows if is_method(row)), ""):
        raise InputError(f"{method}: a method; {tool} needs instances with one goal function (configuration function)")
