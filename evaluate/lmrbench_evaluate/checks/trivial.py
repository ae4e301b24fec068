"""Find cases that a trivial answer passes, by changing recorded outputs without regard to the inputs.

A trivial answer has the structure, types and shapes of the reference's outputs and other values: constants, means, the
same values in another order or with the opposite sign, the output of another seed. Nothing runs.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from lmrbench_data.dataset.rows import DatasetRow

from ..verdict.compare import Comparison, first_difference
from ..verdict.decode import Array, Table, decode
from ..verdict.expected import read_expected
from .trials import TRIVIAL, Finding

#: Maps an array to another one of the same dtype and shape.
Change = Callable[[np.ndarray], np.ndarray]
#: A smaller difference comes from another order of additions.
_ROUNDING = Comparison({"rtol": 1e-6, "atol": 1e-12})


class Weakness(NamedTuple):
    """A case, and the trivial answers that pass it."""

    case: str
    core: bool
    passing: list[str]


def note_on_trivial_answers(row: DatasetRow) -> Finding:
    """Report trivial answers that pass a case; one that passes a core case is an error.

    Raises:
        StreamError: the recording is damaged.
    """

    def listed(weak: Sequence[Weakness]) -> str:
        return "; ".join(f"{item.case} ({', '.join(item.passing)})" for item in weak)

    every = list(weaknesses(row))
    core, contract = ([item for item in every if item.core is core] for core in (True, False))
    number = sum(not case["core"] for case in row["tests"]["cases"])
    note = f"no core case passes them, {len(contract)} of {number} contract cases do"
    facts = {
        "trivial_core_cases": {item.case: item.passing for item in core},
        "trivial_contract_cases": {item.case: item.passing for item in contract},
    }
    error = f"core cases must refuse them: {listed(core)}" if core else ""
    note += f": {listed(contract)}" if contract else ""
    return Finding.of(row["instance_id"], TRIVIAL, error, note, facts=facts)


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
        by_seed, how = outputs[case["name"]], Comparison(case)
        if not case["varies"]:
            continue
        with np.errstate(all="ignore"):  # a mean of infinities is as good an answer as any
            passing = [
                f"seeds {one} and {other} agree"
                for (one, first), (other, second) in combinations(by_seed.items(), 2)
                if _equal(first, second, how) or _equal(second, first, how)
            ]
            expected = list(by_seed.values())
            passing += [name for name, answers in _answers(expected, how) if _passes(expected, answers, how)]
        if passing:
            yield Weakness(case["name"], case["core"], passing)


def _passes(expected: Sequence[Any], answers: Iterable[Any], how: Comparison) -> bool:
    """Whether an answer passes on all seeds; unchanged outputs are right: a palindrome, the mean of a single number."""
    changed = False
    for output, answer in zip(expected, answers, strict=True):
        if not _equal(output, answer, how):
            return False
        changed = changed or not _equal(output, answer, _ROUNDING)
    return changed


def _equal(expected: Any, actual: Any, how: Comparison) -> bool:
    return first_difference(expected, actual, how) is None


def _answers(expected: Sequence[Any], how: Comparison) -> Iterator[tuple[str, Iterable[Any]]]:
    """Yield the name and the outputs, one for each seed, of every trivial answer that must fail this comparison."""
    if not how.unordered and all(isinstance(output, list | tuple) for output in expected):
        yield "items reversed", [output[::-1] for output in expected]
        yield "items rolled", [output[1:] + output[:1] for output in expected]
    no_order = how.unordered and any(_vector(output) is not None for output in expected)
    for what, kinds in (("floats", "fc"), ("numbers", "iufcb")):
        arrays = [_arrays(output, kinds) for output in expected]
        if all(array.dtype.kind in "fc" for own in arrays for array in own) is (what == "numbers"):
            continue
        for name, change in _CHANGES.items():
            if not ((name == "negated" and how.sign_invariant) or (no_order and name in _ORDERS)):
                yield f"{what} {name}", (_changed(output, kinds, change) for output in expected)
        means = [
            [np.mean(np.concatenate([array.ravel() for array in own]))] * len(own) if own else [] for own in arrays
        ]
        overall = (_filled(output, kinds, mean) for output, mean in zip(expected, means, strict=True))
        yield f"{what} replaced by their overall mean", overall
        if len({tuple((array.shape, array.dtype.str) for array in own) for own in arrays}) == 1:
            averages = [np.mean(np.stack(same), axis=0) for same in zip(*arrays, strict=True)]
            yield f"{what} averaged over the seeds", (_filled(output, kinds, averages) for output in expected)


def _like(values: Any, array: np.ndarray) -> np.ndarray:
    """Convert values to the dtype and shape of an array, rounded for integers and booleans."""
    rounded = values if array.dtype.kind in "fc" else np.rint(values)
    return np.broadcast_to(np.asarray(rounded).astype(array.dtype), array.shape)


def _along(change: Callable[[np.ndarray, int], np.ndarray], axis: int) -> Change:
    """Change the arrays that have this axis, counted from the last."""
    return lambda array: change(array, -axis) if array.ndim >= axis else array


#: Changes of order alone, by name.
_ORDERS: Mapping[str, Change] = {
    **{f"reversed along axis -{axis}": _along(np.flip, axis) for axis in (1, 2, 3, 4)},
    **{f"rolled along axis -{axis}": _along(lambda a, n: np.roll(a, 1, n), axis) for axis in (1, 2, 3, 4)},
    **{f"sorted along axis -{axis}": _along(np.sort, axis) for axis in (1, 2)},
}
_CHANGES: Mapping[str, Change] = {
    "all 0": np.zeros_like,
    "all 1": np.ones_like,
    "replaced by the mean of each array": lambda array: _like(array.mean(), array) if array.size else array,
    "negated": lambda array: ~array if array.dtype == bool else -array,
    **_ORDERS,
}


def _vector(value: Any) -> np.ndarray | None:
    """Convert a number, or a list or tuple of numbers of one type, to an array; None for other values."""
    items = value if isinstance(value, list | tuple) and value else [value]
    kind = type(items[0])
    if kind not in (bool, int, float, complex) or any(type(item) is not kind for item in items):
        return None
    array = np.asarray(value)
    return array if array.dtype.kind in "bifc" else None  # no integers beyond 64 bits


def _changed(value: Any, kinds: str, change: Change) -> Any:
    """Change the arrays, numbers and lists of numbers in an output whose dtype is of one of these kinds."""

    def inner(child: Any) -> Any:
        return _changed(child, kinds, change)

    array = value.values if isinstance(value, Array) else _vector(value)
    if array is not None and array.dtype.kind not in kinds:
        return value
    if isinstance(value, Array):
        return dataclasses.replace(value, values=change(value.values))
    if array is not None:
        return type(value)(change(array).tolist())
    if isinstance(value, list | tuple):
        return type(value)(map(inner, value))
    if isinstance(value, dict) and "dict" in value:
        return {"dict": [(key, inner(item)) for key, item in value["dict"]]}
    if isinstance(value, Table):
        return dataclasses.replace(value, series=tuple((kind, name, inner(item)) for kind, name, item in value.series))
    return value


def _arrays(value: Any, kinds: str) -> list[np.ndarray]:
    """Return the arrays that `_changed` changes, in order."""
    arrays: list[np.ndarray] = []

    def keep(array: np.ndarray) -> np.ndarray:
        arrays.append(array)
        return array

    _changed(value, kinds, keep)
    return arrays


def _filled(value: Any, kinds: str, values: Iterable[Any]) -> Any:
    """Replace the arrays of an output by others of their shapes."""
    following = iter(values)
    return _changed(value, kinds, lambda array: _like(next(following), array))
