"""Proofs of a hard or silent row: its table mixes all open choices, and a solver that knows the options settles them.

The solver runs the published combination and each single exchange of an option, and then the combination that its model
calls likeliest, until one gives the row's table. The model is a Gaussian process over combinations: their covariance
grows with the choices, and a little with the pairs and triples of choices, that they have in common.
"""

import itertools
import math
import random
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence

import numpy as np

from lmrbench_data.base.errors import InputError
from lmrbench_data.tasks.experiments import HARD_CELLS, MARGIN, ROUNDING

#: The number of an option for each open choice; the published options have the number 0.
Combination = tuple[int, ...]
#: Cells of a table, always in the same order.
Cells = Sequence[float]
#: Name of a check, its error ("" for none), and a note.
Proof = tuple[str, str, str]
#: Runs experiments with combinations and returns the cells of their tables.
Run = Callable[[Collection[Combination]], Mapping[Combination, Cells]]

#: Number of random truths that the solver has to settle, beside that of the row.
RANDOM_TRUTHS = 5
#: Number of runs after which the solver gives up, whatever the budget.
MAX_RUNS = 100
#: Covariance of two combinations, for each group of 0, 1, 2 and 3 choices that they have in common.
_SHARED = (4.0, 1.0, 0.08, 0.02)
#: Added to the covariance of runs; least variance of a prediction; least cell of which the logarithm is taken.
_JITTER, _LEAST_VARIANCE, _LEAST_CELL = 1e-6, 1e-4, 1e-6


def hard_errors(
    sizes: Sequence[int], truth: Combination, run: Run, *, seed: str, cpu_s: float, budget_s: float
) -> Iterator[Proof]:
    """Yield the proofs.

    Args:
        sizes: number of options of each open choice.
        truth: the row's combination.
        run: may raise InputError for a combination without a table.
        seed: seed of the random truths.
        cpu_s: CPU seconds of one run, with the start of the interpreter.
        budget_s: CPU seconds that the row grants.
    """
    try:
        cells = run([truth])[truth]
        least, most = HARD_CELLS
        yield (
            "tables, cells",
            "" if least <= len(cells) <= most else f"needs {least} to {most}",
            f"{len(cells)} cells",
        )
        moves = {
            place: min(abs(np.subtract(other, cells)))
            for place, other in run(exchanges(sizes, truth)).items()
        }
        nearest = min(moves, key=moves.__getitem__)
        error = f"a cell of {nearest} is within {MARGIN:g}" if moves[nearest] <= MARGIN else ""
        yield (
            "tables, mixed",
            error,
            f"{len(moves)} exchanges move every cell, by {moves[nearest]:.2g} or more",
        )
        others = [chosen for chosen in itertools.product(*map(range, sizes)) if chosen != truth]
        targets = run([truth, *random.Random(seed).sample(others, min(RANDOM_TRUTHS, len(others)))])
        affordable = min(MAX_RUNS, int(budget_s / cpu_s)) if cpu_s else MAX_RUNS
        counts = runs_needed(
            sizes,
            [cells, *(targets[place] for place in targets if place != truth)],
            run,
            affordable,
        )
    except InputError as error:
        yield "tables, solvable", str(error), ""
        return
    missed = sum(math.isinf(count) for count in counts)
    own, *random_ones = counts
    yield (
        "tables, solvable",
        f"{missed} of {len(counts)} truths need more than {affordable} runs of {cpu_s:.1f} CPU s"
        if missed
        else "",
        f"settled by {own} runs of {cpu_s:.2f} CPU s ({own * cpu_s:.0f} s), random truths by {min(random_ones)} to "
        f"{max(random_ones)} ({max(counts) * cpu_s:.0f} s)",
    )


def exchanges(sizes: Sequence[int], chosen: Combination) -> list[Combination]:
    """Return the combinations that differ from one in a single choice."""
    return [
        (*chosen[:place], option, *chosen[place + 1 :])
        for place, size in enumerate(sizes)
        for option in range(size)
        if option != chosen[place]
    ]


def first_runs(sizes: Sequence[int]) -> list[Combination]:
    """Return the combinations that the solver runs whatever the target is."""
    published = (0,) * len(sizes)
    return [published, *exchanges(sizes, published)]


def runs_needed(sizes: Sequence[int], targets: Sequence[Cells], run: Run, most: int) -> list[float]:
    """Return how many runs settle each target; infinity for one that `most` runs do not settle.

    The solvers of all targets go on together, so that `run` can make batches.
    """
    solvers = [solve(sizes, target) for target in targets]
    asked = {place: next(solver) for place, solver in enumerate(solvers)}
    needed = [math.inf] * len(targets)
    for count in range(1, most + 1):
        made = run(set(asked.values()))
        for place, chosen in list(asked.items()):
            try:
                asked[place] = solvers[place].send(made[chosen])
            except StopIteration:
                del asked[place]
                needed[place] = count
        if not asked:
            break
    return needed


def solve(sizes: Sequence[int], target: Cells) -> Generator[Combination, Cells]:
    """Yield the combination to run next and receive its cells, until they are those of the target."""
    every = np.array(list(itertools.product(*map(range, sizes))))
    first = first_runs(sizes)
    tried: dict[Combination, np.ndarray] = {}
    while len(tried) < len(every):
        chosen = (
            first[len(tried)]
            if len(tried) < len(first)
            else _likeliest(every, tried, _effects(target, target))
        )
        cells = yield chosen
        if np.abs(np.subtract(cells, target)).max() <= ROUNDING:
            return
        tried[chosen] = _effects(cells, target)


def _effects(cells: Cells, target: Cells) -> np.ndarray:
    """Return the cells so that effects of choices add: they multiply in positive cells, such as losses."""
    return np.log(np.maximum(cells, _LEAST_CELL)) if min(target) > 0 else np.array(cells)


def _likeliest(
    every: np.ndarray, tried: Mapping[Combination, np.ndarray], target: np.ndarray
) -> Combination:
    """Return the combination, of those not tried, under whose predicted cells the target is likeliest."""
    runs, results = np.array(list(tried)), np.array(list(tried.values()))
    scale = (results - results[0]).std(0) + 1e-9
    results, target = (results - results[0]) / scale, (target - results[0]) / scale
    between = _covariance(every, runs)
    weights = np.linalg.solve(_covariance(runs, runs) + _JITTER * np.eye(len(runs)), between.T).T
    variance = np.maximum(
        _covariance(runs[:1], runs[:1]) - (weights * between).sum(1), _LEAST_VARIANCE
    ).T
    likelihood = -((weights @ results - target) ** 2 / variance + np.log(variance)).sum(1)
    return next(
        chosen
        for place in np.argsort(-likelihood)
        if (chosen := tuple(every[place].tolist())) not in tried
    )


def _covariance(some: np.ndarray, others: np.ndarray) -> np.ndarray:
    equal: np.ndarray = (some[:, None] == others).sum(2)
    groups = (equal, equal * (equal - 1) / 2, equal * (equal - 1) * (equal - 2) / 6)
    return _SHARED[0] + np.tensordot(_SHARED[1:], groups, 1)
