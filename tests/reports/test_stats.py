"""Statistics against second computations: enumeration, SciPy's binomial test, the definitions of the papers."""

import gc
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmrbench_evaluate.reports.stats import holm, least_differing, pass_all_k, pass_at_k, permutation


@given(st.lists(st.booleans(), min_size=1, max_size=8), st.data())
def test_pass_at_k_and_pass_all_k_are_shares_of_draws(samples: list[bool], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(samples)))
    draws = list(itertools.combinations(samples, k))
    assert pass_at_k(len(samples), sum(samples), k) == pytest.approx(sum(map(any, draws)) / len(draws))
    assert pass_all_k(len(samples), sum(samples), k) == pytest.approx(sum(map(all, draws)) / len(draws))


@given(st.integers(0, 60), st.integers(0, 60))
def test_with_one_sample_each_it_is_mcnemars_test(first: int, second: int) -> None:
    from scipy.stats import binomtest

    expected = binomtest(first, first + second).pvalue if first + second else 1.0
    assert permutation([1] * first + [-1] * second + [0]) == pytest.approx(expected)


@given(st.lists(st.integers(-4, 4), max_size=10))
def test_permutation_counts_all_signs(differences: list[int]) -> None:
    sums = [
        sum(sign * d for sign, d in zip(signs, differences, strict=True))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    as_large = sum(abs(total) >= abs(sum(differences)) for total in sums)
    assert permutation(differences) == pytest.approx(as_large / len(sums))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_agrees_with_statsmodels(values: list[float]) -> None:
    from statsmodels.stats.multitest import multipletests

    gc.freeze()  # statsmodels collects garbage in each call, which takes long among so many modules
    try:
        _, expected, *_ = multipletests(values, method="holm")
    finally:
        gc.unfreeze()
    assert holm(values) == pytest.approx(list(expected))
    assert holm([]) == []


@given(comparisons=st.integers(1, 100))
def test_noise_floor_is_the_least_number_of_instances_that_the_test_can_tell(comparisons: int) -> None:
    least = least_differing(comparisons, 0.05)
    others = [1.0] * (comparisons - 1)
    below, enough = (holm([permutation([1] * number), *others])[0] for number in (least - 1, least))
    assert enough < 0.05 <= below
