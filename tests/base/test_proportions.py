"""Shares, intervals, kappa and the rule of ranking, against SciPy and scikit-learn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmrbench_data.base.proportions import Share, kappa, ranking_key, ranking_level, wilson
from lmrbench_evaluate.verdict.levels import TRACK_ORDER

LABELS = st.sampled_from(["CC", "LC", "LI"])


def test_wilson_agrees_with_scipy() -> None:
    from scipy.stats import binomtest  # slow to import

    for total in [*range(1, 40), 1000, 10**6]:
        for passed in {0, 1, total // 3, total - 1, total}:
            expected = binomtest(passed, total).proportion_ci(method="wilson")
            assert wilson(passed, total) == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert wilson(0, 0) == (0.0, 1.0)


def test_samples_of_one_instance_do_not_narrow_an_interval() -> None:
    answers = [(instance, instance != "c") for instance in "abc" for _ in range(40)]
    found = Share.clustered(answers)
    assert (found.part, found.whole, found.units) == (80, 120, 3)
    assert found.interval == pytest.approx(wilson(2, 3))
    assert (found.fraction, found.bounds) == ("66.7% (80/120)", "21 - 94")
    assert Share.of(hit for _, hit in answers).interval == pytest.approx(wilson(80, 120))


def test_a_share_of_nothing_is_a_dash_and_may_be_anything() -> None:
    for nothing in (Share(0, 0), Share(0, 0, 3), Share.clustered([])):
        assert (nothing.value, nothing.interval) == (None, (0.0, 1.0))
        assert (nothing.percent, nothing.fraction, nothing.bounds) == ("-", "-", "-")


@given(st.lists(st.tuples(LABELS, LABELS), max_size=30))
def test_kappa_is_that_of_scikit_learn(rows: list[tuple[str, str]]) -> None:
    from sklearn.metrics import cohen_kappa_score  # slow to import

    first, second = [a for a, _ in rows], [b for _, b in rows]
    found = kappa(first, second)
    if len({*first, *second}) < 2:
        assert found is None
    else:
        assert found == pytest.approx(cohen_kappa_score(first, second))


def test_one_rule_ranks_a_track_everywhere() -> None:
    assert [ranking_level(track) for track in TRACK_ORDER] == ["reproduced", "robust", "robust"]
    broad, strict = (0.9, 0.1), (0.5, 0.5)  # reproduced, robust
    for track, best in zip(TRACK_ORDER, (broad, strict, strict), strict=True):
        assert min((broad, strict), key=lambda shares: ranking_key(track, *shares)) == best
        # Among equals at the ranking level the other level decides.
        low, high = ((0.5, 0.1), (0.5, 0.2)) if best is broad else ((0.5, 0.1), (0.6, 0.1))
        assert ranking_key(track, *high) < ranking_key(track, *low)
