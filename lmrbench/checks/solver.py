"""Proofs of a hard or silent row: its table mixes all open choices, and a solver settles them.

The solver knows the options. It runs the published combination and each single exchange of an
option, and then the combination that its model calls likeliest, until one gives the row's table.
The model is a Gaussian process over combinations: their covariance grows with the choices, and a
little with the pairs and triples of choices, that they have in common.
"""

import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lmrbench_data.base.errors import InputError
from lmrbench_data.tasks.experiments import HARD_CELLS, MARGIN, ROUNDING

#: The number of an option for each open choice; the published options have the number 0.
Combination = tuple[int, ...]
#: Cells of a table, always in the same order.
Cells = Sequence[float]
#: Runs the experiments with a combination and returns the cells of its tables.
Run = Callable[[Combination], Cells]

#: Number of random truths that the solver has to settle, beside that of the row.
RANDOM_TRUTHS = 5
#: Number of runs after which the solver gives up, whatever the budget.
MAX_RUNS = 100
#: Covariance of two combinations, for each group of 0, 1, 2 and 3 choices that they have in common.
_SHARED = (4.0, 1.0, 0.08, 0.02)
#: Added to the covariance of runs.
_JITTER = 1e-6
#: Least variance of a prediction.
_LEAST_VARIANCE = 1e-4
#: Least cell of which the logarithm is taken.
_LEAST_CELL = 1e-6


class Proof(NamedTuple):
    """The result of a check of tables."""

    name: str
    error: str
    """Empty for none."""
    note: str


@dataclass(frozen=True)
class HardRow:
    """The open choices of a hard or silent row, and what running its experiments costs."""

    sizes: Sequence[int]
    """Number of options of each open choice."""
    truth: Combination
    run: Run
    """May raise InputError for a combination without a table."""
    seed: str
    """Seed of the random truths."""
    cpu_s: float
    """CPU seconds of one run, with the start of the interpreter."""
    budget_s: float
    """CPU seconds that the row grants."""

    def prove(self) -> Iterator[Proof]:
        """Yield the proofs."""
        try:
            cells = self.run(self.truth)
            yield _enough_cells(cells)
            yield self._mixed(cells)
            yield self._solvable(cells)
        except InputError as error:
            yield Proof("tables, solvable", str(error), "")

    def _mixed(self, cells: Cells) -> Proof:
        """Prove that each exchange of a single option moves every cell."""
        moves = {}
        for chosen in exchanges(self.sizes, self.truth):
            moves[chosen] = np.abs(np.subtract(self.run(chosen), cells)).min()
        nearest = min(moves, key=moves.__getitem__)
        least = moves[nearest]
        error = ""
        if least <= MARGIN:
            error = f"a cell of {nearest} is within {MARGIN:g}"
        note = f"{len(moves)} exchanges move every cell, by {least:.2g} or more"
        return Proof("tables, mixed", error, note)

    def _solvable(self, cells: Cells) -> Proof:
        """Prove that the budget pays for settling the row, and rows with random truths."""
        targets = [cells, *map(self.run, self._random_truths())]
        most = self._affordable
        counts = [runs_needed(self.sizes, target, self.run, most) for target in targets]
        missed = counts.count(math.inf)
        error = ""
        if missed:
            runs = f"{most} runs of {self.cpu_s:.1f} CPU s"
            error = f"{missed} of {len(counts)} truths need more than {runs}"
        return Proof("tables, solvable", error, self._cost(*counts))

    def _cost(self, row: float, *others: float) -> str:
        longest = max(row, *others) * self.cpu_s
        return (
            f"settled by {row} runs of {self.cpu_s:.2f} CPU s ({row * self.cpu_s:.0f} s), "
            f"random truths by {min(others)} to {max(others)} ({longest:.0f} s)"
        )

    @property
    def _affordable(self) -> int:
        """Number of runs that the budget pays for."""
        return min(MAX_RUNS, int(self.budget_s / self.cpu_s)) if self.cpu_s else MAX_RUNS

    def _random_truths(self) -> list[Combination]:
        others = all_combinations(self.sizes)
        others.remove(self.truth)
        return random.Random(self.seed).sample(others, min(RANDOM_TRUTHS, len(others)))


def _enough_cells(cells: Cells) -> Proof:
    least, most = HARD_CELLS
    error = "" if least <= len(cells) <= most else f"needs {least} to {most}"
    return Proof("tables, cells", error, f"{len(cells)} cells")


def all_combinations(sizes: Sequence[int]) -> list[Combination]:
    """Return all combinations of choices with so many options."""
    return list(itertools.product(*map(range, sizes)))


def exchanges(sizes: Sequence[int], chosen: Combination) -> list[Combination]:
    """Return the combinations that differ from one in a single choice."""
    combinations = []
    for place, size in enumerate(sizes):
        for option in range(size):
            if option != chosen[place]:
                combinations.append((*chosen[:place], option, *chosen[place + 1 :]))
    return combinations


def first_runs(sizes: Sequence[int]) -> list[Combination]:
    """Return the combinations that the solver runs whatever the target is."""
    published = (0,) * len(sizes)
    return [published, *exchanges(sizes, published)]


def runs_needed(sizes: Sequence[int], target: Cells, run: Run, most: int) -> float:
    """Return how many runs settle a target; infinity if `most` runs do not."""
    every = all_combinations(sizes)
    first = iter(first_runs(sizes))
    tried: dict[Combination, np.ndarray] = {}
    while len(tried) < min(most, len(every)):
        chosen = next(first, None) or _likeliest(every, tried, _effects(target, target))
        cells = run(chosen)
        tried[chosen] = _effects(cells, target)
        if np.abs(np.subtract(cells, target)).max() <= ROUNDING:
            return len(tried)
    return math.inf


def _effects(cells: Cells, target: Cells) -> np.ndarray:
    """Return the cells on a scale on which the effects of choices add.

    In positive cells, such as losses, effects multiply.
    """
    if min(target) > 0:
        return np.log(np.maximum(cells, _LEAST_CELL))
    return np.array(cells)


def _likeliest(
    every: Sequence[Combination], tried: Mapping[Combination, np.ndarray], target: np.ndarray
) -> Combination:
    """Return the untried combination under whose predicted cells the target is likeliest."""
    origin = tried[next(iter(tried))]
    results = np.array(list(tried.values())) - origin
    scale = results.std(0) + 1e-9
    means, variances = _predict(every, list(tried), results / scale)
    misfit = (means - (target - origin) / scale) ** 2
    likelihood = -(misfit / variances + np.log(variances)).sum(1)
    ranked = (every[place] for place in np.argsort(-likelihood))
    return next(chosen for chosen in ranked if chosen not in tried)


def _predict(
    every: Sequence[Combination], runs: Sequence[Combination], results: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and the variance of the Gaussian process for each combination."""
    between = _covariance(every, runs)
    noise = _JITTER * np.eye(len(runs))
    weights = np.linalg.solve(_covariance(runs, runs) + noise, between.T).T
    prior = _covariance(runs[:1], runs[:1])
    variances = np.maximum(prior - (weights * between).sum(1), _LEAST_VARIANCE)
    return weights @ results, variances.T


def _covariance(some: Sequence[Combination], others: Sequence[Combination]) -> np.ndarray:
    equal: np.ndarray = (np.array(some)[:, None] == np.array(others)).sum(2)
    pairs = equal * (equal - 1) / 2
    triples = pairs * (equal - 2) / 3
    return _SHARED[0] + np.tensordot(_SHARED[1:], (equal, pairs, triples), 1)
