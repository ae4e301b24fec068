"""Turn the outputs of a case into bytes: one line of JSON (the tree), then the arrays as `.npy` one after another.

This file runs inside the sandbox, in the process of the tested code. It decides nothing; `verdict/decode.py` reads its
bytes outside and trusts none of them. Node forms of the tree:

    null true false "text"            {"int": "7"}  {"float": hex}  {"complex": [hex, hex]}  {"bytes": base64}
    {"list": [...]} {"tuple": [...]} {"set": [...]}  {"dict": [[key, value], ...]}
    {"tensor": i, "dtype": "float32"}  {"array": i}   i: index into the .npy files
    {"objects": [...], "shape": [...]}                a NumPy array of Python objects
    {"series": {"name", "index", "values", "dtype"}}  {"frame": {"columns": [...], "index", "series": [...]}}
"""

import base64
import io
import json
import sys
from typing import Any

MAX_DEPTH = 40
#: NumPy's extended precision, which differs between processors → the type that stands for it.
EXTENDED = {"g": "<f8", "G": "<c16"}


class UnsupportedOutput(TypeError):
    """A case returned something that is neither data nor a container of data."""


def encode(value: Any) -> bytes:
    """Return a nested value as bytes.

    Raises:
        UnsupportedOutput: an object of another type, or nesting deeper than MAX_DEPTH.
    """
    arrays: list[bytes] = []
    tree = _node(value, arrays, 0)
    header = json.dumps({"tree": tree, "arrays": [len(array) for array in arrays]})
    return header.encode("ascii") + b"\n" + b"".join(arrays)


def _node(value: Any, arrays: list[bytes], depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise UnsupportedOutput(f"output nested deeper than {MAX_DEPTH}")
    if value is None or value is True or value is False:
        return value
    # Base-class methods throughout, so that a subclass with overridden methods is stored as its plain value.
    if isinstance(value, str):
        return str.__str__(value)
    numpy, torch, pandas = (sys.modules.get(name) for name in ("numpy", "torch", "pandas"))
    if numpy is not None and isinstance(value, numpy.generic) and not isinstance(value, numpy.void):
        return _scalar(numpy, value, arrays, depth)
    if isinstance(value, int):
        return {"int": int.__repr__(value)}
    if isinstance(value, float):
        return {"float": float.hex(value)}
    if isinstance(value, complex):
        return {"complex": [value.real.hex(), value.imag.hex()]}
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": base64.b64encode(bytes(value)).decode("ascii")}
    if isinstance(value, list):
        return {"list": [_node(item, arrays, depth + 1) for item in list.__iter__(value)]}
    if isinstance(value, tuple):
        return {"tuple": [_node(item, arrays, depth + 1) for item in tuple.__iter__(value)]}
    if isinstance(value, (set, frozenset)):
        items = [_node(item, arrays, depth + 1) for item in value]
        return {"set": sorted(items, key=json.dumps)}
    if isinstance(value, dict):
        pairs = [
            [_node(k, arrays, depth + 1), _node(v, arrays, depth + 1)] for k, v in dict.items(value)
        ]
        return {"dict": pairs}
    if torch is not None and isinstance(value, torch.Tensor):
        return _tensor(torch, value, arrays)
    if numpy is not None and isinstance(value, numpy.ndarray):
        return _array(numpy, value, arrays, depth)
    if pandas is not None and isinstance(value, pandas.DataFrame):
        names = _part("column names", value.columns.dtype, list(value.columns), arrays, depth)
        series = [_series(value.iloc[:, i], arrays, depth) for i in range(value.shape[1])]
        return {
            "frame": {"columns": names, "index": _index(value, arrays, depth), "series": series}
        }
    if pandas is not None and isinstance(value, pandas.Series):
        return _series(value, arrays, depth)
    raise UnsupportedOutput(f"output of type {type(value).__module__}.{type(value).__qualname__}")


def _scalar(numpy: Any, value: Any, arrays: list[bytes], depth: int) -> Any:
    if isinstance(value, (numpy.datetime64, numpy.timedelta64)):  # `item` would lose their unit
        return _array(numpy, numpy.asarray(value), arrays, depth)
    if isinstance(value, (numpy.longdouble, numpy.clongdouble)):  # `item` would return them
        value = numpy.generic.astype(value, EXTENDED[value.dtype.char])
    return _node(numpy.generic.item(value), arrays, depth + 1)


def _tensor(torch: Any, value: Any, arrays: list[bytes]) -> dict[str, Any]:
    if value.layout != torch.strided:
        raise UnsupportedOutput(f"tensor with layout {value.layout}; return a dense one")
    plain = value.detach().cpu().resolve_conj().resolve_neg().contiguous()
    if plain.dtype == torch.bfloat16:  # unknown to NumPy: the raw 16 bits
        plain = plain.view(torch.int16)
    arrays.append(_npy(plain.numpy()))
    return {"tensor": len(arrays) - 1, "dtype": str(value.dtype).removeprefix("torch.")}


def _array(numpy: Any, value: Any, arrays: list[bytes], depth: int) -> dict[str, Any]:
    if value.dtype == object:
        items = [_node(item, arrays, depth + 1) for item in value.ravel().tolist()]
        return {"objects": items, "shape": list(value.shape)}
    if value.dtype.hasobject or value.dtype.kind == "V":
        raise UnsupportedOutput(f"array of dtype {value.dtype}")
    arrays.append(_npy(numpy.asarray(value)))
    return {"array": len(arrays) - 1}


def _series(value: Any, arrays: list[bytes], depth: int) -> dict[str, Any]:
    return {
        "series": {
            "name": _part("name", type(value.name).__name__, value.name, arrays, depth),
            "index": _index(value, arrays, depth),
            "values": _part(f"column {value.name!r}", value.dtype, value.to_numpy(), arrays, depth),
            "dtype": str(value.dtype),
        }
    }


def _index(value: Any, arrays: list[bytes], depth: int) -> Any:
    return _part("index", value.index.dtype, value.index.to_numpy(), arrays, depth)


def _part(place: str, dtype: Any, value: Any, arrays: list[bytes], depth: int) -> Any:
    """Encode a part of a frame or series; an error names it."""
    try:
        return _node(value, arrays, depth + 1)
    except UnsupportedOutput as error:
        fix = "return numbers, text (.astype(str)) or, for times, UTC without a zone (.tz_convert(None))"
        raise UnsupportedOutput(f"{place} of dtype {dtype}: {error}; {fix}") from None


def _npy(array: Any) -> bytes:
    import numpy

    buffer = io.BytesIO()
    dtype = EXTENDED.get(array.dtype.char) or array.dtype.newbyteorder("<")
    # asarray with order C keeps zero-dimensional arrays zero-dimensional (ascontiguousarray does not).
    numpy.lib.format.write_array(buffer, numpy.asarray(array, dtype, order="C"), allow_pickle=False)
    return buffer.getvalue()
