"""Compare outputs with recorded ones: type, dtype, shape, then value.

The trust boundary of the benchmark: this runs outside the sandbox, on data that `decode` read, and
no other place decides what is equal (`tolerance` says how close numbers must be). Its work is
bounded, because the tested code chooses its output.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from lmrbench_data.base.errors import LMRBenchError
from lmrbench_data.base.text import cut, plural

from .decode import Array, Table
from .tolerance import MAX_SHOWN, Comparison, above, show

#: Limit of a comparison in units of one or two microseconds. The benchmark's outputs take less than
#: 20,000.
MAX_WORK = 300_000
_WORK_OF_AN_ARRAY = 50
#: Characters, bytes or numbers of an array compared in one unit.
_AT_ONCE = 100


class TooLargeError(LMRBenchError):
    """Two values take too long to compare."""


def first_difference(expected: Any, actual: Any, comparison: Comparison) -> str | None:
    """Return one line on the first difference from `expected`, or None if there is none.

    Raises:
        TooLargeError: after `MAX_WORK`.
    """
    walk = _Walk(comparison)
    are_sequences = isinstance(expected, list | tuple) and type(expected) is type(actual)
    if comparison.unordered and are_sequences:
        return walk.unordered(expected, actual)
    return walk.difference(expected, actual, "output")


class _Walk:
    """One comparison, and the work left for it."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison
        self.left = MAX_WORK
        self.is_search = False  # among many pairs, whose descriptions would take most of the time

    def _spend(self, work: int) -> None:
        self.left -= work
        if self.left < 0:
            raise TooLargeError("the output is too large to compare")

    def unordered(self, expected: Sequence[Any], actual: Sequence[Any]) -> str | None:
        """Match the items one to one; within tolerances an item can fit several others."""
        if len(expected) != len(actual):
            return f"output: {plural(len(actual), 'item')}, expected {len(expected):,}"
        self.is_search = True
        partners: dict[int, int] = {}  # index in actual → index in expected
        for index, item in enumerate(expected):
            if not self._match(index, expected, actual, partners):
                problem = f"nothing matches the expected item {index} ({show(item)})"
                return f"output: {problem}, in any order"
        return None

    def _match(
        self, first: int, expected: Sequence[Any], actual: Sequence[Any], partners: dict[int, int]
    ) -> bool:
        """Find a partner for an expected item; the partners of others may change for it.

        A breadth-first search for a free item, through items whose partners would have to change.
        """
        through: dict[int, int | None] = {}  # item → the item whose partner wants it
        queue: deque[tuple[int, int | None]] = deque([(first, None)])
        while queue:
            seeker, item = queue.popleft()
            self._spend(len(actual) // _AT_ONCE)
            for index, other in enumerate(actual):
                if index in through or self.difference(expected[seeker], other, ""):
                    continue
                through[index] = item
                if index not in partners:
                    _change_partners(index, first, through, partners)
                    return True
                queue.append((partners[index], index))
        return False

    def difference(self, expected: Any, actual: Any, path: str) -> str | None:
        """Return the first difference of two values of any kind."""
        self._spend(1)
        kind = _kind(actual)
        expected_kind = _kind(expected)
        if kind != expected_kind:
            return f"{path}: got {kind} ({show(actual)}), expected {expected_kind}"
        ending = _ending_difference(expected, actual)
        if ending:
            return f"{path}: {ending}"
        match expected:
            case Array():
                return self._arrays(expected, actual, path)
            case Table():
                return self._tables(expected, actual, path)
            case list() | tuple():
                return self._sequences(expected, actual, path)
            case dict():
                return self._containers(expected, actual, path)
        if self._are_equal(expected, actual):
            return None
        text = "different" if self.is_search else self.comparison.describe(expected, actual)
        return f"{path}: {text}"

    def _are_equal(self, expected: Any, actual: Any) -> bool:
        """Compare two numbers, texts or the like of one type."""
        if isinstance(expected, float | complex):
            close = self.comparison.close_floats
            return close(expected.real, actual.real) and close(expected.imag, actual.imag)
        if isinstance(expected, str | bytes):
            self._spend(min(len(expected), len(actual)) // _AT_ONCE)
        return bool(expected == actual)

    def _first(self, pairs: Iterable[tuple[str, Any, Any]]) -> str | None:
        """Return the first difference among triples of a path and two values."""
        for path, expected, actual in pairs:
            difference = self.difference(expected, actual, path)
            if difference:
                return difference
        return None

    def _sequences(self, expected: Sequence[Any], actual: Sequence[Any], path: str) -> str | None:
        if len(expected) != len(actual):
            return f"{path}: {plural(len(actual), 'item')}, expected {len(expected):,}"
        paths = (f"{path}[{index}]" for index in range(len(expected)))
        return self._first(zip(paths, expected, actual, strict=True))

    def _arrays(self, expected: Array, actual: Array, path: str) -> str | None:
        if expected.dtype != actual.dtype:
            return f"{path}: dtype {actual.dtype}, expected {expected.dtype}"
        want = expected.values
        got = actual.values
        if want.shape != got.shape:
            return f"{path}: shape {got.shape}, expected {want.shape}"
        self._spend(_WORK_OF_AN_ARRAY + max(want.size, want.nbytes // 8) // _AT_ONCE)
        checker = self.comparison.checker
        if checker:
            return CHECKERS[checker](want, got, self.comparison, path)
        return _report(self._equal_items(want, got), want, got, path, self.comparison)

    def _equal_items(self, want: np.ndarray, got: np.ndarray) -> np.ndarray:
        """Return where two arrays of one dtype and shape are equal."""
        if want.dtype.kind in "mM":
            return np.asarray((want == got) | (np.isnat(want) & np.isnat(got)))
        if want.dtype.kind not in "fc":
            return np.asarray(want == got)
        close = self.comparison.close(want, got)
        if self.comparison.sign_invariant and not close.all():
            mirrored = self.comparison.close(want, -got)
            return mirrored if mirrored.all() else close
        return close

    def _containers(self, expected: Any, actual: Any, path: str) -> str | None:
        """Compare sets, whose items are compared exactly, or dicts, whose keys are."""
        form = next(iter(expected))
        want = self._by_key(expected, form)
        got = self._by_key(actual, form)
        if len(actual[form]) != len(got):
            return f"{path}: got a {form} with a duplicate"
        if want.keys() != got.keys():
            what = "items" if form == "set" else "keys"
            return f"{path}: got {what} {show(sorted(got))}, expected {show(sorted(want))}"
        return None if form == "set" else self._values(want, got, path)

    def _values(self, expected: Any, actual: Any, path: str) -> str | None:
        """Compare the values of two dicts, given key → pair of key and value."""
        return self._first(
            (f"{path}[{cut(key, MAX_SHOWN)}]", expected[key][1], actual[key][1]) for key in expected
        )

    def _by_key(self, container: Any, form: str) -> dict[str, Any]:
        return {self._key(item if form == "set" else item[0]): item for item in container[form]}

    def _key(self, value: Any) -> str:
        """Return a text that only equal items of a set, or equal keys of a dict, share."""
        if isinstance(value, Array):
            key = f"{value!r} {value.values.tobytes().hex()}"
        elif isinstance(value, tuple):
            key = f"({', '.join(map(self._key, value))},)"
        else:
            key = repr(value)
        self._spend(1 + len(key) // _AT_ONCE)
        return key

    def _tables(self, expected: Table, actual: Table, path: str) -> str | None:
        if len(expected.series) != len(actual.series):
            count = plural(len(actual.series), "column")
            return f"{path}: {count}, expected {len(expected.series):,}"
        if expected.kind == "object array":
            return self._object_arrays(expected.series[0], actual.series[0], path)
        parts: list[tuple[str, Any, Any]] = [
            (f"{path}.columns", expected.columns, actual.columns),
            (f"{path}.index", expected.index, actual.index),
        ]
        for want, got in zip(expected.series, actual.series, strict=True):
            where = f"{path}[{show(want[1])}]"
            paths = f"{where}.dtype", f"{where}.name", where
            parts += zip(paths, want, got, strict=True)
        return self._first(parts)

    def _object_arrays(
        self, expected: tuple[str, Any, Any], actual: tuple[str, Any, Any], path: str
    ) -> str | None:
        """Compare two arrays of objects, given as dtype, shape and values."""
        if self.difference(expected[1], actual[1], path):
            return f"{path}: shape {show(actual[1])}, expected {show(expected[1])}"
        paths = f"{path}.dtype", f"{path}.shape", f"{path}.flat"
        return self._first(zip(paths, expected, actual, strict=True))


def _change_partners(
    free: int, first: int, through: dict[int, int | None], partners: dict[int, int]
) -> None:
    """Hand partners along the way that a search took: `first` gets one as well."""
    while (previous := through[free]) is not None:
        partners[free] = partners[previous]
        free = previous
    partners[free] = first


def _kind(value: Any) -> str:
    if isinstance(value, Array | Table):
        return value.kind
    if isinstance(value, dict):
        return str(next(iter(value)))
    return "None" if value is None else type(value).__name__


def _ending_difference(expected: Any, actual: Any) -> str:
    """Describe two results of `lmrbench_cases.outcome` of which one was returned, one raised."""
    match expected, actual:
        case ("raised", error), ("returned", value):
            name = cut(str(error), MAX_SHOWN)
            return f"returned a value ({show(value)}) where {name} was expected"
        case ("returned", _), ("raised", error):
            return f"raised {show(error)} where a value was expected"
    return ""


def _report(
    equal: np.ndarray, want: np.ndarray, got: np.ndarray, path: str, comparison: Comparison
) -> str | None:
    """Describe the first items that differ; None if all are equal."""
    if equal.all():
        return None
    place = tuple(int(i) for i in np.unravel_index(int(equal.argmin()), equal.shape))
    where = f"{path}{list(place)}" if place else path
    difference = comparison.describe(want[place].item(), got[place].item())
    return f"{where}: {difference}{_count_of_different(equal)}"


def _count_of_different(equal: np.ndarray) -> str:
    different = equal.size - int(np.count_nonzero(equal))
    return f", {different} of {equal.size} values differ" if equal.size > 1 else ""


def _total_variation(
    want: np.ndarray, got: np.ndarray, comparison: Comparison, path: str
) -> str | None:
    """Compare two distributions by half the sum of absolute differences, at most `atol`."""
    distance = 0.5 * float(np.abs(want.astype(np.float64) - got.astype(np.float64)).sum())
    if distance <= comparison.atol:
        return None
    shown = above(distance, comparison.atol)
    return f"{path}: total variation {shown}, tolerance {comparison.atol:g}"


#: The checkers for `@compare(checker=...)`; each compares two arrays of equal dtype and shape.
CHECKERS: dict[str, Callable[[np.ndarray, np.ndarray, Comparison, str], str | None]] = {
    "total_variation": _total_variation,
}
