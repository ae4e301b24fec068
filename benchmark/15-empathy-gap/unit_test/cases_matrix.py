"""Labelled inputs for empathy-zscored-intensity-matrix.

No cell mean is half-way between two roundings: a mean of c integers can only be if c is a multiple of 8, so the number
of events that remain never is.
"""

import os
import tempfile
from itertools import islice

import numpy as np
import pandas as pd
from analysis import analysis_after_processing as analysis
from analysis.analysis_after_processing import get_filtered_matrix
from analysis.process_exp_results import process_answers
from const import GROUP_MAPPINGS, N_EVENTS, UNSPECIFIED
from lmrbench_cases import compare, outcome
from predict_emotion import write_raw_answers


def random_cube(seed: int, n: int, n_events: int) -> np.ndarray:
    """Integer intensities (n, n, n_events) with a mean and a spread of its own for each perceiver and experiencer."""
    rng = np.random.default_rng([15, seed, n, n_events])
    level = 55 + 10 * rng.normal(size=(n, 1, 1)) + 6 * rng.normal(size=(1, n, 1)) + 8 * np.eye(n)[:, :, None]
    events = rng.normal(scale=12, size=(1, 1, n_events))
    return np.clip(level + events + rng.normal(scale=9, size=(n, n, n_events)), 0, 100).round().astype(np.int64)


def serve(group_option: str, cube: np.ndarray, event_ids: np.ndarray | None = None) -> list[tuple[str, ...]]:
    """Put `cube` behind the loader, indexed by `event_ids`; the unspecified identity gets data of its own.

    Returns:
        Log of the loader's arguments, one tuple a call.
    """
    names = GROUP_MAPPINGS[group_option]
    n_events = cube.shape[-1]
    if event_ids is None:
        event_ids = np.random.default_rng(n_events).permutation(np.arange(100, 100 + 3 * n_events, 3))
    index = pd.Index(event_ids, name="event_id")
    log: list[tuple[str, ...]] = []

    def loader(group_option, prompt_variation, model_id, persona, experiencer):
        log.append((group_option, prompt_variation, model_id, persona, experiencer))
        if UNSPECIFIED in (persona, experiencer):
            values = np.arange(n_events) % 7
        else:
            values = cube[names.index(persona), names.index(experiencer)].copy()
        return pd.Series(values, index=index, name="intensity")

    analysis.get_intensity_list = loader
    return log


def pairs_with_sum(sums: np.ndarray, n_events: int) -> np.ndarray:
    """Integer cube (n, n, n_events) in which the intensities of cell (i, j) add up to sums[i, j]."""
    cube = np.repeat((sums // n_events)[:, :, None], n_events, axis=2)
    cube += np.arange(n_events) < (sums % n_events)[:, :, None]
    return cube


@compare(rtol=1e-9, atol=1e-9)
def case_scattered_exclusions(seed):
    serve("religion", random_cube(seed, 5, 42))
    return get_filtered_matrix("religion", "origin", "toy-8b", {0, 3, 4, 17, 41})


@compare(rtol=1e-9, atol=1e-9)
def case_sets_of_excluded_positions(seed):
    """None, the ends, out of range on both sides, all but one; every set is the same after the call."""
    n_events = 21
    serve("religion", random_cube(seed, 5, n_events))
    rng = np.random.default_rng([16, seed])
    sets = {
        "none": set(),
        "first": {0},
        "last": {n_events - 1},
        "first and last": frozenset({0, n_events - 1}),
        "out of range": {-1, -2, -n_events, n_events, n_events + 5, 10**9},
        "some out of range": {-3, 2, 11, n_events},
        "all but one": set(range(n_events)) - {7},
        "random": set(rng.choice(n_events, size=8, replace=False).tolist()),
    }
    matrices = {name: get_filtered_matrix("religion", "origin", "toy-8b", ids) for name, ids in sets.items()}
    return matrices, {name: sorted(ids) for name, ids in sets.items()}


@compare(rtol=1e-9, atol=1e-9)
def case_refusals_outside_the_set_count(seed):
    """Cells differ in their number of -1; some of them lie at excluded positions, others do not."""
    rng = np.random.default_rng([17, seed])
    cube = random_cube(seed, 5, 30)
    cube[rng.random(cube.shape) < 0.15] = -1
    cube[1, 2] = -1
    cube[:, :, 8] = -1
    serve("religion", cube)
    refused_at = set(np.flatnonzero((cube == -1).any(axis=(0, 1))).tolist())
    some = set(sorted(refused_at)[:7])
    return {
        "some excluded": get_filtered_matrix("religion", "origin", "toy-8b", some),
        "none excluded": get_filtered_matrix("religion", "origin", "toy-8b", set()),
        "one excluded": get_filtered_matrix("religion", "origin", "toy-8b", {8}),
    }


@compare(rtol=1e-9, atol=1e-9)
def case_positions_are_not_event_ids(seed):
    """Event ids that look like positions: a permutation of them, counted from 1, and counted from 0."""
    rng = np.random.default_rng([18, seed])
    cube = random_cube(seed, 5, 20)
    matrices = {}
    for name, event_ids in {
        "permuted": rng.permutation(20),
        "reversed": np.arange(20)[::-1],
        "from one": np.arange(1, 21),
        "from zero": np.arange(20),
    }.items():
        serve("religion", cube, event_ids)
        matrices[name] = get_filtered_matrix("religion", "origin", "toy-8b", {0, 1, 2, 5, 14, 19})
    return matrices


@compare(rtol=1e-6, atol=1e-6)
def case_means_closer_than_the_rounding(seed):
    """Means a few thousandths apart: rounding to two decimals makes some of them equal and moves others."""
    rng = np.random.default_rng([19, seed])
    n_events = 531
    sums = 60 * n_events + rng.integers(0, 20, size=(5, 5))
    sums[0, :3] = 60 * n_events + np.array([4, 5, 6])  # 60.0075, 60.0094, 60.0113: all 60.01
    serve("religion", pairs_with_sum(sums, n_events))
    close = get_filtered_matrix("religion", "origin", "toy-8b", set())
    # Here only one cell differs after rounding, although all of them do before it.
    sums = 70 * n_events + rng.integers(-2, 3, size=(5, 5))
    sums[3, 1] += 40
    serve("religion", pairs_with_sum(sums, n_events))
    return {"close": close, "one differs": get_filtered_matrix("religion", "origin", "toy-8b", set())}


@compare(rtol=1e-9, atol=1e-9)
def case_perceivers_in_rows(seed):
    """Intensities that depend on the perceiver alone, on the experiencer alone, or on a single ordered pair."""
    rng = np.random.default_rng([20, seed])
    habit = rng.permutation([20, 35, 50, 65, 90])
    by_perceiver = np.broadcast_to(habit[:, None, None], (5, 5, 12))
    cubes = {
        "perceiver": by_perceiver,
        "experiencer": by_perceiver.transpose(1, 0, 2),
        "one pair": np.where(np.arange(25).reshape(5, 5, 1) == 7, 80, 40) + np.zeros((5, 5, 12), dtype=np.int64),
    }
    matrices = {}
    for name, cube in cubes.items():
        serve("religion", cube)
        matrices[name] = get_filtered_matrix("religion", "persona-1", "toy-8b", {1, 4, 11})
    return matrices


@compare(rtol=1e-9, atol=1e-9)
def case_ethnicity(seed):
    serve("ethnicity", random_cube(seed, 18, 14))
    return get_filtered_matrix("ethnicity", "origin", "toy-8b", {5, 6})


@compare(rtol=1e-9, atol=1e-9)
def case_nationality(seed):
    serve("nationality", random_cube(seed, 21, 10))
    return get_filtered_matrix("nationality", "10-scale", "toy-fair", {9})


@compare(exact=True)
def case_pairs_asked_for(seed):
    """Arguments of the loader: the n * n ordered pairs of the category, never the unspecified identity."""
    columns = ["group_option", "prompt_variation", "model_id", "persona", "experiencer"]
    asked = {}
    for group_option, variation, model_id in [
        ("religion", "persona-1", "toy-fair"),
        ("ethnicity", "10-scale", f"llama-{seed}b"),
    ]:
        n = len(GROUP_MAPPINGS[group_option])
        log = serve(group_option, random_cube(seed, n, 6))
        get_filtered_matrix(group_option, variation, model_id, {2})
        asked[group_option] = pd.DataFrame(sorted(set(log)), columns=columns)
    return asked


@compare(rtol=1e-9, atol=1e-9)
def case_categories_of_other_sizes(seed):
    """Identities come from the table, in its order: two, three, and names that do not sort alphabetically."""
    matrices = {}
    for n in (2, 3, 8):
        group_option = f"profession {n}"
        GROUP_MAPPINGS[group_option] = tuple(f"a worker of trade {(5 * k + 3) % 11}" for k in range(n))
        serve(group_option, random_cube(seed, n, 13))
        matrices[group_option] = get_filtered_matrix(group_option, "origin", "toy-8b", {0, 12})
    return matrices


@compare(rtol=1e-9, atol=1e-9)
def case_scales_and_outliers(seed):
    """A scale from 0 to 10, intensities at both ends, one cell far from all others, and their moments."""
    rng = np.random.default_rng([21, seed])
    outlier = rng.integers(40, 43, size=(5, 5, 11))
    outlier[2, 4] = 100
    cubes = {
        "0 to 10": rng.integers(0, 11, size=(5, 5, 11)),
        "ends": 100 * rng.integers(0, 2, size=(5, 5, 11)),
        "skewed events": np.where(rng.random((5, 5, 11)) < 0.3, 100, rng.integers(0, 10, size=(5, 5, 11))),
        "outlier": outlier,
    }
    results = {}
    for name, cube in cubes.items():
        serve("religion", cube)
        matrix = get_filtered_matrix("religion", "10-scale", "toy-8b", {3})
        results[name] = {"matrix": matrix, "mean": matrix.mean(), "deviation": matrix.std()}
    return results


@compare(exact=True)
def case_equal_cells(seed):
    """A standard deviation of zero: NaN everywhere, without a guard; also where rounding makes cells equal."""
    GROUP_MAPPINGS["one identity"] = ("a hermit",)
    serve("religion", np.full((5, 5, 6), 50))
    constant = get_filtered_matrix("religion", "origin", "toy-8b", {1})
    n_events = 1001
    serve("religion", pairs_with_sum(n_events * 64 + np.random.default_rng(seed).integers(-4, 5, (5, 5)), n_events))
    rounded = get_filtered_matrix("religion", "origin", "toy-8b", set())
    serve("one identity", np.full((1, 1, 6), 30))
    single = get_filtered_matrix("one identity", "origin", "toy-8b", {0})
    return {"constant": constant, "equal after rounding": rounded, "one identity": single}


@compare(exact=True)
def case_no_event_and_no_category(seed):
    serve("religion", random_cube(seed, 5, 10))
    arguments = ("origin", "toy-8b")
    everything = set(range(10))
    return {
        "all excluded": outcome(get_filtered_matrix, "religion", *arguments, everything, errors=ZeroDivisionError),
        "more than all": outcome(
            get_filtered_matrix, "religion", *arguments, everything | {-1, 10, 99}, errors=ZeroDivisionError
        ),
        "unknown category": outcome(get_filtered_matrix, "profession", *arguments, set(), errors=KeyError),
    }


@compare(rtol=1e-9, atol=1e-9)
def case_result_files(seed):
    """The real loader on result files of an offline model, with the excluded events of the repository."""
    study = ("religion", "origin", "toy-8b")
    start = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            process_answers(write_raw_answers(*study, seed=seed), *study)
            excluded = analysis.get_excluded_id_set_no_default(*study)
            others = (position for position in range(N_EVENTS) if position not in excluded)
            excluded.update(islice(others, 5 - len(excluded)))  # so that 37 events remain, whatever the seed
            matrix = get_filtered_matrix(*study, excluded)
            without_exclusion = get_filtered_matrix(*study, set())
        finally:
            os.chdir(start)
    # Labels fix the names as well as the cells.
    return analysis.label_matrix(matrix, "religion"), analysis.label_matrix(without_exclusion, "religion"), excluded
