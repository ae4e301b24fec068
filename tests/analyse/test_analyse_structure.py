"""Measures of repositories give the original's numbers; the regression gives pinned ones, or one line."""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lmrbench.analyse.answers import rows_of_runs, run_answers
from lmrbench.analyse.structure import (
    DEPTH,
    IMBALANCE,
    INTERCEPT,
    MEASURES,
    Fit,
    analyse_structure,
    fit_logit,
    goal_length,
    measure_tree,
    original_measures,
)
from lmrbench_data.base.errors import ArgumentError, InputError
from lmrbench_data.dataset.load import load_rows
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import dataset_sha256
from support.runs import two_levels, write_run

# --- measures ---------------------------------------------------------------------------------------------------------


def test_measures_have_the_definitions_of_the_measured_repositories() -> None:
    measures = original_measures()
    assert len(measures) == 26
    # The smallest one has only one shape: 6 files and a directory above, 1 file in it.
    tree = measure_tree([*(f"{n}.py" for n in range(6)), "d/x.py"])
    assert tree[DEPTH] == measures.loc["13", DEPTH] == 1.125
    assert tree[IMBALANCE] == np.std([7, 1]) / np.mean([7, 1])


def test_goal_length_counts_lines_of_code() -> None:
    source = '''
class A:
    @decorated
    def goal(self, value=(
        1,  # a comment after code
        2,
    )):
        """Docstring
        of two lines."""

        # a comment
        return value
'''
    assert goal_length(source, "A.goal") == 3


# --- regression -------------------------------------------------------------------------------------------------------


def fitted(measures: dict[str, Sequence[float]], solved: Sequence[bool], papers: Sequence[str]) -> Fit:
    """Fit answers of one model."""
    frame = pd.DataFrame({**measures, "solved": list(map(int, solved)), "paper": list(papers), "group": "m"})
    return fit_logit(frame, list(measures))


@pytest.mark.parametrize(
    ("x", "solved", "papers", "problem"),
    [
        ([1, 2, 3, 4], [False, False, True, True], "abcd", "the terms determine the outcome"),
        ([0, 0, 0, 0], [True, False, True, False], "abcd", "the terms determine the outcome or one another"),
        ([1, 2, 3, 4], [True, False, True, False], "aaaa", "or too few papers differ"),
        ([1, 2, 3, 4], [True] * 4, "abcd", "all of 4 answers solved"),
    ],
)
def test_impossible_estimate_has_a_reason(x: list[float], solved: list[bool], papers: str, problem: str) -> None:
    fit = fitted({"x": x}, solved, papers)
    assert fit.terms == ()
    assert problem in fit.problem
    assert "\n" not in fit.problem


# --- runs -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rows() -> list[DatasetRow]:
    return load_rows("embedded")


@pytest.fixture
def make_run(tmp_path: Path, rows: list[DatasetRow]) -> Any:
    """A run folder of two models on all tasks, whose core cases pass by chance."""

    def make(name: str = "run", chance: float = 0.5, **changes: Any) -> Path:
        dice = random.Random(2)
        scope = {row["instance_id"]: row["category"] for row in rows}
        results = [
            two_levels(instance, "passed" if dice.random() < chance else "failed", "failed", model=model)
            for model in ("m", "n")
            for instance in scope
        ]
        sha = {"dataset_sha256": dataset_sha256(rows), **changes}
        return write_run(tmp_path / name, results, scope=scope, **sha)

    return make


def test_runs_are_regressed_on_all_measures(make_run: Any, rows: list[DatasetRow]) -> None:
    run = make_run()
    made = analyse_structure(run_answers([run]), rows_of_runs([run]))
    assert [term["name"] for term in made.numbers["terms"]] == [INTERCEPT, *MEASURES, "n"]
    assert (made.numbers["answers"], made.numbers["papers"], made.numbers["reference"]) == (56, 23, "m")
    assert not any("missing or the same" in note for note in made.notes)
    with pytest.raises(ArgumentError, match="'tests' is unknown; one of: reproduced, robust, judge, people"):
        analyse_structure(run_answers([run]), rows, "tests")
    with pytest.raises(InputError, match="no answer has a result by people"):
        analyse_structure(run_answers([run]), rows, "people")
    nobody = analyse_structure(run_answers([run]), rows, "robust")
    assert nobody.numbers["problem"] == "none of 56 answers solved: there is nothing to explain"
    assert "No estimate: none of 56 answers solved: there is nothing to explain." in nobody.notes


def test_models_that_solve_nothing_and_missing_answers_are_left_out(make_run: Any, rows: list[DatasetRow]) -> None:
    run = make_run()
    before = analyse_structure(run_answers([run]), rows)
    lines = (run / "results.jsonl").read_text().splitlines()
    weak = [json.dumps({**json.loads(line), "model_name_or_path": "weak"}) for line in lines[:9]]
    failed = [line.replace('"core_status": "passed"', '"core_status": "failed"') for line in weak]
    (run / "results.jsonl").write_text("\n".join([*lines, *failed, ""]))
    after = analyse_structure(run_answers([run]), rows)
    assert after.numbers["terms"] == before.numbers["terms"]
    assert "Left out: weak, with none of its answers solved." in after.notes
    assert "Left out: 19 answers missing from the runs." in after.notes
