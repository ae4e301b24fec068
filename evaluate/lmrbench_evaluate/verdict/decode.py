"""Decode the stream from the sandbox: frames, trees and arrays. Nothing is trusted or executed.

The bytes come from a process in which tested code ran. Sizes are checked before memory is
allocated, arrays are read without pickle, and anything malformed is a `StreamError`: the
candidate's error, never the harness's. Each frame has a budget of bytes, values and arrays, far
above that of any recorded output: decoding never takes more than some dozens of MB.
"""

import base64
import json
import math
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lmrbench_data.base.errors import LMRBenchError

MAX_HEADER = 4096
MAX_FRAMES = 100_000
#: The runner's limit for the output of a case.
MAX_PAYLOAD = 16 * 1024 * 1024
#: Limit of the tree, which takes up to thirty times its size when parsed; arrays take their own
#: size.
MAX_TREE = 4 * 1024 * 1024
MAX_NODES = 30_000
MAX_ARRAYS = 2_000
MAX_DEPTH = 100
#: As in NumPy.
MAX_DIMENSIONS = 64
MAX_FACTS = 256 * 1024
#: Magic, version 1.0, length of the header, header, as NumPy writes it. NumPy's reader evaluates it
#: as Python.
_NPY = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '([<|][biufcSUMm]\d*(?:\[\w+\])?)', 'fortran_order': False, "
    rb"'shape': \(((?:\d{1,18}, ?){0,64}(?:\d{1,18})?)\), \} *\n",
    re.DOTALL,
)
#: What reading a malformed tree may raise.
_MALFORMED = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)


class StreamError(LMRBenchError):
    """The runner did not write these bytes."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The runner's report on one case and seed."""

    case: str
    seed: int
    kind: str
    payload: bytes


@dataclass(frozen=True, repr=False)
class Array:
    """A `tensor` or `array`, with the dtype's name there; bfloat16 becomes float32."""

    kind: str
    dtype: str
    values: np.ndarray

    def __repr__(self) -> str:
        return f"{self.kind} of {self.dtype} {self.values.shape}"


@dataclass(frozen=True, repr=False)
class Table:
    """A DataFrame, a Series (no `columns`) or an array of objects (no `index` either)."""

    columns: Any
    index: Any
    series: tuple[tuple[str, Any, Any], ...]
    """(dtype, name, values) of each column; for an array of objects, shape in place of name."""

    @property
    def kind(self) -> str:
        """The kind of object, one of the three."""
        if self.columns is not None:
            return "DataFrame"
        return "object array" if self.index is None else "Series"

    def __repr__(self) -> str:
        return f"{self.kind} of {', '.join(dtype for dtype, _, _ in self.series)}"


def read_frames(stream: bytes) -> Iterator[Frame]:
    """Yield the frames of a stream in order; StreamError at the first that is malformed."""
    position = 0
    count = 0
    while position < len(stream):
        count += 1
        if count > MAX_FRAMES:
            raise StreamError("too many frames")
        frame, position = _read_frame(stream, position)
        yield frame


def _read_frame(stream: bytes, position: int) -> tuple[Frame, int]:
    """Return the frame at a position and where it ends."""
    header_end = stream.find(b"\n", position, position + MAX_HEADER)
    if header_end < 0:
        raise StreamError(f"no frame header at byte {position}")
    case, seed, kind, size = _read_header(stream[position:header_end], position)
    start = header_end + 1
    if size > len(stream) - start:
        raise StreamError(f"bad frame header at byte {position}")
    end = start + size
    return Frame(case, seed, kind, stream[start:end]), end


def _read_header(line: bytes, position: int) -> tuple[str, int, str, int]:
    """Return case, seed, kind and size of the frame at a position."""
    problem = StreamError(f"bad frame header at byte {position}")
    try:
        header = json.loads(line)
        fields = [header[name] for name in ("case", "seed", "kind", "size")]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise problem from error
    case, seed, kind, size = fields
    are_texts = isinstance(case, str) and isinstance(kind, str)
    are_numbers = type(seed) is int and type(size) is int
    if not are_texts or not are_numbers or size < 0:
        raise problem
    return case, seed, kind, size


def write_frame(frame: Frame) -> bytes:
    """Encode a frame for `read_frames`, to store recorded outputs."""
    header = {
        "case": frame.case,
        "seed": frame.seed,
        "kind": frame.kind,
        "size": len(frame.payload),
    }
    return json.dumps(header).encode("ascii") + b"\n" + frame.payload


def read_json(payload: bytes) -> dict[str, Any]:
    """Read the payload of a `raised` or `died` frame; empty if it is not a small JSON object."""
    if len(payload) > MAX_FACTS:
        return {}
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def decode(payload: bytes) -> Any:
    """Decode a value of `runner/encoding.py`; StreamError if it is malformed or too large."""
    if len(payload) > MAX_PAYLOAD:
        raise StreamError(f"output of more than {MAX_PAYLOAD} bytes")
    end = _tree_end(payload)
    try:
        return _decode_tree(payload, end)
    except _MALFORMED as error:
        raise StreamError(f"unreadable output ({type(error).__name__})") from error


def _decode_tree(payload: bytes, end: int) -> Any:
    content = json.loads(payload[:end])
    sizes = content["arrays"]
    tree = content["tree"]
    arrays = _read_arrays(payload, end + 1, sizes)
    return _TreeDecoder(arrays).node(tree)


def _tree_end(payload: bytes) -> int:
    """Return where the tree ends; StreamError if it is too large to parse."""
    end = payload.find(b"\n", 0, MAX_TREE + 1)
    if end < 0:
        raise StreamError(f"no tree of values, or one of more than {MAX_TREE:,} bytes")
    # Each JSON value but the first follows one of these marks, so their number bounds the memory of
    # parsing.
    marks = sum(payload.count(mark, 0, end) for mark in (b",", b"[", b"{", b":"))
    if marks > 4 * MAX_NODES:
        limits = f"{MAX_NODES:,}, in {4 * MAX_NODES:,} commas, colons and brackets"
        raise StreamError(f"too many values; the limit is {limits}")
    return end


def _read_arrays(payload: bytes, start: int, sizes: Any) -> list[np.ndarray]:
    """Read arrays of these sizes that follow each other up to the end."""
    _check_sizes(sizes)
    if start + sum(sizes) != len(payload):
        raise StreamError("arrays do not add up to the payload")
    arrays = []
    for size in sizes:
        arrays.append(_read_npy(payload, start, start + size))
        start += size
    return arrays


def _check_sizes(sizes: Any) -> None:
    if not isinstance(sizes, list) or not all(type(size) is int and size >= 0 for size in sizes):
        raise StreamError("bad list of arrays")
    if len(sizes) > MAX_ARRAYS:
        raise StreamError(f"more than {MAX_ARRAYS:,} arrays")


def _read_npy(payload: bytes, start: int, end: int) -> np.ndarray:
    """Read the array between two bytes as a view, which takes no memory."""
    header = _NPY.match(payload, start, end)
    if not header:
        raise StreamError("not the header of a plain array")
    dtype = _read_dtype(header[1])
    shape = tuple(int(length) for length in header[2].split(b",") if length.strip())
    count = math.prod(shape)
    start = header.end()
    if count * dtype.itemsize != end - start:
        raise StreamError("array size and shape differ")
    if dtype.kind == "U" and count:
        _check_characters(np.frombuffer(payload, np.uint32, (end - start) // 4, start))
    return np.frombuffer(payload, dtype, count, start).reshape(shape)


def _read_dtype(name: bytes) -> np.dtype:
    dtype = np.dtype(name.decode("ascii"))
    if dtype.itemsize == 0:  # any number of them fits into zero bytes
        raise StreamError("array of items without size")
    return dtype


def _check_characters(characters: np.ndarray) -> None:
    if characters.max() > sys.maxunicode:
        raise StreamError("text array with characters that do not exist")


class _TreeDecoder:
    """Turns nodes of the tree into values, within limits that later work relies on."""

    def __init__(self, arrays: list[np.ndarray]) -> None:
        self.arrays = dict(enumerate(arrays))
        self.count = 0
        self.depth = 0

    def node(self, node: Any) -> Any:
        self.count += 1
        self.depth += 1
        if self.count > MAX_NODES or self.depth > MAX_DEPTH:
            limits = f"more than {MAX_NODES:,} values, or nested deeper than {MAX_DEPTH}"
            raise StreamError(limits)
        value = self._value(node)
        self.depth -= 1
        return value

    def _nodes(self, nodes: Any) -> list[Any]:
        return [self.node(item) for item in nodes]

    def _value(self, node: Any) -> Any:
        if node is None or isinstance(node, bool | str):
            return node
        if not isinstance(node, dict):
            raise StreamError("unknown node")
        if "tensor" in node:
            return self._tensor(node)
        if "objects" in node:
            return self._objects(node)
        [(form, value)] = node.items()
        match form:
            case "int":
                return int(value)
            case "float":
                return float.fromhex(value)
            case "complex":
                return complex(float.fromhex(value[0]), float.fromhex(value[1]))
            case "bytes":
                return base64.b64decode(value, validate=True)
        return self._container(form, value)

    def _container(self, form: str, value: Any) -> Any:
        match form:
            case "list":
                return self._nodes(value)
            case "tuple":
                return tuple(self._nodes(value))
            case "set":
                return {"set": self._nodes(value)}
            case "dict":
                return {"dict": [(self.node(key), self.node(item)) for key, item in value]}
            case "array":
                array = self._take(value)
                return Array("array", str(array.dtype), array)
            case "series":
                index = self.node(value["index"])
                return Table(None, index, (self._series(value),))
            case "frame":
                return self._frame(value)
        raise StreamError("unknown node")

    def _frame(self, value: dict[str, Any]) -> Table:
        series = tuple(self._series(item["series"]) for item in value["series"])
        return Table(self.node(value["columns"]), self.node(value["index"]), series)

    def _objects(self, node: dict[str, Any]) -> Table:
        values = node["objects"]
        shape = node["shape"]
        # Checked before they are multiplied: a product of long numbers takes for ever.
        are_lengths = all(type(length) is int and 0 <= length <= MAX_NODES for length in shape)
        if len(shape) > MAX_DIMENSIONS or not are_lengths:
            raise StreamError("impossible shape of an object array")
        if math.prod(shape) != len(values):
            raise StreamError("object array size and shape differ")
        return Table(None, None, (("object", tuple(shape), self._nodes(values)),))

    def _take(self, number: Any) -> np.ndarray:
        """Take an array by its number; only once each, or one could become many values."""
        if type(number) is not int:
            raise StreamError("an array's number is not a number")
        return self.arrays.pop(number)

    def _tensor(self, node: dict[str, Any]) -> Array:
        array = self._take(node["tensor"])
        dtype = node["dtype"]
        if not isinstance(dtype, str):
            raise StreamError("dtype is not text")
        if dtype == "bfloat16":
            array = _from_bfloat16(array)
        elif dtype != str(array.dtype):
            raise StreamError("dtype of tensor and array differ")
        return Array("tensor", dtype, array)

    def _series(self, value: dict[str, Any]) -> tuple[str, Any, Any]:
        if not isinstance(value["dtype"], str):
            raise StreamError("dtype is not text")
        return value["dtype"], self.node(value["name"]), self.node(value["values"])


def _from_bfloat16(array: np.ndarray) -> np.ndarray:
    """Return float32 values of bfloat16 ones, which are their upper halves."""
    if array.dtype != np.int16:
        raise StreamError("bfloat16 comes as 16-bit integers")
    return (array.astype(np.uint32) << 16).view(np.float32).reshape(array.shape)
