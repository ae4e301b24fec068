"""Settled choices are compared with guessing and with reciting the published method."""

import pytest

from lmrbench_data.tasks.guessing import SettledChoice, by_truth, chance, corrected, reciting


def test_rates_are_corrected_by_the_larger_one_of_chance_and_reciting() -> None:
    choices = [SettledChoice(True, 3, True), SettledChoice(True, 3, True), SettledChoice(False, 6, False)]
    assert chance(choices) == pytest.approx(5 / 18)
    assert reciting(choices) == pytest.approx(2 / 3)
    assert corrected(choices) == pytest.approx(0), "reciting alone gives as much"
    assert by_truth(choices) == {True: (2, 2), False: (0, 1)}
    altered = [SettledChoice(settled, 4, False) for settled in (True, True, False)]
    assert corrected(altered) == pytest.approx((2 / 3 - 1 / 4) / (3 / 4))
    assert corrected([]) is corrected(choices[:1]) is None
