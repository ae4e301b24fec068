"""The dataset's columns: Arrow types and descriptions, read from the annotations of `DatasetRow`."""

import types
import typing
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..loader import CONFIGS, FUNCTION
from .rows import DatasetRow

if TYPE_CHECKING:
    import pyarrow


#: Names of Arrow's types.
ARROW_NAMES = {str: "string", int: "int64", float: "double", bool: "bool", bytes: "binary"}


class Column(NamedTuple):
    """A column, or a field of a struct in one."""

    name: str
    kind: Any
    """Its Python type; a struct is a `TypedDict`."""
    description: str
    configs: Sequence[str] = CONFIGS
    """The configurations that have it."""


def columns(row: type = DatasetRow) -> Iterator[Column]:
    """Yield the columns of a row, or the fields of a struct, in order."""
    for name, hint in typing.get_type_hints(row, include_extras=True).items():
        annotated = (
            typing.get_args(hint)[0] if typing.get_origin(hint) is typing.NotRequired else hint
        )
        parts = (
            typing.get_args(annotated) if hasattr(annotated, "__metadata__") else (annotated, "")
        )
        kind, description, *configs = parts
        yield Column(name, kind, description, *configs)


def schema(config: str = FUNCTION, row: type = DatasetRow) -> "pyarrow.Schema":
    """Return the Arrow schema of a configuration, or of other rows."""
    import pyarrow as pa

    def arrow(kind: Any) -> Any:
        if isinstance(kind, types.UnionType):  # a value or None
            kind = typing.get_args(kind)[0]
        if typing.get_origin(kind) is list:
            return pa.list_(arrow(typing.get_args(kind)[0]))
        return (
            pa.type_for_alias(ARROW_NAMES[kind]) if kind in ARROW_NAMES else pa.struct(fields(kind))
        )

    def fields(row: type) -> list[tuple[str, Any]]:
        shown = [column for column in columns(row) if config in column.configs]
        return [(column.name, arrow(column.kind)) for column in shown]

    return pa.schema(fields(row))
