"""Turn the outputs of a case into bytes: one line of JSON (the tree), then the arrays as `.npy`.

This file runs inside the sandbox, in the process of the tested code. It decides nothing;
`verdict/decode.py` reads its bytes outside and trusts none of them. Node forms of the tree:

    null true false "text"            {"int": "7"}  {"float": hex}  {"complex": [hex, hex]}
    {"bytes": base64}                 {"list": [...]}  {"tuple": [...]}  {"set": [...]}
    {"dict": [[key, value], ...]}     {"tensor": i, "dtype": "float32"}  {"array": i}
    {"objects": [...], "shape": [...]}                a NumPy array of Python objects
    {"series": {"name", "index", "values", "dtype"}}
    {"frame": {"columns": [...], "index", "series": [...]}}

where i is an index into the .npy files.
"""

import base64
import functools
import io
import json
import sys
from collections.abc import Iterable
from typing import Any

MAX_DEPTH = 40
#: NumPy's extended precision, which differs between processors → the type that stands for it.
EXTENDED = {"g": "<f8", "G": "<c16"}
Node = dict[str, Any]


class UnsupportedOutputError(TypeError):
    """A case returned something that is neither data nor a container of data."""


def encode(value: Any) -> bytes:
    """Return a nested value as bytes.

    Raises:
        UnsupportedOutputError: an object of another type, or nesting deeper than MAX_DEPTH.
    """
    encoder = _Encoder()
    tree = encoder.node(value)
    sizes = [len(array) for array in encoder.arrays]
    header = json.dumps({"tree": tree, "arrays": sizes})
    return header.encode("ascii") + b"\n" + b"".join(encoder.arrays)


class _Encoder:
    """Makes the nodes of a value; calls base classes' methods, so overridden ones do not count."""

    def __init__(self) -> None:
        self.arrays: list[bytes] = []
        self._depth = 0
        self._numpy = sys.modules.get("numpy")
        self._torch = sys.modules.get("torch")
        self._pandas = sys.modules.get("pandas")

    def node(self, value: Any) -> Any:
        """Return the node of a value."""
        if self._depth > MAX_DEPTH:
            raise UnsupportedOutputError(f"output nested deeper than {MAX_DEPTH}")
        if self._numpy and isinstance(value, self._numpy.generic):
            value = _without_numpy(self._numpy, value)
        if value is None or value is True or value is False:
            return value
        if isinstance(value, str):
            return str.__str__(value)
        self._depth += 1
        node = _number(value) or self._container(value) or self._of_library(value)
        self._depth -= 1
        if node is None:
            kind = type(value)
            raise UnsupportedOutputError(f"output of type {kind.__module__}.{kind.__qualname__}")
        return node

    def _nodes(self, values: Iterable[Any]) -> list[Any]:
        return [self.node(value) for value in values]

    def _container(self, value: Any) -> Node | None:
        if isinstance(value, (bytes, bytearray)):
            return {"bytes": base64.b64encode(bytes(value)).decode("ascii")}
        if isinstance(value, list):
            return {"list": self._nodes(list.__iter__(value))}
        if isinstance(value, tuple):
            return {"tuple": self._nodes(tuple.__iter__(value))}
        if isinstance(value, (set, frozenset)):
            return {"set": sorted(self._nodes(value), key=json.dumps)}
        if isinstance(value, dict):
            return {"dict": [self._nodes(pair) for pair in dict.items(value)]}
        return None

    def _of_library(self, value: Any) -> Node | None:
        if self._torch and isinstance(value, self._torch.Tensor):
            return self._tensor(self._torch, value)
        if self._numpy and isinstance(value, self._numpy.ndarray):
            return self._array(self._numpy, value)
        if self._pandas and isinstance(value, self._pandas.DataFrame):
            return self._frame(value)
        if self._pandas and isinstance(value, self._pandas.Series):
            return self._series(value)
        return None

    def _tensor(self, torch: Any, value: Any) -> Node:
        if value.layout != torch.strided:
            raise UnsupportedOutputError(f"tensor with layout {value.layout}; return a dense one")
        if value.is_nested:
            raise UnsupportedOutputError("nested tensor; return .unbind()")
        plain = value.detach().cpu().resolve_conj().resolve_neg().contiguous()
        if plain.dtype == torch.bfloat16:  # unknown to NumPy: the raw 16 bits
            plain = plain.view(torch.int16)
        dtype = str(value.dtype).removeprefix("torch.")
        try:
            array = plain.numpy()
        except TypeError:
            fix = "return .float(), .dequantize() or, for complex numbers, .to(torch.complex64)"
            raise UnsupportedOutputError(f"tensor of dtype {value.dtype}; {fix}") from None
        return {"tensor": self._add(array), "dtype": dtype}

    def _array(self, numpy: Any, value: Any) -> Node:
        if isinstance(value, numpy.ma.MaskedArray):
            raise UnsupportedOutputError("masked array; return .filled(x) and its mask")
        if value.dtype == object:
            items = self._nodes(value.ravel().tolist())
            return {"objects": items, "shape": list(value.shape)}
        if value.dtype.hasobject or value.dtype.kind == "V":
            raise UnsupportedOutputError(f"array of dtype {value.dtype}")
        return {"array": self._add(numpy.asarray(value))}

    def _add(self, array: Any) -> int:
        """Add an array to the stream; return its index."""
        self.arrays.append(_npy(array))
        return len(self.arrays) - 1

    def _frame(self, value: Any) -> Node:
        columns = self._part("column names", value.columns.dtype, list(value.columns))
        index = self._index(value)
        series = [self._series(value.iloc[:, i]) for i in range(value.shape[1])]
        return {"frame": {"columns": columns, "index": index, "series": series}}

    def _series(self, value: Any) -> Node:
        parts = {
            "name": self._part("name", type(value.name).__name__, value.name),
            "index": self._index(value),
            "values": self._part(f"column {value.name!r}", value.dtype, value.to_numpy()),
            "dtype": str(value.dtype),
        }
        return {"series": parts}

    def _index(self, value: Any) -> Any:
        return self._part("index", value.index.dtype, value.index.to_numpy())

    def _part(self, place: str, dtype: Any, value: Any) -> Any:
        """Return the node of a part of a frame or series; an error names it."""
        try:
            return self.node(value)
        except UnsupportedOutputError as error:
            raise UnsupportedOutputError(
                f"{place} of dtype {dtype}: {error}; return numbers, text (.astype(str)) or, "
                "for times, UTC without a zone (.tz_convert(None))"
            ) from None


def _without_numpy(numpy: Any, value: Any) -> Any:
    """Return a NumPy scalar as an object of Python or, if there is none for it, as an array."""
    if isinstance(value, numpy.void):
        return value
    if isinstance(value, (numpy.datetime64, numpy.timedelta64)):  # `item` would lose their unit
        return numpy.asarray(value)
    if isinstance(value, (numpy.longdouble, numpy.clongdouble)):  # `item` would return them
        value = numpy.generic.astype(value, EXTENDED[value.dtype.char])
    return numpy.generic.item(value)


def _number(value: Any) -> Node | None:
    if isinstance(value, int):
        return {"int": int.__repr__(value)}
    if isinstance(value, float):
        return {"float": float.hex(value)}
    if isinstance(value, complex):
        return {"complex": [value.real.hex(), value.imag.hex()]}
    return None


def _npy(array: Any) -> bytes:
    import numpy

    dtype = EXTENDED.get(array.dtype.char) or array.dtype.newbyteorder("<")
    # With order C, and not `ascontiguousarray`, which would give an array of no dimensions one.
    plain = numpy.asarray(array, dtype, order="C")
    return _npy_head(plain.dtype, plain.shape) + plain.tobytes()


@functools.cache
def _npy_head(dtype: Any, shape: tuple[int, ...]) -> bytes:
    """Return what precedes the data in `.npy`; NumPy takes longer for it than for the data."""
    from numpy.lib import format as npy

    head = {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    buffer = io.BytesIO()
    npy.write_array_header_1_0(buffer, head)
    return buffer.getvalue()
