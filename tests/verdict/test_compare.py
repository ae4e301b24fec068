"""Outputs leave the sandbox unchanged, every difference is noticed, and hostile bytes can only fail to decode."""

import contextlib
import copy
import json
import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lmrbench_evaluate.verdict.compare import first_difference
from lmrbench_evaluate.verdict.decode import Array, Frame, StreamError, decode, read_frames, write_frame
from lmrbench_evaluate.verdict.tolerance import Comparison
from support.toy import encode

DEFAULT, EXACT = Comparison({}), Comparison({"exact": True})


def through(value: Any) -> Any:
    """The value as the harness sees it."""
    return decode(encode(value))


# --- values -----------------------------------------------------------------------------------------------------------

REAL = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
NUMPY_DTYPES = [*REAL, *COMPLEX, "uint64", "<U3", "S3", "datetime64[ns]", "timedelta64[s]"]
TORCH_DTYPES = [*REAL, *COMPLEX, "bfloat16"]


@st.composite
def arrays(draw: st.DrawFn, dtypes: list[str] = NUMPY_DTYPES) -> np.ndarray:
    """Arrays of all dtypes and layouts: 0-d, empty, transposed, strided, read backwards."""
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    shape = draw(st.sampled_from([(), (0,), (1,), (4,), (2, 3), (3, 0, 2), (2, 1, 2)]))
    no_nul_at_the_end = st.binary(max_size=3).map(lambda text: text.rstrip(b"\0"))  # NumPy drops it
    elements = {"U": st.text("abé数", max_size=3), "S": no_nul_at_the_end}.get(dtype.kind)
    array = draw(hnp.arrays(dtype, shape, elements=elements, fill=st.nothing()))
    match draw(st.integers(0, 3)):
        case 1:
            return array.T
        case 2 if array.ndim:
            return array[::-1]
        case 3 if array.ndim:
            return np.repeat(array, 2, axis=-1)[..., ::2]
    return array


@st.composite
def tensors(draw: st.DrawFn) -> torch.Tensor:
    name = draw(st.sampled_from(TORCH_DTYPES))
    if name == "bfloat16":
        tensor = torch.from_numpy(draw(arrays(["float32"])).copy()).to(torch.bfloat16)
    else:
        tensor = torch.from_numpy(draw(arrays([name])).copy())
    if tensor.dim() and draw(st.booleans()):
        tensor = tensor.movedim(0, -1)
    if tensor.is_complex() and draw(st.booleans()):
        tensor = tensor.conj()
    if tensor.is_floating_point() and draw(st.booleans()):
        tensor = tensor.clone().requires_grad_()
    return tensor


COLUMNS = {
    "number": [1.5, math.nan, -2.0],
    "whole": [1, 2, 3],
    "text": ["a", "é", ""],
    "flag": [True, False, True],
    "mixed": [1, "a", None],
    "time": pd.to_datetime(["2024-01-01", None, "2024-01-03"]),
}


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame | pd.Series:
    names = draw(st.lists(st.sampled_from(sorted(COLUMNS)), unique=True, min_size=1, max_size=3))
    frame = pd.DataFrame({name: COLUMNS[name] for name in names})
    frame.index = pd.Index(draw(st.sampled_from([[0, 1, 2], [5, 3, 1], ["x", "y", "z"], [0.5, 1.5, 2.5]])))
    frame = frame.iloc[: draw(st.integers(0, 3))]
    return frame[names[0]] if draw(st.booleans()) else frame


hashables = st.one_of(st.text(max_size=3), st.integers(), st.booleans(), st.none(), st.binary(max_size=3))
scalars = st.one_of(hashables, st.floats(), st.complex_numbers(), st.integers(-(10**30), 10**30))
objects = st.builds(lambda items: np.array([*items, None], dtype=object), st.lists(hashables, max_size=3))
leaves = st.one_of(scalars, arrays(), tensors(), tables(), objects)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.one_of(hashables, st.tuples(hashables, st.integers())), inner, max_size=3),
        st.sets(hashables, max_size=3),
    ),
    max_leaves=5,
)


@settings(max_examples=150, deadline=None)
@given(values)
def test_a_value_equals_itself_after_the_way_out(value: Any) -> None:
    for comparison in (DEFAULT, EXACT, Comparison({"unordered": True}), Comparison({"sign_invariant": True})):
        assert first_difference(through(value), through(copy.deepcopy(value)), comparison) is None


@settings(max_examples=150, deadline=None)
@given(arrays() | tensors())
def test_numbers_arrive_bit_by_bit(value: np.ndarray | torch.Tensor) -> None:
    seen = through(value)
    assert isinstance(seen, Array)
    if isinstance(value, torch.Tensor):
        assert seen.dtype == str(value.dtype).removeprefix("torch.")
        plain = value.detach().resolve_conj()
        value = (plain.float() if plain.dtype == torch.bfloat16 else plain).numpy()
    else:
        assert seen.dtype == str(value.dtype)
    assert seen.values.shape == value.shape
    assert seen.values.tobytes() == value.tobytes()


EXTENDED = {"longdouble": "float64", "clongdouble": "complex128"}


@settings(max_examples=100, deadline=None)
@given(arrays(["float64", "complex128", "int16", "uint64", "<U3", "datetime64[ns]"]), st.sampled_from([">", *EXTENDED]))
def test_byte_order_and_extended_precision_do_not_count(value: np.ndarray, form: str) -> None:
    if form != ">" and value.dtype.kind != EXTENDED[form][0]:
        return
    other = value.astype(value.dtype.newbyteorder(">") if form == ">" else form)
    seen = through(other)
    assert (seen.dtype, seen.values.tobytes()) == (str(value.dtype), value.tobytes())
    if form != ">" and value.size:
        scalar = other.reshape(-1)[0]
        assert first_difference(through(scalar.astype(EXTENDED[form])), through(scalar), EXACT) is None


@pytest.mark.parametrize("text", ["2024-01-03", "2024-01", "2024-01-03T04:05:06.000000007", "NaT"])
def test_times_of_numpy_keep_their_unit(text: str) -> None:
    for value in (np.datetime64(text), np.datetime64(text) - np.datetime64(text)):
        assert first_difference(through(value), through(value), EXACT) is None
        for other in (value.item(), None if text == "NaT" else np.datetime64("NaT", "D"), str(value)):
            with contextlib.suppress(TypeError):  # a date is refused by its name
                assert first_difference(through(value), through(other), EXACT)


DAYS = pd.date_range("2024-01-01", periods=2)
#: a frame or series with values that NumPy has no dtype for → the part that is named
UNKNOWN_DTYPES = {
    "column 't' of dtype datetime64[us, UTC]": pd.DataFrame({"v": [1, 2], "t": DAYS.tz_localize("UTC")}),
    "index of dtype datetime64[us, Europe/Berlin]": pd.Series([1, 2], index=DAYS.tz_localize("Europe/Berlin")),
    "index of dtype period[D]": pd.DataFrame({"v": [1, 2]}, index=DAYS.to_period()),
    "column 'b' of dtype boolean": pd.DataFrame({"b": pd.array([True, None], "boolean")}),
    "column names of dtype datetime64[us]": pd.DataFrame([[1, 2]], columns=DAYS),
    "name of dtype Timestamp": pd.Series([1], name=DAYS[0]),
}


@pytest.mark.parametrize("part", UNKNOWN_DTYPES)
def test_part_of_a_frame_that_cannot_leave_is_named_with_a_way_out(part: str) -> None:
    with pytest.raises(TypeError, match=re.escape(f"{part}: ") + ".*; return numbers, text .*, UTC without a zone"):
        encode(UNKNOWN_DTYPES[part])


ONES = torch.ones(2)
#: The message → makes an output that would lose a part, or that NumPy has no dtype for.
REFUSED = {
    "masked array; return .filled(x) and its mask": lambda: np.ma.array([1, 2], mask=[False, True]),
    "tensor of dtype torch.float8_e4m3fn; return .float()": lambda: ONES.to(torch.float8_e4m3fn),
    "tensor of dtype torch.qint8; return .float(), .dequantize()": lambda: torch.quantize_per_tensor(
        ONES, 0.1, 0, torch.qint8
    ),
    "tensor of dtype torch.complex32; return .float(), .dequantize()": lambda: ONES.to(torch.complex32),
    "nested tensor; return .unbind()": lambda: torch.nested.nested_tensor([ONES, ONES]),
}


@pytest.mark.filterwarnings("ignore::UserWarning")  # PyTorch calls three of them experimental
@pytest.mark.parametrize("message", REFUSED)
def test_output_that_would_lose_a_part_is_refused_with_a_way_out(message: str) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        encode([REFUSED[message]()])


# --- differences ------------------------------------------------------------------------------------------------------


def changed_number(x: Any) -> Any:
    """Another number of the same type, further away than any tolerance."""
    if isinstance(x, bool | np.bool_):
        return not x
    if isinstance(x, float | complex | np.inexact):
        size = abs(complex(x) / 4)
        return type(x)(-x if math.isfinite(size) and size > 0.01 else 1.0 if math.isfinite(size) else 0.0)
    return x - 1 if x > 0 else x + 1


def changes(value: Any) -> Iterator[tuple[str, Any]]:
    """Values that are close to `value` but different."""
    yield "wrapped in a list", [value]
    if value is None or isinstance(value, bool):
        yield "another constant", not value
        yield "int for constant", int(bool(value))
    elif isinstance(value, int):
        yield "other int", value + 1
        yield "sign", -value if value else 1
        yield "float for int", 0.5 if abs(value) > 2**53 else float(value)
        if value in (0, 1):
            yield "bool for int", bool(value)
    elif isinstance(value, float):
        yield "other float", changed_number(value)
        yield "NaN or not", 0.0 if math.isnan(value) else math.nan
        yield "infinity", -value if math.isinf(value) else math.inf
        if value.is_integer():
            yield "int for float", int(value)
    elif isinstance(value, complex):
        yield "other number", changed_number(value)
        yield "infinity", -value if math.isinf(abs(value / 4)) else complex(0, math.inf)
        one_nan = math.isnan(value.real) != math.isnan(value.imag)
        yield "NaN elsewhere", complex(value.imag, value.real) if one_nan else complex(0, math.nan)
    elif isinstance(value, str):
        yield "one character more", value + " "
        yield "bytes for text", value.encode("utf-8", "surrogatepass")
    elif isinstance(value, bytes):
        yield "one byte more", value + b"\0"
        yield "text for bytes", value.decode("latin-1")
    elif isinstance(value, list | tuple):
        other: Any = tuple if isinstance(value, list) else list
        yield "list for tuple or the reverse", other(value)
        yield "one item more", [*value, None] if isinstance(value, list) else (*value, None)
        if value:
            yield "one item fewer", value[:-1]
        for i, item in enumerate(value):
            for name, different in changes(item):
                yield f"item {i}: {name}", type(value)([*value[:i], different, *value[i + 1 :]])
    elif isinstance(value, set):
        yield "list for set", list(value)
        yield "one item more", {*value, "another item"}
        yield "one item fewer", set(list(value)[1:]) if value else {0}
    elif isinstance(value, dict):
        yield "one key more", {**value, "another key": 1}
        for key, item in value.items():
            rest = {k: v for k, v in value.items() if k is not key}
            yield "one key fewer", rest
            yield "key of another type", {**rest, f"{key!r} as text": item}
            for name, different in changes(item):
                yield f"value: {name}", {**value, key: different}
    elif isinstance(value, np.ndarray) and value.dtype == object:
        yield "list for array", value.tolist()
        yield "another shape", value[None]
        yield "one item changed", np.array(["another", *value[1:]], dtype=object)
    elif isinstance(value, np.ndarray | torch.Tensor):
        yield from array_changes(value)
    elif isinstance(value, pd.Series):
        yield "frame for series", value.to_frame()
        yield "array for series", value.to_numpy()
        yield "another name", value.rename("another")
        yield "one row more", pd.concat([value, value.iloc[:1]]) if len(value) else pd.Series([1], name=value.name)
        yield "another dtype", value.astype("category")
        if len(value):
            yield "another index", value.set_axis([f"i{i}" for i in range(len(value))])
    elif isinstance(value, pd.DataFrame):
        yield "a column renamed", value.rename(columns={value.columns[0]: "another"})
        yield "a column more", value.assign(another=0)
        yield "a column of another dtype", value.astype({value.columns[0]: "category"})
        if len(value.columns) > 1:
            yield "columns in another order", value[list(reversed(value.columns))]
        if len(value):
            yield "another index", value.set_axis([f"i{i}" for i in range(len(value))], axis=0)
            yield "one row fewer", value.iloc[1:]
            if (last := value.columns[-1]) != "time":
                yield "one cell", value.assign(**{last: [*value[last][:-1], "another"]})


def array_changes(value: np.ndarray | torch.Tensor) -> Iterator[tuple[str, Any]]:
    is_tensor = isinstance(value, torch.Tensor)
    plain = value.detach().clone() if isinstance(value, torch.Tensor) else value.copy()
    if is_tensor or plain.dtype.kind not in "mM":
        yield "list for array", plain.tolist()
    yield "one dimension more", plain[None]
    one = torch.zeros(1, dtype=plain.dtype) if isinstance(plain, torch.Tensor) else np.zeros(1, plain.dtype)
    yield "empty for non-empty or the reverse", plain.ravel()[:0] if math.prod(plain.shape) else one
    if is_tensor:
        yield "another dtype", plain.real.to(torch.int32 if plain.dtype != torch.int32 else torch.int64)
        if plain.dtype != torch.bfloat16:
            yield "array for tensor", plain.resolve_conj().numpy()
        else:
            yield "wider float", plain.float()
    else:
        others = {"U": "<U9", "S": "S9", "M": "datetime64[s]", "m": "timedelta64[ns]", "b": "int8", "c": "complex64"}
        other = "complex128" if plain.dtype == "complex64" else "int8" if plain.dtype == "float32" else "float32"
        yield (
            "another dtype",
            plain.astype(other if plain.dtype == "complex64" else others.get(plain.dtype.kind, other)),
        )
    if math.prod(plain.shape):
        position = tuple(length - 1 for length in plain.shape)
        old = plain[position].item() if is_tensor else plain[position]
        if is_tensor or plain.dtype.kind in "biufc":
            different = copy.deepcopy(plain)
            different[position] = changed_number(old)
            yield "one value", different
        if plain.dtype.is_floating_point or plain.dtype.is_complex if is_tensor else plain.dtype.kind in "fc":
            different = copy.deepcopy(plain)
            different[position] = 0 if math.isnan(abs(old)) else math.nan
            yield "NaN or not", different


@settings(max_examples=120, deadline=None)
@given(values)
@np.errstate(all="ignore")
def test_every_difference_is_noticed(value: Any) -> None:
    expected = through(value)
    for name, different in changes(value):
        for comparison in (DEFAULT, EXACT):
            message = first_difference(expected, through(different), comparison)
            assert message, f"{name}: {different!r} passes for {value!r}"
            assert "\n" not in message
            assert first_difference(through(different), expected, comparison), f"{name}, the other way round"


@pytest.mark.parametrize("make", [float, np.array, torch.tensor, lambda x: [x], lambda x: {"a": np.array([x])}])
def test_tolerance_ends_where_it_says(make: Any) -> None:
    def close(expected: float, actual: float, **declared: Any) -> bool:
        make_64 = (lambda x: torch.tensor(x, dtype=torch.float64)) if make is torch.tensor else make
        return first_difference(through(make_64(expected)), through(make_64(actual)), Comparison(declared)) is None

    assert close(0.0, 0.5, rtol=0, atol=0.5)
    assert not close(0.0, math.nextafter(0.5, 1), rtol=0, atol=0.5)
    assert close(4.0, 5.0, rtol=0.25, atol=0)
    assert close(4.0, 3.0, rtol=0.25, atol=0)
    assert not close(4.0, math.nextafter(5.0, 9), rtol=0.25, atol=0)
    assert not close(3.0, 4.0, rtol=0.25, atol=0), "relative to what is expected, not to what came"
    assert close(1.0, 1.00009)
    assert not close(1.0, 1.00011)
    assert not close(1.0, math.nextafter(1.0, 2), exact=True)
    assert not close(0.0, -0.0, exact=True)
    assert close(0.0, -0.0)
    assert close(math.nan, math.nan, exact=True)
    assert close(math.inf, math.inf)
    assert not close(math.inf, -math.inf)
    assert not close(math.inf, 1e308, rtol=1e9)
    assert not close(math.nan, 0.0, rtol=1e9, atol=1e9)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-3, 3), max_size=6), st.data())
def test_unordered_accepts_any_order_within_tolerance_and_nothing_else(items: list[float], data: st.DataObject) -> None:
    unordered = Comparison({"unordered": True, "rtol": 0, "atol": 1})
    moved = [item + data.draw(st.floats(-1, 1)) for item in data.draw(st.permutations(items))]
    assume(all(abs(a - b) <= 1 for a, b in zip(sorted(items), sorted(moved), strict=True)))
    assert first_difference(items, moved, unordered) is None
    assert first_difference(items, tuple(moved), unordered)
    assert first_difference(items, [*moved, 0.0], unordered)
    if items:
        assert first_difference(items, [*moved[1:], 99.0], unordered)


def test_huge_complex_numbers_do_not_overflow_the_tolerance() -> None:
    huge = complex(1.3e308, 1.3e308)
    for make in (complex, lambda x: np.array([x]), lambda x: torch.tensor(x, dtype=torch.complex128)):
        assert first_difference(through(make(huge)), through(make(huge)), DEFAULT) is None
        assert first_difference(through(make(huge)), through(make(-huge)), DEFAULT)


def test_unordered_gives_up_a_match_that_another_item_needs() -> None:
    unordered = Comparison({"unordered": True, "rtol": 0, "atol": 1})
    # The first expected item could take 0.8, but only 0.8 fits the second one.
    assert first_difference([0.0, 1.5], [0.8, -0.2], unordered) is None
    assert first_difference([1, 1, 2], [1, 2, 2], unordered)
    assert first_difference([[1, 2]], [[2, 1]], unordered), "only the outermost order is free"


def test_sign_invariant_means_one_sign_for_a_whole_array() -> None:
    free = Comparison({"sign_invariant": True})
    vector = np.array([1.0, -2.0, 3.0])
    assert first_difference(through(vector), through(-vector), free) is None
    assert first_difference(through(vector), through(-vector), DEFAULT)
    assert first_difference(through(vector), through(vector * [1, 1, -1]), free)
    assert first_difference(through([vector, vector]), through([vector, -vector]), free) is None, "each its own"
    assert first_difference(through(np.array([1, 2])), through(np.array([-1, -2])), free), "floats only"
    assert first_difference(through(2.0), through(-2.0), free), "arrays only"


def test_total_variation_measures_distributions() -> None:
    near = Comparison({"checker": "total_variation", "atol": 0.25})
    half = np.array([0.5, 0.5])
    assert first_difference(through(half), through(np.array([0.75, 0.25])), near) is None
    assert first_difference(through(half), through(np.array([0.76, 0.24])), near)
    assert first_difference(through(half), through(np.array([math.nan, 0.5])), near)
    assert first_difference(through(half), through(np.array([0.5, 0.25, 0.25])), near), "shape still counts"
    assert first_difference(through(half), through(half.astype("float32")), near), "dtype still counts"


def test_sets_of_tensors_and_large_arrays_are_compared_by_content() -> None:
    large = np.zeros(5000)
    other = large.copy()
    other[2500] = 1  # NumPy's repr does not show it
    for wrap in (lambda x: {torch.from_numpy(x)}, lambda x: {(1, "a"): x}, lambda x: [x]):
        assert first_difference(through(wrap(large)), through(wrap(large.copy())), EXACT) is None
        assert first_difference(through(wrap(large)), through(wrap(other)), EXACT)


@pytest.mark.parametrize(
    ("actual", "message"),
    [
        ([1, None], "output: shape (2,), expected (1, 2)"),
        ([[1, 3]], "output.flat[1]: got int (3), expected None"),
        ([[1, None]], None),
    ],
)
def test_difference_of_an_object_array_names_the_shape_or_the_item(actual: Any, message: str | None) -> None:
    seen = through(np.array(actual, object))
    assert first_difference(through(np.array([[1, None]], object)), seen, DEFAULT) == message


# --- hostile bytes ----------------------------------------------------------------------------------------------------

SAMPLE = {"a": np.arange(6.0).reshape(2, 3), "b": [1, (True, None, "x")], "c": torch.ones(2, dtype=torch.bfloat16)}


def check_hostile(payload: bytes, expected: Any) -> None:
    """Decoding gives a value or a StreamError, and comparing such a value gives one short line."""
    try:
        value = decode(payload)
    except StreamError:
        return
    for comparison in (DEFAULT, Comparison({"unordered": True, "sign_invariant": True})):
        message = first_difference(expected, value, comparison)
        assert message is None or (len(message) < 1000 and "\n" not in message)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_payloads_are_refused_or_differ(data: st.DataObject) -> None:
    payload = bytearray(encode(SAMPLE))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(payload) - 1))
        match data.draw(st.integers(0, 2)):
            case 0:
                payload[at] ^= 1 << data.draw(st.integers(0, 7))
            case 1:
                del payload[at : at + data.draw(st.integers(1, 20))]
            case 2:
                payload[at:at] = data.draw(
                    st.sampled_from([b"0", b"9" * 30, b"[", b"}", b",", b'"', b"\n", b"null", b"-"])
                )
        assume(payload)
    check_hostile(bytes(payload), through(SAMPLE))
    stream = write_frame(Frame("a", 0, "output", bytes(payload)))
    assert [frame.payload for frame in read_frames(stream)] == [bytes(payload)]


FORMS = ["int", "float", "complex", "bytes", "list", "tuple", "set", "dict", "tensor", "array", "objects", "series"]
FORMS += ["frame", "dtype", "shape", "name", "index", "values", "columns", "unknown"]
junk = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-2, 9),
        st.floats(),
        st.text(max_size=3),
        st.sampled_from(["0x1p99999", "7"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(FORMS), inner, max_size=3),
        st.builds(lambda form, value: {form: value}, st.sampled_from(FORMS), inner),
        st.builds(lambda i, s: {"objects": i, "shape": s}, inner, inner),
        st.builds(lambda n, i, v, d: {"series": {"name": n, "index": i, "values": v, "dtype": d}}, *[inner] * 4),
        st.builds(lambda c, i, s: {"frame": {"columns": c, "index": i, "series": s}}, *[inner] * 3),
        st.builds(
            lambda i, d: {"tensor": i, "dtype": d}, st.integers(-1, 2), st.sampled_from(["float64", "bfloat16", 1])
        ),
    ),
    max_leaves=10,
)


@settings(max_examples=300, deadline=None)
@given(junk, st.sampled_from([SAMPLE, [1], pd.DataFrame({"a": [1]}), pd.Series([1]), {"k"}, np.array([None])]))
def test_trees_of_any_form_are_refused_or_compared(tree: Any, expected: Any) -> None:
    npy = encode(np.arange(3.0)).partition(b"\n")[2]
    header = json.dumps({"tree": tree, "arrays": [len(npy), len(npy)]}).encode()
    check_hostile(header + b"\n" + npy + npy, through(expected))


def npy(descr: str, shape: str, data: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    head = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    body = b"\x93NUMPY" + version + len(head).to_bytes(2, "little") + head + data
    return json.dumps({"tree": {"array": 0}, "arrays": [len(body)]}).encode() + b"\n" + body


def tree(text: str) -> bytes:
    return b'{"tree": ' + text.encode() + b', "arrays": []}\n'


@pytest.mark.parametrize(
    "payload",
    [
        npy("'<f8'", "(1000000000000000,)"),
        npy("'<f8'", "(1000000000000000,)", b"\0" * 8),
        npy("'|S0'", "(1000000000000000,)"),
        npy("'<U0'", "(1000000000000000,)"),
        npy("'<f8'", "(0, 1000000000000000000, 1000000000000000000)"),
        npy("'<f8'", "(-1, -1)", b"\0" * 8),
        npy("'<f8'", "(4294967296, 4294967296)", b""),
        npy("'<f8'", "(" + "1, " * 70 + ")", b"\0" * 8),
        npy("'<f99'", "(1,)", b"\0" * 99),
        npy("'<U99999999999999'", "(0,)"),
        npy("'<M8[nonsense]'", "(1,)", b"\0" * 8),
        npy("'|O'", "(1,)", b"\x80\x04N."),
        npy("[('a', '|O')]", "(1,)", b"\x80\x04N."),
        npy("'<f8'", "(1,)", b"\0" * 8, version=b"\x03\x00"),
        npy("'<U1'", "(1,)", b"\xff\xff\xff\xff"),
        npy("__import__('os').abort()", "(1,)"),
        npy("(" * 4000, "(1,)"),
        tree("[" * 100_000 + "]" * 100_000),
        tree('{"list": [' * 300 + "null" + "]}" * 300),
        tree('{"float": "0x1p99999"}'),
        tree('{"int": "' + "9" * 1_000_000 + '"}'),
        tree('{"int": ' + "9" * 10_000 + "}"),
        tree('{"bytes": "not base64"}'),
        tree('{"objects": [], "shape": [{}]}'),
        tree("{}"),
        tree('{"array": 0}'),
        b"",
        b"\n",
        b"null\n",
        b'{"tree": null, "arrays": [-1, 1]}\n',
        b'{"tree": null, "arrays": [true]}\n1',
        b'{"tree": null, "arrays": {}}\n',
    ],
    ids=lambda payload: payload[:60].decode("latin-1"),
)
def test_lies_are_refused(payload: bytes) -> None:
    with pytest.raises(StreamError):
        decode(payload)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([None] * 30_000, "more than 30,000 values, or nested deeper than 100"),
        ([None] * 130_000, "too many values; the limit is 30,000, in 120,000 commas, colons and brackets"),
        ("x" * (1 << 22), "no tree of values, or one of more than 4,194,304 bytes"),
        ([np.ones(1)] * 2001, "more than 2,000 arrays"),
    ],
)
def test_limit_of_an_output_is_named(value: Any, message: str) -> None:
    with pytest.raises(StreamError, match=message):
        through(value)


@pytest.mark.parametrize(
    "header",
    [
        b'{"case": "a", "seed": 0, "kind": "output", "size": 1000000000000000}',
        b'{"case": "a", "seed": 0, "kind": "output", "size": -1}',
        b'{"case": "a", "seed": 0, "kind": "output", "size": true}',
        b'{"case": "a", "seed": 0.0, "kind": "output", "size": 0}',
        b'{"case": ["a"], "seed": 0, "kind": "output", "size": 0}',
        b"[" * 4000,
        b" " * 5000,
        b"7",
    ],
    ids=lambda header: header[:70].decode(),
)
def test_frames_that_are_none_end_the_stream(header: bytes) -> None:
    good = write_frame(Frame("a", 0, "output", b"payload"))
    stream = read_frames(good + header + b"\n" + good)
    assert next(stream) == Frame("a", 0, "output", b"payload")
    with pytest.raises(StreamError):
        next(stream)


@pytest.mark.parametrize(
    ("expected", "actual", "words"),
    [
        (("raised", "ValueError"), ("returned", 3), "output: returned a value (3) where ValueError was expected"),
        (("returned", 3), ("raised", "ValueError"), "output: raised 'ValueError' where a value was expected"),
        (("raised", "KeyError"), ("raised", "ValueError"), "output[1]: got 'ValueError', expected 'KeyError'"),
    ],
)
def test_another_ending_is_told_in_words(expected: Any, actual: Any, words: str) -> None:
    """`lmrbench_cases.outcome` returns how a call ended, and with what."""
    assert first_difference(through(expected), through(actual), DEFAULT) == words


# --- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "actual", "declared", "words"),
    [
        (0.7845859, 0.786, {}, "output: got 0.786, expected 0.785 (relative error 0.0018, tolerance 0.0001)"),
        (1.0, 1.00011, {}, "output: got 1.0001, expected 1 (relative error 0.00011, tolerance 0.0001)"),
        (0.0, -3e-6, {}, "output: got -3e-06, expected 0 (absolute error 3e-06, tolerance 1e-06)"),
        (0.3, 0.1 + 0.2, {"exact": True},
         "output: got 0.30000000000000004, expected 0.3 (relative error 1.9e-16, compared exactly)"),
        (0.0, -0.0, {"exact": True}, "output: got -0, expected 0 (compared exactly)"),
        (0.785, math.nan, {}, "output: got nan, expected 0.785"),
        (1 + 1j, 1 + 2j, {}, "output: got (1+2j), expected (1+1j)"),
        (np.float32([[1, 0.1], [3, 4]]), np.float32([[1, 0.2], [3, 5]]), {"rtol": 0.05},
         "output[0, 1]: got 0.2, expected 0.1 (relative error 1, tolerance 0.05), 2 of 4 values differ"),
        (np.array([1, 2]), np.array([1, 3]), {}, "output[1]: got 3, expected 2, 1 of 2 values differ"),
        (np.array([0.5, 0.5]), np.array([0.6, 0.4]), {"checker": "total_variation", "atol": 0.0999},
         "output: total variation 0.1, tolerance 0.0999"),
    ],
)  # fmt: skip
def test_a_difference_is_told_with_its_size(expected: Any, actual: Any, declared: dict[str, Any], words: str) -> None:
    assert first_difference(through(expected), through(actual), Comparison(declared)) == words


tolerances = st.sampled_from([0.0, 1e-12, 1e-6, 1e-4, 0.05])
finite = st.floats(-1e308, 1e308)


@given(finite, st.one_of(finite, st.floats(-1e-3, 1e-3)), tolerances, tolerances)
def test_two_numbers_that_differ_differ_in_print(expected: float, actual: float, rtol: float, atol: float) -> None:
    """Either far apart or, where the second is read as a relative distance, close."""
    actual = expected * (1 + actual) if abs(actual) <= 1e-3 else actual
    words = first_difference(expected, actual, Comparison({"rtol": rtol, "atol": atol}))
    assume(words is not None and math.isfinite(actual))
    shown = re.fullmatch(r"output: got (\S+), expected (\S+?)(?: \((.*)\))?", words or "")
    assert shown, words
    got, want = float(shown[1]), float(shown[2])
    assert (got < want) == (actual < expected)
    assert got == pytest.approx(actual, rel=5e-3)
    assert want == pytest.approx(expected, rel=5e-3)
    if stated := re.match(r"(relative|absolute) error (\S+), tolerance (\S+)", shown[3] or ""):
        assert float(stated[2]) > float(stated[3]) == (rtol if stated[1] == "relative" else atol)
        assert stated[1] == ("relative" if expected and rtol * abs(expected) >= atol else "absolute")
