"""Statistics against second computations: enumeration, SciPy's binomial test, the definitions of the papers."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from lmrbench_data.evaluate.reports.stats import holm, mcnemar, pass_at_k, permutation, wilson


def test_wilson_agrees_with_scipy() -> None:
    for total in [*range(1, 40), 1000, 10**6]:
        for passed in {0, 1, total // 3, total - 1, total}:
            expected = binomtest(passed, total).proportion_ci(method="wilson")
            assert wilson(passed, total) == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert wilson(0, 0) == (0.0, 1.0)
    at_90 = binomtest(8, 10).proportion_ci(0.9, method="wilson")
    assert wilson(8, 10, level=0.9) == pytest.approx((at_90.low, at_90.high))


@given(st.lists(st.booleans(), min_size=1, max_size=8), st.data())
def test_pass_at_k_is_the_share_of_draws_with_a_pass(samples: list[bool], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(samples)))
    draws = [any(draw) for draw in itertools.combinations(samples, k)]
    assert pass_at_k(len(samples), sum(samples), k) == pytest.approx(sum(draws) / len(draws))


def test_pass_at_k_needs_k_samples() -> None:
    assert pass_at_k(10_000, 1, 1) == pytest.approx(1e-4)
    for k in (0, 4):
        with pytest.raises(ValueError, match="needs at least"):
            pass_at_k(3, 1, k)


@settings(deadline=None)  # the first example imports statsmodels
@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_sign_test_of_the_discordant_pairs(first: int, second: int) -> None:
    expected = binomtest(first, first + second).pvalue if first + second else 1.0
    assert mcnemar(first, second) == pytest.approx(expected)


@given(st.lists(st.integers(-4, 4), max_size=10))
def test_permutation_counts_all_signs(differences: list[int]) -> None:
    sums = [
        sum(sign * d for sign, d in zip(signs, differences, strict=True))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    as_large = sum(abs(total) >= abs(sum(differences)) for total in sums)
    assert permutation(differences) == pytest.approx(as_large / len(sums))


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 3))
def test_permutation_of_single_samples_is_mcnemar(first: int, second: int, equal: int) -> None:
    assert permutation([1] * first + [-1] * second + [0] * equal) == pytest.approx(mcnemar(first, second))


@settings(max_examples=30, deadline=None)  # statsmodels collects garbage in each call
@given(st.lists(st.floats(0, 1), max_size=6))
def test_holm_is_the_step_down_procedure(values: list[float]) -> None:
    ranked = sorted(range(len(values)), key=values.__getitem__)
    expected, highest = [0.0] * len(values), 0.0
    for step, index in enumerate(ranked):
        highest = max(highest, min(1.0, (len(values) - step) * values[index]))
        expected[index] = highest
    assert holm(values) == pytest.approx(expected)
