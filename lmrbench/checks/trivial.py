"""Find cases that a trivial answer passes, by changing recorded outputs and ignoring the inputs.

A trivial answer has the structure, types and shapes of the reference's outputs and other values:
constants, means, the same values in another order or with the opposite sign, the output of another
seed. Nothing runs.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import Any, NamedTuple

import numpy as np

from lmrbench_data.base.text import plural
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_evaluate.verdict.compare import first_difference
from lmrbench_evaluate.verdict.decode import Array, Table, decode
from lmrbench_evaluate.verdict.expected import read_expected
from lmrbench_evaluate.verdict.tolerance import Comparison

from .trials import SEEDS, TRIVIAL, Finding

#: A smaller difference comes from another order of additions.
_ROUNDING = Comparison({"rtol": 1e-6, "atol": 1e-12})


class Change(NamedTuple):
    """How a trivial answer changes an array, apart from its dtype."""

    name: str
    function: Callable[[np.ndarray], Any]
    reorders: bool = False
    negates: bool = False

    def is_right(self, sign_is_free: bool, order_is_free: bool) -> bool:
        """Return whether a comparison has to accept the changed array."""
        return (self.negates and sign_is_free) or (self.reorders and order_is_free)


def _rows(function: Callable[[np.ndarray, int], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """Apply a function along axis -2, which vectors lack."""
    return lambda array: function(array, -2) if array.ndim > 1 else array


_CHANGES = (
    Change("all 0", np.zeros_like),
    Change("all 1", np.ones_like),
    Change("replaced by the mean of each array", np.mean),
    Change("negated", lambda array: ~array if array.dtype == bool else -array, negates=True),
    Change("reversed along axis -1", lambda array: np.flip(array, -1), reorders=True),
    Change("reversed along axis -2", _rows(np.flip), reorders=True),
    Change("rolled along axis -1", lambda array: np.roll(array, 1, -1), reorders=True),
    Change("sorted along axis -1", lambda array: np.sort(array, -1), reorders=True),
    Change("sorted along axis -2", _rows(np.sort), reorders=True),
)


class Weakness(NamedTuple):
    """A case, and the trivial answers that pass it."""

    case: str
    core: bool
    passing: list[str]

    def __str__(self) -> str:
        return f"{self.case} ({', '.join(self.passing)})"


def note_on_seeds(row: DatasetRow) -> Finding:
    """Report cases with the same output for every seed; a core case among them is an error.

    Such a case can be memorised; fresh seeds do not help.
    """
    cases = row["tests"]["cases"]
    constant = [case for case in cases if not case["varies"]]
    names = ", ".join(case["name"] for case in constant)
    core = ", ".join(case["name"] for case in constant if case["core"])
    error = f"core cases must vary with the seed: {core}" if core else ""
    note = f"{len(cases) - len(constant)} of {plural(len(cases), 'case')} vary with the seed"
    if constant:
        note += f"; constant: {names}"
    return Finding.of(row["instance_id"], SEEDS, error, note)


def note_on_trivial_answers(row: DatasetRow) -> Finding:
    """Report trivial answers that pass a case; one that passes a core case is an error.

    Raises:
        StreamError: the recording is damaged.
    """
    weak = list(weaknesses(row))
    core = "; ".join(str(weakness) for weakness in weak if weakness.core)
    contract = [str(weakness) for weakness in weak if not weakness.core]
    error = f"core cases must refuse them: {core}" if core else ""
    number = sum(not case["core"] for case in row["tests"]["cases"])
    note = f"no core case passes them, {len(contract)} of {number} contract cases do"
    if contract:
        note += f": {'; '.join(contract)}"
    return Finding.of(row["instance_id"], TRIVIAL, error, note)


def weaknesses(row: DatasetRow) -> Iterator[Weakness]:
    """Yield cases that a trivial answer passes on all seeds, or whose outputs agree for two seeds.

    Cases that do not vary have outputs for one seed only and are skipped.

    Raises:
        StreamError: the recording is damaged.
    """
    outputs: dict[str, dict[int, Any]] = {}
    for frame in read_expected(row):
        outputs.setdefault(frame.case, {})[frame.seed] = decode(frame.payload)
    for case in row["tests"]["cases"]:
        if case["varies"]:
            passing = _passing_answers(outputs[case["name"]], Comparison(case))
            if passing:
                yield Weakness(case["name"], case["core"], passing)


def _passing_answers(outputs: Mapping[int, Any], how: Comparison) -> list[str]:
    """Return the names of the trivial answers that pass, given a case's outputs by seed."""
    passing = []
    expected = list(outputs.values())
    with np.errstate(all="ignore"):  # a mean of infinities is as good an answer as any
        for one, other in combinations(outputs, 2):
            first, second = outputs[one], outputs[other]
            if _equal(first, second, how) or _equal(second, first, how):
                passing.append(f"seeds {one} and {other} agree")
        for name, answers in _answers(expected, how):
            if _passes(expected, answers, how):
                passing.append(name)
    return passing


def _passes(expected: Sequence[Any], answers: Iterable[Any], how: Comparison) -> bool:
    """Return whether an answer passes on all seeds.

    Unchanged outputs, such as palindromes, are right.
    """
    changed = False
    for output, answer in zip(expected, answers, strict=True):
        if not _equal(output, answer, how):
            return False
        changed = changed or not _equal(output, answer, _ROUNDING)
    return changed


def _equal(expected: Any, actual: Any, how: Comparison) -> bool:
    return first_difference(expected, actual, how) is None


def _answers(expected: Sequence[Any], how: Comparison) -> Iterator[tuple[str, Iterable[Any]]]:
    """Yield name and outputs, one for each seed, of every trivial answer that must fail."""
    if not how.unordered and all(isinstance(output, list | tuple) for output in expected):
        yield "items reversed", [output[::-1] for output in expected]
    what, kinds, values = _numbers(expected)
    if not values.size:
        return
    for change in _wrong_changes(expected, how, values.mean()):
        answers = (_changed(output, kinds, change.function) for output in expected)
        yield f"{what} {change.name}", answers


def _wrong_changes(expected: Sequence[Any], how: Comparison, mean: Any) -> list[Change]:
    """Return the changes that a comparison must not accept."""
    is_free = how.unordered and any(_vector(output) is not None for output in expected)
    changes = [*_CHANGES, Change("replaced by their overall mean", lambda array: mean)]
    return [change for change in changes if not change.is_right(how.sign_invariant, is_free)]


def _numbers(expected: Iterable[Any]) -> tuple[str, str, np.ndarray]:
    """Return what a trivial answer changes: floats or other numbers, their kinds, all values.

    Right counts and labels beside wrong floats must fail, too.
    """
    arrays = list(chain.from_iterable(map(_arrays, expected)))
    is_float = any(array.dtype.kind in "fc" for array in arrays)
    what, kinds = ("floats", "fc") if is_float else ("numbers", "iub")
    values = [array.ravel() for array in arrays if array.dtype.kind in kinds]
    return what, kinds, np.concatenate(values) if values else np.array([])


def _vector(value: Any) -> np.ndarray | None:
    """Convert a number, or a list or tuple of numbers of one type, to an array; otherwise None."""
    items = value if isinstance(value, list | tuple) and value else [value]
    kind = type(items[0])
    if kind not in (bool, int, float, complex) or any(type(item) is not kind for item in items):
        return None
    array = np.asarray(value)
    return array if array.dtype.kind in "bifc" else None  # no integers beyond 64 bits


def _changed(value: Any, kinds: str, function: Callable[[np.ndarray], Any]) -> Any:
    """Change the arrays, numbers and lists of numbers of these kinds of dtype in an output."""

    def change(item: Any) -> Any:
        return _changed(item, kinds, function)

    if isinstance(value, Array):
        return dataclasses.replace(value, values=_changed_array(value.values, kinds, function))
    vector = _vector(value)
    if vector is not None:
        return type(value)(_changed_array(vector, kinds, function).tolist())
    return _changed_items(value, change)


def _changed_items(value: Any, change: Callable[[Any], Any]) -> Any:
    """Change the items of a container; another value stays."""
    if isinstance(value, list | tuple):
        return type(value)(map(change, value))
    if isinstance(value, dict) and "dict" in value:
        return {"dict": [(key, change(item)) for key, item in value["dict"]]}
    if isinstance(value, Table):
        series = tuple((kind, name, change(item)) for kind, name, item in value.series)
        return dataclasses.replace(value, series=series)
    return value


def _changed_array(
    array: np.ndarray, kinds: str, function: Callable[[np.ndarray], Any]
) -> np.ndarray:
    if array.dtype.kind not in kinds or not array.size:
        return array
    new = function(np.atleast_1d(array))
    if array.dtype.kind not in "fc":
        new = np.rint(new)
    new = np.asarray(new).astype(array.dtype)
    return np.broadcast_to(new, array.shape or (1,)).reshape(array.shape)


def _arrays(value: Any) -> list[np.ndarray]:
    """Return the arrays that `_changed` changes."""
    arrays: list[np.ndarray] = []

    def keep(array: np.ndarray) -> np.ndarray:
        arrays.append(array)
        return array

    _changed(value, "iufcb", keep)
    return arrays
