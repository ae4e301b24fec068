"""Hard rows: a synthetic table mixes five choices, and the solver settles them with a fraction of all combinations."""

import math
import random
from collections.abc import Callable

import pytest

from lmrbench.checks.solver import Cells, Combination, HardRow
from lmrbench_data.base.errors import InputError

SIZES, TRUTH = (3, 3, 3, 3, 3), (1, 0, 2, 1, 2)


def effects(chosen: Combination, *, cells: int = 6, sign: int = 1) -> list[float]:
    """Return cells in which each option and each pair of options has an effect."""

    def effect(scale: float, *key: int) -> float:
        return random.Random(repr(key)).gauss(0, scale)

    def cell(number: int) -> float:
        options = list(enumerate(chosen))
        single = sum(effect(0.5, number, *option) for option in options)
        pairs = sum(effect(0.1, number, *one, *other) for one in options for other in options if one < other)
        return sign * math.exp(single + pairs)

    return [cell(number) for number in range(cells)]


def checked(table: Callable[[Combination], list[float]], budget_s: float = 100.0) -> dict[str, tuple[str, str]]:
    def run(chosen: Combination) -> Cells:
        made.add(chosen)
        return table(chosen)

    made: set[Combination] = set()
    row = HardRow(SIZES, TRUTH, run, seed="a row", cpu_s=2.0, budget_s=budget_s)
    found = {proof.name.removeprefix("tables, "): (proof.error, proof.note) for proof in row.prove()}
    assert len(made) < 243 / 3
    return found


@pytest.mark.parametrize("sign", [1, -1])
def test_mixed_table_is_settled_within_the_budget(sign: int) -> None:
    found = checked(lambda chosen: effects(chosen, sign=sign))
    assert {name: error for name, (error, _) in found.items()} == {"cells": "", "mixed": "", "solvable": ""}
    assert found["mixed"][1].startswith("10 exchanges move every cell")
    runs = int(found["solvable"][1].removeprefix("settled by ").split()[0])
    assert 10 < runs < 30
    assert f"settled by {runs} runs of 2.00 CPU s ({2 * runs} s), random truths by" in found["solvable"][1]


def one_unmixed(chosen: Combination) -> list[float]:
    """Return a table whose last cell does not show the last choice."""
    return [*effects(chosen)[:5], effects((*chosen[:4], 0))[5]]


def none_for_the_published(chosen: Combination) -> list[float]:
    if not any(chosen):
        raise InputError("published makes no table")
    return effects(chosen)


#: what is wrong → (table, CPU budget, check that reports it, words of the error)
UNSOUND = {
    "few_cells": (lambda chosen: effects(chosen, cells=5), 100.0, "cells", "needs 6 to 8"),
    "a_choice_that_a_cell_hides": (one_unmixed, 100.0, "mixed", "a cell of (1, 0, 2, 1, 0) is within 0.001"),
    "a_budget_of_the_first_runs": (effects, 22.0, "solvable", "truths need more than 11 runs of 2.0 CPU s"),
    "a_combination_without_a_table": (none_for_the_published, 100.0, "solvable", "published makes no table"),
}


@pytest.mark.parametrize("name", UNSOUND)
def test_unsound_hard_row_is_reported(name: str) -> None:
    table, budget_s, check, words = UNSOUND[name]
    errors = {name: error for name, (error, _) in checked(table, budget_s).items() if error}
    assert list(errors) == [check]
    assert words in errors[check]
