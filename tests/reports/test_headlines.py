"""The first line of a report: its sign, its symmetry, and an interval that agrees with difference and p."""

import random
import re
from pathlib import Path

import pytest

from lmrbench_data.base.proportions import percent
from lmrbench_evaluate.reports.html import headlines
from lmrbench_evaluate.reports.paired import ALPHA
from lmrbench_evaluate.reports.report import make_report
from lmrbench_evaluate.reports.stats import paired_interval, permutation
from lmrbench_evaluate.verdict.levels import Level
from support.runs import two_levels, write_run

LINE = re.compile(r"(\S+) \+([\d.]+) points over (\S+) \(95% CI (\S+) to (\S+)\), p [=<] \S+: (not )?distinguishable")
STATUS = {True: "passed", False: "failed"}


def write(folder: Path, passed: dict[str, list[list[bool]]]) -> Path:
    """Write a run: model → instance → samples."""
    rows = [
        two_levels(f"i{number}", STATUS[hit], "passed", model=model, sample=sample)
        for model, instances in passed.items()
        for number, samples in enumerate(instances)
        for sample, hit in enumerate(samples)
    ]
    scope = {f"i{number}": "Alpha" for number in range(max(map(len, passed.values())))}
    return write_run(folder, rows, scope=scope)


@pytest.mark.parametrize("seed", range(6))
def test_sign_symmetry_and_interval(seed: int, tmp_path: Path) -> None:
    random_ = random.Random(seed)
    rates = {"a": random_.random(), "b": random_.random()}
    samples, count = random_.choice([1, 1, 3]), random_.choice([5, 12, 28])
    drawn = {name: [[random_.random() < p for _ in range(samples)] for _ in range(count)] for name, p in rates.items()}
    report = make_report([write(tmp_path / "run", drawn)])
    [verdict] = headlines(report)
    found = LINE.fullmatch(verdict.text)
    assert found, verdict.text
    first, size, second, low, high, is_not = found.groups()
    means = {name: sum(map(sum, of)) / (samples * count) for name, of in drawn.items()}
    assert means[first] >= means[second]
    difference = means[first] - means[second]
    assert abs(float(size) - 100 * difference) <= 0.051
    lower, upper = (float(text.replace("\N{MINUS SIGN}", "-")) for text in (low, high))
    assert lower - 0.5 <= 100 * difference <= upper + 0.5
    [there] = [pair for pair in report.pairs if pair.level is Level.REPRODUCED]
    assert there.interval[0] <= there.difference <= there.interval[1]
    excludes = not there.interval[0] <= 0 <= there.interval[1]
    assert bool(is_not) == (there.p_holm >= ALPHA or not excludes)
    assert not excludes or there.p < ALPHA, "interval and p agree"


def test_few_shared_instances_are_not_compared(tmp_path: Path) -> None:
    for count in (4, 5):
        report = make_report([write(tmp_path / f"{count}", {"a": [[True]] * count, "b": [[False]] * count})])
        [headline] = headlines(report)
        assert (bool(report.pairs), "points over" in headline.text) == (count == 5, count == 5)


def test_tracks_are_never_compared(tmp_path: Path) -> None:
    """Nor is an unstated track with a stated one; and such pairs do not enter Holm's adjustment."""
    rows = [
        two_levels(f"i{number}", STATUS[model != "b" or number > 5], "passed", model=model, track=track)
        for number in range(12)
        for track, models in {"paper": "ab", "contract": "a", "unstated": "a"}.items()
        for model in models
    ]
    scope = {f"i{number}": "Alpha" for number in range(12)}
    report = make_report([write_run(tmp_path / "run", rows, scope=scope)])
    for level in Level:
        [pair] = [pair for pair in report.pairs if pair.level is level]
        assert (pair.first, pair.second) == ("a, paper", "b, paper")
        assert pair.p_holm == pair.p < ALPHA
    assert "adjusted for" not in headlines(report)[0].about


def test_the_interval_is_that_of_agresti_and_min() -> None:
    """For 9 against 3 of 40: (9.5 - 3.5) / 42, and the variance of a table with half an instance in each cell more."""
    differences = [1] * 9 + [-1] * 3 + [0] * 28
    centre, spread = 6 / 42, ((9 + 3 + 1) - 6**2 / 42) ** 0.5 / 42
    low, high = paired_interval(differences, permutation(differences))
    assert (low, high) == pytest.approx((centre - 1.959964 * spread, centre + 1.959964 * spread), abs=1e-6)
    assert paired_interval([], 1.0) == (-1, 1)
    low, high = paired_interval([0] * 28, 1.0)
    assert -low == high > 0.05, "ties are not certainty"


def test_headline_of_one_model_and_of_many_models(tmp_path: Path) -> None:
    [alone] = headlines(make_report([write(tmp_path / "one", {"a": [[True]] * 3 + [[False]]})]))
    assert alone.text.startswith(f"a: {percent(0.75)} reproduced (95% CI ")
    models = {f"m{number}": [[number <= index] for index in range(20)] for number in range(0, 20, 4)}
    [best] = headlines(make_report([write(tmp_path / "many", models)]))
    assert best.text.startswith("m0 +20.0 points over m4 ")
    assert "adjusted for 10 comparisons (Holm)" in best.about
