"""Cases that a trivial answer passes are found in the recording; what only looks like one is not."""

import gzip
from collections.abc import Callable
from typing import Any

import numpy as np

from lmrbench.checks.trivial import note_on_trivial_answers, weaknesses
from lmrbench_evaluate.verdict.decode import Frame, write_frame
from support.toy import declared, encode


def noise(seed: int, *shape: int) -> Any:
    return np.random.default_rng([90, seed]).normal(size=shape)


def symmetric(seed: int) -> Any:
    rows = noise(seed, 3, 4)
    return rows @ rows.T


def palindrome(seed: int) -> Any:
    half = noise(seed, 4)
    return np.concatenate([half, half[::-1] * (1 + 1e-9)])


#: Case → its comparison, its output on a seed, and trivial answers that have to be found; none for a sound case.
CASES: dict[str, tuple[dict[str, Any], Callable[[int], Any], set[str]]] = {
    "tolerance_wider_than_the_values": (
        {"atol": 0.02},
        lambda seed: {"names": ["a", "b"], "values": (0.001 * noise(seed, 4)).tolist()},
        {"seeds 0 and 1 agree", "floats all 0", "floats replaced by their overall mean"},
    ),
    "almost_uniform": (
        {"atol": 0.02},
        lambda seed: [((1.0 + 0.001 * noise(seed + row, 3)) * (seed + row + 2)).tolist() for row in range(3)],
        {"floats replaced by the mean of each array", "floats reversed along axis -1"},
    ),
    "equal_items": (
        {},
        lambda seed: [3.0 * (seed + 1), 3.0 * (seed + 1) * (1 + 2e-5)],
        {"floats replaced by the mean of each array", "floats rolled along axis -1"},
    ),
    "seeds_that_agree": (
        {"atol": 0.5},
        lambda seed: {"far": [[100.0, 200.0, 350.0], [500.0, 100.0, 50.0]], "near": seed / 9},
        {"seeds 0 and 1 agree"},
    ),
    "rows_in_any_order_within_the_tolerance": (
        {"atol": 0.6},
        lambda seed: 30.0 * noise(seed, 1, 3) + 0.1 * noise(seed + 5, 4, 1),
        {"floats reversed along axis -2", "floats sorted along axis -2"},
    ),
    "order_of_items_is_free_but_not_theirs": (
        {"unordered": True, "atol": 0.1},
        lambda seed: [[x, x + 0.05] for x in noise(seed, 4).tolist()],
        {"floats reversed along axis -1"},
    ),
    "sign_is_free": ({"sign_invariant": True}, lambda seed: noise(seed, 2, 5), set()),
    "order_is_free": ({"unordered": True}, lambda seed: noise(seed, 5).tolist(), set()),
    "order_of_pairs_is_free": (
        {"unordered": True},
        lambda seed: [(name, float(noise(seed + number))) for number, name in enumerate("abc")],
        set(),
    ),
    "symmetric_by_nature": ({}, symmetric, set()),
    "palindrome": ({}, palindrome, set()),
    "one_number_and_words": (
        {},
        lambda seed: {"loss": float(noise(seed)), "words": ["a", "ab"], "ids": [seed, 7, 9], "none": None, "yes": True},
        set(),
    ),
}


def row_of(*names: str, core: bool = True) -> Any:
    """Return the part of a row that holds the declared cases and their outputs on two seeds."""
    cases = [declared(**CASES[name][0], name=name, core=core) for name in names]
    frames = [Frame(name, seed, "output", encode(CASES[name][1](seed))) for name in names for seed in (0, 1)]
    return {
        "instance_id": "toy",
        "tests": {"cases": cases, "seeds": [0, 1]},
        "expected": gzip.compress(b"".join(map(write_frame, frames))),
    }


def test_each_weak_case_is_found_and_no_sound_one() -> None:
    found = {weak.case: set(weak.passing) for weak in weaknesses(row_of(*CASES))}
    assert found.keys() == {name for name, (_, _, passing) in CASES.items() if passing}
    for case, passing in found.items():
        assert CASES[case][2] <= passing, case
    assert "items reversed" not in found["almost_uniform"], "its rows differ by more than the tolerance"


def test_weak_core_case_is_an_error_and_weak_contract_case_is_counted() -> None:
    error = note_on_trivial_answers(row_of("seeds_that_agree", "palindrome"))
    assert error.is_error
    assert error.message.startswith("core cases must refuse them: seeds_that_agree (seeds 0 and 1 agree")
    note = note_on_trivial_answers(row_of("seeds_that_agree", "palindrome", core=False))
    assert not note.is_error
    assert note.message.startswith("no core case passes them, 1 of 2 contract cases do: seeds_that_agree (seeds 0 and")
