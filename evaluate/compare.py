"""Compare the outputs of a case with the recorded ones: type, dtype, shape, then value.

The trust boundary of the benchmark: this runs outside the sandbox, on data that `decode` read, and is the only place
where "equal" is decided. `first_difference` returns None or one line that says where and how the two differ.
"""

import reprlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .decode import Array, Table

RTOL = 1e-4
ATOL = 1e-6
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 120
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = 20


class Comparison:
    """How one case is compared, as the row's `tests.cases` entry says."""

    def __init__(self, declared: Mapping[str, Any]) -> None:
        self.exact = bool(declared.get("exact"))
        rtol, atol = declared.get("rtol"), declared.get("atol")
        self.rtol = 0.0 if self.exact else RTOL if rtol is None else float(rtol)
        self.atol = 0.0 if self.exact else ATOL if atol is None else float(atol)
        self.unordered = bool(declared.get("unordered"))
        self.sign_invariant = bool(declared.get("sign_invariant"))
        self.checker = declared.get("checker") or None

    def close(self, expected: np.ndarray, actual: np.ndarray) -> np.ndarray:
        """Elementwise: equal within the tolerances, NaN equal to NaN, infinities equal by sign.

        Computed in float64 at least, so that the comparison itself never rounds or overflows. With `exact`, 0.0 and
        -0.0 differ.
        """
        wide = np.result_type(expected.dtype, actual.dtype, np.float64)
        want, got = expected.astype(wide), actual.astype(wide)
        with np.errstate(all="ignore"):
            if wide.kind != "c":
                return self._close(want, got)
            parts = self._close(want.real, got.real) & self._close(want.imag, got.imag)
            # Of finite complex numbers the distance counts. A modulus can overflow, a quarter of it cannot.
            distance = np.hypot(got.real / 4 - want.real / 4, got.imag / 4 - want.imag / 4)
            allowed = self.atol / 4 + self.rtol * np.hypot(want.real / 4, want.imag / 4)
            finite = np.isfinite(want) & np.isfinite(got) & (not self.exact)
        return np.where(finite, distance <= allowed, parts)

    def _close(self, want: np.ndarray, got: np.ndarray) -> np.ndarray:
        near = np.asarray(np.isclose(got, want, rtol=self.rtol, atol=self.atol, equal_nan=True))
        return near & ((np.signbit(want) == np.signbit(got)) | np.isnan(want)) if self.exact else near


def first_difference(expected: Any, actual: Any, comparison: Comparison) -> str | None:
    """Where and how `actual` differs from `expected` first, or None if it does not."""
    if comparison.unordered and isinstance(expected, (list, tuple)) and type(expected) is type(actual):
        return _unordered(expected, actual, comparison)
    return _difference(expected, actual, comparison, "output")


def _unordered(expected: Sequence[Any], actual: Sequence[Any], comparison: Comparison) -> str | None:
    """Match the items one to one. A match may be given up again, since within tolerances an item can fit several."""
    if len(expected) != len(actual):
        return f"output: {len(actual)} items, expected {len(expected)}"
    taken: dict[int, int] = {}  # index in actual → index in expected
    for first, item in enumerate(expected):
        # Breadth first to an item that is free, over items whose present partners would have to look elsewhere.
        reached: dict[int, int | None] = {}
        queue: list[tuple[int, int | None]] = [(first, None)]
        free: int | None = None
        while queue and free is None:
            seeker, through = queue.pop(0)
            for index, other in enumerate(actual):
                if index not in reached and _difference(expected[seeker], other, comparison, "") is None:
                    reached[index] = through
                    if index not in taken:
                        free = index
                        break
                    queue.append((taken[index], index))
        if free is None:
            return f"output: nothing matches the expected item {first} ({_show(item)}), in any order"
        while (through := reached[free]) is not None:
            taken[free], free = taken[through], through
        taken[free] = first
    return None


def _difference(expected: Any, actual: Any, comparison: Comparison, path: str) -> str | None:
    kinds = _kind(expected), _kind(actual)
    if kinds[0] != kinds[1]:
        return f"{path}: got {kinds[1]} ({_show(actual)}), expected {kinds[0]}"
    if isinstance(expected, Array):
        return _arrays(expected, actual, comparison, path)
    if isinstance(expected, Table):
        return _tables(expected, actual, comparison, path)
    if isinstance(expected, (list, tuple)):
        if len(expected) != len(actual):
            return f"{path}: {len(actual)} items, expected {len(expected)}"
        pairs = ((f"{path}[{i}]", e, a) for i, (e, a) in enumerate(zip(expected, actual, strict=True)))
        return next((found for p, e, a in pairs if (found := _difference(e, a, comparison, p))), None)
    if isinstance(expected, dict):
        return _containers(expected, actual, comparison, path)
    if isinstance(expected, float | complex):
        if bool(comparison.close(np.asarray(expected), np.asarray(actual))):
            return None
        return f"{path}: got {actual!r}, expected {expected!r}"
    return None if expected == actual else f"{path}: got {_show(actual)}, expected {_show(expected)}"


def _kind(value: Any) -> str:
    if isinstance(value, Array | Table):
        return value.kind
    if isinstance(value, dict):
        return str(next(iter(value)))
    return "None" if value is None else type(value).__name__


def _arrays(expected: Array, actual: Array, comparison: Comparison, path: str) -> str | None:
    if expected.dtype != actual.dtype:
        return f"{path}: dtype {actual.dtype}, expected {expected.dtype}"
    want, got = expected.values, actual.values
    if want.shape != got.shape:
        return f"{path}: shape {got.shape}, expected {want.shape}"
    if comparison.checker:
        return CHECKERS[comparison.checker](want, got, comparison, path)
    if want.dtype.kind not in "fc":
        equal = np.asarray(want == got)
        if want.dtype.kind in "mM":
            equal |= np.isnat(want) & np.isnat(got)
        return _report(equal, want, got, path)
    close = comparison.close(want, got)
    if comparison.sign_invariant and not close.all():
        mirrored = comparison.close(want, -got)
        close = mirrored if mirrored.all() else close
    return _report(close, want, got, path)


def _report(equal: np.ndarray, want: np.ndarray, got: np.ndarray, path: str) -> str | None:
    if equal.all():
        return None
    place = tuple(int(i) for i in np.argwhere(~equal)[0])
    where = f"{path}{list(place)}" if place else path
    count = f", {int((~equal).sum())} of {equal.size} values differ" if equal.size > 1 else ""
    return f"{where}: got {_show(got[place].item())}, expected {_show(want[place].item())}{count}"


def _containers(expected: Any, actual: Any, comparison: Comparison, path: str) -> str | None:
    """Sets (their items are compared exactly) and dicts (their keys are)."""
    form = next(iter(expected))
    want = {_key(item if form == "set" else item[0]): item for item in expected[form]}
    got = {_key(item if form == "set" else item[0]): item for item in actual[form]}
    if len(actual[form]) != len(got):
        return f"{path}: got a {form} with a duplicate"
    if want.keys() != got.keys():
        what = "items" if form == "set" else "keys"
        return f"{path}: got {what} {_show(sorted(got))}, expected {_show(sorted(want))}"
    if form == "set":
        return None
    pairs = ((f"{path}[{key}]", item, got[key][1]) for key, (_, item) in want.items())
    return next((found for p, e, a in pairs if (found := _difference(e, a, comparison, p))), None)


def _key(value: Any) -> str:
    """A text that is equal for equal items of a set or keys of a dict, and for no others."""
    if isinstance(value, Array):
        return f"{value!r} {value.values.tobytes().hex()}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_key, value))},)"
    return repr(value)


def _tables(expected: Table, actual: Table, comparison: Comparison, path: str) -> str | None:
    parts: list[tuple[str, Any, Any]] = [
        (f"{path}.columns", expected.columns, actual.columns),
        (f"{path}.index", expected.index, actual.index),
    ]
    if len(expected.series) != len(actual.series):
        return f"{path}: {len(actual.series)} columns, expected {len(expected.series)}"
    for want, got in zip(expected.series, actual.series, strict=True):
        where = f"{path}[{_show(want[1])}]"
        parts += [(f"{where}.dtype", want[0], got[0]), (f"{where}.name", want[1], got[1]), (where, want[2], got[2])]
    return next((found for p, e, a in parts if (found := _difference(e, a, comparison, p))), None)


def _show(value: Any) -> str:
    text = _SHORT.repr(value)  # never the whole of it first: a candidate's output may be huge
    return text if len(text) <= 120 else text[:117] + "..."


def _total_variation(want: np.ndarray, got: np.ndarray, comparison: Comparison, path: str) -> str | None:
    """Distance of two distributions, half the sum of absolute differences: at most `atol`."""
    distance = 0.5 * float(np.abs(want.astype(np.float64) - got.astype(np.float64)).sum())
    if distance <= comparison.atol:
        return None
    return f"{path}: total variation {distance:.4g}, allowed {comparison.atol:g}"


#: Checkers that `@compare(checker=...)` may name; each compares two arrays of equal dtype and shape.
CHECKERS: dict[str, Callable[[np.ndarray, np.ndarray, Comparison, str], str | None]] = {
    "total_variation": _total_variation,
}
