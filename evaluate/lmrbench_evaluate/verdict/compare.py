"""Compare outputs with recorded ones: type, dtype, shape, then value.

The trust boundary of the benchmark: this runs outside the sandbox, on data that `decode` read, and no other place
decides what is equal (`tolerance` says how close numbers must be). `first_difference` returns None or one line on the
place and size of the difference. Its work is bounded, because the tested code chooses its output.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from lmrbench_data.base.text import cut, plural

from .decode import Array, Table
from .tolerance import MAX_SHOWN, Comparison, above, show

#: Limit of a comparison in units of one or two microseconds. The benchmark's own outputs take less than 20,000.
MAX_WORK = 300_000
_WORK_OF_AN_ARRAY = 50
#: Characters, bytes or numbers of an array compared in one unit.
_AT_ONCE = 100


class TooLargeError(ValueError):
    """Two values take too long to compare."""


def first_difference(expected: Any, actual: Any, comparison: Comparison) -> str | None:
    """Return the first difference from `expected`, None if there is none; TooLargeError after `MAX_WORK`."""
    walk = _Walk(comparison)
    if (
        comparison.unordered
        and isinstance(expected, (list, tuple))
        and type(expected) is type(actual)
    ):
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
        """Match the items one to one; a match may change later: within tolerances an item can fit several."""
        if len(expected) != len(actual):
            return f"output: {plural(len(actual), 'item')}, expected {len(expected):,}"
        self.is_search = True
        taken: dict[int, int] = {}  # index in actual → index in expected
        for first, item in enumerate(expected):
            # Breadth-first search for a free item, through items whose partners would have to change.
            reached: dict[int, int | None] = {}
            queue: deque[tuple[int, int | None]] = deque([(first, None)])
            free: int | None = None
            while queue and free is None:
                seeker, through = queue.popleft()
                self._spend(len(actual) // _AT_ONCE)
                for index, other in enumerate(actual):
                    if (
                        index not in reached
                        and self.difference(expected[seeker], other, "") is None
                    ):
                        reached[index] = through
                        if index not in taken:
                            free = index
                            break
                        queue.append((taken[index], index))
            if free is None:
                return f"output: nothing matches the expected item {first} ({show(item)}), in any order"
            while (through := reached[free]) is not None:
                taken[free], free = taken[through], through
            taken[free] = first
        return None

    def difference(self, expected: Any, actual: Any, path: str) -> str | None:
        """Return the first difference of two values of any kind."""
        self._spend(1)
        kinds = _kind(expected), _kind(actual)
        if kinds[0] != kinds[1]:
            return f"{path}: got {kinds[1]} ({show(actual)}), expected {kinds[0]}"
        if words := _ending_difference(expected, actual):
            return f"{path}: {words}"
        if isinstance(expected, Array):
            return self._arrays(expected, actual, path)
        if isinstance(expected, Table):
            return self._tables(expected, actual, path)
        if isinstance(expected, (list, tuple)):
            if len(expected) != len(actual):
                return f"{path}: {plural(len(actual), 'item')}, expected {len(expected):,}"
            pairs = (
                (f"{path}[{i}]", e, a)
                for i, (e, a) in enumerate(zip(expected, actual, strict=True))
            )
            return self._first(pairs)
        if isinstance(expected, dict):
            return self._containers(expected, actual, path)
        if isinstance(expected, float | complex):
            close = self.comparison.close_floats
            is_close = close(expected.real, actual.real) and close(expected.imag, actual.imag)
            return None if is_close else self._different(expected, actual, path)
        if isinstance(expected, (str, bytes)):
            self._spend(min(len(expected), len(actual)) // _AT_ONCE)
        return None if expected == actual else self._different(expected, actual, path)

    def _different(self, expected: Any, actual: Any, path: str) -> str:
        return f"{path}: {'different' if self.is_search else self.comparison.describe(expected, actual)}"

    def _first(self, pairs: Iterable[tuple[str, Any, Any]]) -> str | None:
        return next((found for p, e, a in pairs if (found := self.difference(e, a, p))), None)

    def _arrays(self, expected: Array, actual: Array, path: str) -> str | None:
        if expected.dtype != actual.dtype:
            return f"{path}: dtype {actual.dtype}, expected {expected.dtype}"
        want, got = expected.values, actual.values
        if want.shape != got.shape:
            return f"{path}: shape {got.shape}, expected {want.shape}"
        comparison = self.comparison
        self._spend(_WORK_OF_AN_ARRAY + max(want.size, want.nbytes // 8) // _AT_ONCE)
        if comparison.checker:
            return CHECKERS[comparison.checker](want, got, comparison, path)
        if want.dtype.kind not in "fc":
            equal = np.asarray(want == got)
            if want.dtype.kind in "mM":
                equal |= np.isnat(want) & np.isnat(got)
            return _report(equal, want, got, path, comparison)
        close = comparison.close(want, got)
        if comparison.sign_invariant and not close.all():
            mirrored = comparison.close(want, -got)
            close = mirrored if mirrored.all() else close
        return _report(close, want, got, path, comparison)

    def _containers(self, expected: Any, actual: Any, path: str) -> str | None:
        """Compare sets, whose items are compared exactly, or dicts, whose keys are."""
        form = next(iter(expected))
        want, got = self._by_key(expected, form), self._by_key(actual, form)
        if len(actual[form]) != len(got):
            return f"{path}: got a {form} with a duplicate"
        if want.keys() != got.keys():
            what = "items" if form == "set" else "keys"
            return f"{path}: got {what} {show(sorted(got))}, expected {show(sorted(want))}"
        if form == "set":
            return None
        return self._first(
            (f"{path}[{cut(key, MAX_SHOWN)}]", item, got[key][1]) for key, (_, item) in want.items()
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
        parts: list[tuple[str, Any, Any]] = [
            (f"{path}.columns", expected.columns, actual.columns),
            (f"{path}.index", expected.index, actual.index),
        ]
        if len(expected.series) != len(actual.series):
            return (
                f"{path}: {plural(len(actual.series), 'column')}, expected {len(expected.series):,}"
            )
        for want, got in zip(expected.series, actual.series, strict=True):
            where = f"{path}[{show(want[1])}]"
            parts += [
                (f"{where}.dtype", want[0], got[0]),
                (f"{where}.name", want[1], got[1]),
                (where, want[2], got[2]),
            ]
        return self._first(parts)


def _kind(value: Any) -> str:
    if isinstance(value, Array | Table):
        return value.kind
    if isinstance(value, dict):
        return str(next(iter(value)))
    return "None" if value is None else type(value).__name__


def _ending_difference(expected: Any, actual: Any) -> str:
    """Describe two values of `lmrbench_cases.outcome` of which one was returned and the other raised."""
    if not (
        isinstance(expected, tuple)
        and isinstance(actual, tuple)
        and len(expected) == len(actual) == 2
    ):
        return ""
    if (expected[0], actual[0]) == ("raised", "returned"):
        return f"returned a value ({show(actual[1])}) where {cut(str(expected[1]), MAX_SHOWN)} was expected"
    if (expected[0], actual[0]) == ("returned", "raised"):
        return f"raised {show(actual[1])} where a value was expected"
    return ""


def _report(
    equal: np.ndarray, want: np.ndarray, got: np.ndarray, path: str, comparison: Comparison
) -> str | None:
    if equal.all():
        return None
    place = tuple(int(i) for i in np.unravel_index(int(equal.argmin()), equal.shape))
    where = f"{path}{list(place)}" if place else path
    count = (
        f", {equal.size - int(np.count_nonzero(equal))} of {equal.size} values differ"
        if equal.size > 1
        else ""
    )
    return f"{where}: {comparison.describe(want[place].item(), got[place].item())}{count}"


def _total_variation(
    want: np.ndarray, got: np.ndarray, comparison: Comparison, path: str
) -> str | None:
    """Compare two distributions by half the sum of absolute differences, which may be at most `atol`."""
    distance = 0.5 * float(np.abs(want.astype(np.float64) - got.astype(np.float64)).sum())
    if distance <= comparison.atol:
        return None
    return (
        f"{path}: total variation {above(distance, comparison.atol)}, tolerance {comparison.atol:g}"
    )


#: The checkers for `@compare(checker=...)`; each compares two arrays of equal dtype and shape.
CHECKERS: dict[str, Callable[[np.ndarray, np.ndarray, Comparison, str], str | None]] = {
    "total_variation": _total_variation,
}
