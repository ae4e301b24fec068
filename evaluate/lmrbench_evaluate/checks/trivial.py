"""Find cases that a trivial answer passes, by changing recorded outputs without regard to the inputs.

A trivial answer has the structure, types and shapes of the reference's outputs and other values: constants, means, the
same values in another order or with the opposite sign, the output of another seed. Nothing runs.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, combinations
from typing import Any, NamedTuple

import numpy as np

from lmrbench_data.dataset.rows import DatasetRow

from ..verdict.compare import Comparison, first_difference
from ..verdict.decode import Array, Table, decode
from ..verdict.expected import read_expected

Numbers = list[np.ndarray]
#: Maps the arrays of an output to others of the same dtypes and shapes.
Change = Callable[[Numbers], Numbers]
#: A smaller difference comes from another order of additions.
_ROUNDING = Comparison({"rtol": 1e-6, "atol": 1e-12})


class Weakness(NamedTuple):
    """A case, and the trivial answers that pass it."""

    case: str
    core: bool
    passing: list[str]


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
        by_seed, comparison = outputs[case["name"]], Comparison(case)
        if not case["varies"]:
            continue
        with np.errstate(all="ignore"):  # a mean of infinities is as good an answer as any
            found = [*_agreeing_seeds(by_seed, comparison), *_passing(list(by_seed.values()), comparison)]
        if found:
            yield Weakness(case["name"], case["core"], found)


def _agreeing_seeds(by_seed: Mapping[int, Any], comparison: Comparison) -> Iterator[str]:
    for (one, first), (other, second) in combinations(by_seed.items(), 2):
        if _equal(first, second, comparison) or _equal(second, first, comparison):
            yield f"seeds {one} and {other} agree"


def _passing(expected: Sequence[Any], comparison: Comparison) -> Iterator[str]:
    """Yield the trivial answers that pass on all seeds."""
    for name, answer in _answers(expected, comparison):
        changed = False
        for number, output in enumerate(expected):
            actual = answer(number)
            if not _equal(output, actual, comparison):
                break
            changed = changed or not _equal(output, actual, _ROUNDING)
        else:
            # Unchanged outputs are the right answer: a reversed palindrome, the mean of a single number.
            if changed:
                yield name


def _equal(expected: Any, actual: Any, comparison: Comparison) -> bool:
    return first_difference(expected, actual, comparison) is None


def _answers(expected: Sequence[Any], comparison: Comparison) -> Iterator[tuple[str, Callable[[int], Any]]]:
    """Yield (name, function from seed number to output) of every trivial answer that must fail this comparison."""
    free = comparison.unordered
    yield "items reversed", lambda seed: _arrange(expected[seed], lambda items: items[::-1], free)
    yield "items rolled", lambda seed: _arrange(expected[seed], lambda items: [*items[1:], *items[:1]], free)
    no_order = free and any(_vector(output) is not None for output in expected)
    for what, kinds in (("floats", "fc"), ("numbers", "iufcb")):
        taken = [list(_numbers(output, kinds)) for output in expected]
        if not any(taken) or (kinds != "fc" and all(array.dtype.kind in "fc" for array in chain(*taken))):
            continue

        def put(change: Change, seed: int, kinds: str = kinds, taken: Sequence[Numbers] = taken) -> Any:
            return _with(expected[seed], kinds, change(taken[seed]))

        for name, change in _CHANGES.items():
            if not ((name == "negated" and comparison.sign_invariant) or (no_order and name in _ORDERS)):
                yield f"{what} {name}", partial(put, change)
        shapes = [[(array.shape, array.dtype) for array in numbers] for numbers in taken]
        if all(shape == shapes[0] for shape in shapes):
            means = [_like(np.mean(np.stack(arrays), axis=0), arrays[0]) for arrays in zip(*taken, strict=True)]
            yield f"{what} averaged over the seeds", partial(put, partial(_constant, means))


def _like(values: Any, array: np.ndarray) -> np.ndarray:
    """Convert values to the dtype and shape of an array, rounded for integers and booleans."""
    rounded = values if array.dtype.kind in "fc" else np.rint(values)
    return np.broadcast_to(np.asarray(rounded).astype(array.dtype), array.shape)


def _constant(numbers: Numbers, _: Numbers) -> Numbers:
    return numbers


def _each(change: Callable[[np.ndarray], Any]) -> Change:
    return lambda numbers: [_like(change(array), array) if array.size else array for array in numbers]


def _along(change: Callable[[np.ndarray, int], np.ndarray], axis: int) -> Change:
    """Change the arrays that have this axis, counted from the last."""
    return lambda numbers: [change(array, -axis) if array.ndim >= axis else array for array in numbers]


def _overall_mean(numbers: Numbers) -> Numbers:
    everything = np.concatenate([array.ravel() for array in numbers]) if numbers else np.zeros(0)
    return [_like(everything.mean(), array) for array in numbers] if everything.size else numbers


def _negated(array: np.ndarray) -> np.ndarray:
    return ~array if array.dtype == bool else -array


#: Changes of order alone, by name.
_ORDERS: Mapping[str, Change] = {
    **{f"reversed along axis -{axis}": _along(np.flip, axis) for axis in (1, 2, 3, 4)},
    **{f"rolled along axis -{axis}": _along(lambda a, n: np.roll(a, 1, n), axis) for axis in (1, 2, 3, 4)},
    **{f"sorted along axis -{axis}": _along(np.sort, axis) for axis in (1, 2)},
}
_CHANGES: Mapping[str, Change] = {
    "all 0": _each(np.zeros_like),
    "all 1": _each(np.ones_like),
    "replaced by the mean of each array": _each(np.mean),
    "replaced by their overall mean": _overall_mean,
    "negated": _each(_negated),
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


def _numbers(value: Any, kinds: str) -> Iterator[np.ndarray]:
    """Yield the arrays in an output with these kinds of dtype, in order."""
    array = value.values if isinstance(value, Array) else _vector(value)
    if array is not None:
        if array.dtype.kind in kinds:
            yield array
        return
    for child in _children(value):
        yield from _numbers(child, kinds)


def _with(value: Any, kinds: str, numbers: Iterable[np.ndarray]) -> Any:
    """Replace the arrays that `_numbers` yields for an output."""
    left = iter(numbers)

    def walk(value: Any) -> Any:
        array = value.values if isinstance(value, Array) else _vector(value)
        if array is None:
            return _rebuilt(value, [walk(child) for child in _children(value)])
        if array.dtype.kind not in kinds:
            return value
        new = next(left)
        if isinstance(value, Array):
            return Array(value.kind, value.dtype, new)
        return type(value)(new.tolist())

    return walk(value)


def _arrange(value: Any, order: Callable[[list[Any]], list[Any]], free: bool = False) -> Any:
    """Reorder all sequences, and the values of all dicts, whose items have the same form.

    Args:
        free: the order of the outermost list does not matter, so it stays.
    """
    if isinstance(value, Array) or _vector(value) is not None:
        return value
    children = [_arrange(child, order) for child in _children(value)]
    alike = len({*map(_form, children)}) == 1
    return _rebuilt(value, order(children) if alike and not (free and isinstance(value, list | tuple)) else children)


def _form(value: Any) -> str:
    """Return a text that is equal for values of the same structure."""
    if isinstance(value, Array):
        return f"{value!r}"
    if isinstance(value, list | tuple):
        return f"{type(value).__name__} {len(value)} {value and _form(value[0])}"
    return next(iter(value)) if isinstance(value, dict) else type(value).__name__


def _children(value: Any) -> list[Any]:
    """Return the values inside a container, without keys and members of sets."""
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, dict) and "dict" in value:
        return [item for _, item in value["dict"]]
    if isinstance(value, Table):
        return [values for _, _, values in value.series]
    return []


def _rebuilt(value: Any, children: list[Any]) -> Any:
    """Return a container of the same kind with other children."""
    if isinstance(value, list | tuple):
        return type(value)(children)
    if isinstance(value, dict) and "dict" in value:
        return {"dict": [(key, child) for (key, _), child in zip(value["dict"], children, strict=True)]}
    if isinstance(value, Table):
        series = zip(value.series, children, strict=True)
        return Table(value.columns, value.index, tuple((dtype, name, new) for (dtype, name, _), new in series))
    return value
