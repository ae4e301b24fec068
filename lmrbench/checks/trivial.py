"""Find cases that a trivial answer passes, by changing recorded outputs without regard to the inputs.

A trivial answer has the structure, types and shapes of the reference's outputs and other values: constants, means, the
same values in another order or with the opposite sign, the output of another seed. Nothing runs.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
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
#: How a trivial answer changes an array, apart from its dtype.
_CHANGES: Mapping[str, Callable[[np.ndarray], Any]] = {
    "all 0": np.zeros_like,
    "all 1": np.ones_like,
    "replaced by the mean of each array": np.mean,
    "negated": lambda array: ~array if array.dtype == bool else -array,
    "reversed along axis -1": lambda array: np.flip(array, -1),
    "reversed along axis -2": lambda array: np.flip(array, -2) if array.ndim > 1 else array,
    "rolled along axis -1": lambda array: np.roll(array, 1, -1),
    "sorted along axis -1": lambda array: np.sort(array, -1),
    "sorted along axis -2": lambda array: np.sort(array, -2) if array.ndim > 1 else array,
}
_ORDERS = ("reversed", "rolled", "sorted")


class Weakness(NamedTuple):
    """A case, and the trivial answers that pass it."""

    case: str
    core: bool
    passing: list[str]


def note_on_seeds(row: DatasetRow) -> Finding:
    """Report cases with the same output for every seed; a core case among them is an error.

    Such a case can be memorised; fresh seeds do not help.
    """
    cases = row["tests"]["cases"]
    constant = [case["name"] for case in cases if not case["varies"]]
    core = [case["name"] for case in cases if case["core"] and not case["varies"]]
    error = f"core cases must vary with the seed: {', '.join(core)}" if core else ""
    note = f"{len(cases) - len(constant)} of {plural(len(cases), 'case')} vary with the seed"
    note += f"; constant: {', '.join(constant)}" if constant else ""
    return Finding.of(row["instance_id"], SEEDS, error, note)


def note_on_trivial_answers(row: DatasetRow) -> Finding:
    """Report trivial answers that pass a case; one that passes a core case is an error.

    Raises:
        StreamError: the recording is damaged.
    """

    def join_names(weak: Sequence[Weakness]) -> str:
        return "; ".join(f"{item.case} ({', '.join(item.passing)})" for item in weak)

    every = list(weaknesses(row))
    core, contract = ([item for item in every if item.core is core] for core in (True, False))
    number = sum(not case["core"] for case in row["tests"]["cases"])
    note = f"no core case passes them, {len(contract)} of {number} contract cases do"
    error = f"core cases must refuse them: {join_names(core)}" if core else ""
    note += f": {join_names(contract)}" if contract else ""
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
            passing += [
                name for name, answers in _answers(expected, how) if _passes(expected, answers, how)
            ]
        if passing:
            yield Weakness(case["name"], case["core"], passing)


def _passes(expected: Sequence[Any], answers: Iterable[Any], how: Comparison) -> bool:
    """Return whether an answer passes on all seeds; unchanged outputs (a palindrome, say) are right."""
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
    arrays = [array for output in expected for array in _arrays(output)]
    # Right counts and labels beside wrong floats must fail, too.
    what, kinds = (
        ("floats", "fc")
        if any(array.dtype.kind in "fc" for array in arrays)
        else ("numbers", "iub")
    )
    arrays = [array for array in arrays if array.dtype.kind in kinds and array.size]
    if not arrays:
        return
    overall = np.mean(np.concatenate([array.ravel() for array in arrays]))
    no_order = how.unordered and any(_vector(output) is not None for output in expected)
    for name, change in {
        **_CHANGES,
        "replaced by their overall mean": lambda array: overall,
    }.items():
        if not (
            (name == "negated" and how.sign_invariant) or (no_order and name.startswith(_ORDERS))
        ):
            yield f"{what} {name}", (_changed(output, kinds, change) for output in expected)


def _vector(value: Any) -> np.ndarray | None:
    """Convert a number, or a list or tuple of numbers of one type, to an array; None for other values."""
    items = value if isinstance(value, list | tuple) and value else [value]
    kind = type(items[0])
    if kind not in (bool, int, float, complex) or any(type(item) is not kind for item in items):
        return None
    array = np.asarray(value)
    return array if array.dtype.kind in "bifc" else None  # no integers beyond 64 bits


def _changed(value: Any, kinds: str, change: Callable[[np.ndarray], Any]) -> Any:
    """Change the arrays, numbers and lists of numbers in an output whose dtype is of one of these kinds."""
    array = value.values if isinstance(value, Array) else _vector(value)
    if array is not None:
        if array.dtype.kind not in kinds or not array.size:
            return value
        new = change(array if array.ndim else array[None])
        new = new if array.dtype.kind in "fc" else np.rint(new)
        new = np.broadcast_to(np.asarray(new).astype(array.dtype), array.shape or (1,)).reshape(
            array.shape
        )
        return (
            dataclasses.replace(value, values=new)
            if isinstance(value, Array)
            else type(value)(new.tolist())
        )
    if isinstance(value, list | tuple):
        return type(value)(_changed(item, kinds, change) for item in value)
    if isinstance(value, dict) and "dict" in value:
        return {"dict": [(key, _changed(item, kinds, change)) for key, item in value["dict"]]}
    if isinstance(value, Table):
        series = tuple(
            (kind, name, _changed(item, kinds, change)) for kind, name, item in value.series
        )
        return dataclasses.replace(value, series=series)
    return value


def _arrays(value: Any) -> list[np.ndarray]:
    """Return the arrays that `_changed` changes."""
    arrays: list[np.ndarray] = []

    def keep(array: np.ndarray) -> np.ndarray:
        arrays.append(array)
        return array

    _changed(value, "iufcb", keep)
    return arrays
