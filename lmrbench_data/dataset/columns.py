"""The dataset's columns: Arrow types and descriptions, from the annotations of `DatasetRow`."""

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
        if typing.get_origin(hint) is typing.NotRequired:
            [hint] = typing.get_args(hint)
        if hasattr(hint, "__metadata__"):
            kind, *facts = typing.get_args(hint)
            yield Column(name, kind, *facts)
        else:
            yield Column(name, hint, "")


def schema(config: str = FUNCTION, row: type = DatasetRow) -> "pyarrow.Schema":
    """Return the Arrow schema of a configuration, or of other rows."""
    import pyarrow as pa

    fields = []
    for column in columns(row):
        if config in column.configs:
            fields.append((column.name, _arrow(column.kind, config)))
    return pa.schema(fields)


def _arrow(kind: Any, config: str) -> "pyarrow.DataType":
    """Return the Arrow type of a Python type."""
    import pyarrow as pa

    if isinstance(kind, types.UnionType):  # a value or None
        kind = typing.get_args(kind)[0]
    if typing.get_origin(kind) is list:
        [item] = typing.get_args(kind)
        return pa.list_(_arrow(item, config))
    if kind in ARROW_NAMES:
        return pa.type_for_alias(ARROW_NAMES[kind])
    return pa.struct(schema(config, kind))
