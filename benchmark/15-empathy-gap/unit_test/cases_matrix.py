"""Labelled inputs for empathy-zscored-intensity-matrix.

No cell mean is half-way between two roundings: a mean of c integers can only be if c is a multiple of 8, so the number
of events that remain never is. In core cases, which have the repository's number of events, it may be: there, cells are
so far apart that rounding them hardly matters.
"""

import os
import tempfile

import numpy as np
import pandas as pd
from analysis import analysis_after_processing as analysis
from analysis.analysis_after_processing import get_filtered_matrix
from analysis.process_exp_results import result_path
from const import GROUP_MAPPINGS, N_EVENTS, RESULTS_DIR, UNSPECIFIED
from lmrbench_cases import compare, core, outcome

STUDY = ("religion", "origin", "toy-8b")


def random_cube(seed: int, n: int, n_events: int) -> np.ndarray:
    """Integer intensities (n, n, n_events) with a mean and a spread of its own for each perceiver and experiencer."""
    rng = np.random.default_rng([15, seed, n, n_events])
    level = 55 + 12 * rng.normal(size=(n, 1, 1)) + 9 * rng.normal(size=(1, n, 1)) + 8 * np.eye(n)[:, :, None]
    events = rng.normal(scale=12, size=(1, 1, n_events))
    return np.clip(level + events + rng.normal(scale=9, size=(n, n, n_events)), 0, 100).round().astype(np.int64)


def serve(group_option: str, cube: np.ndarray, event_ids: np.ndarray | None = None) -> None:
    """Put `cube` behind the loader, indexed by `event_ids`; the unspecified identity has data of its own."""
    names, n_events = GROUP_MAPPINGS[group_option], cube.shape[-1]
    if event_ids is None:
        event_ids = np.random.default_rng(n_events).permutation(np.arange(100, 100 + 3 * n_events, 3))

    def loader(group_option, prompt_variation, model_id, persona, experiencer):
        values = np.arange(n_events) % 7
        if UNSPECIFIED not in (persona, experiencer):
            values = cube[names.index(persona), names.index(experiencer)].copy()
        return pd.Series(values, index=pd.Index(event_ids, name="event_id"), name="intensity")

    analysis.get_intensity_list = loader


@core
@compare(rtol=1e-3, atol=2e-3)
def case_religion(seed):
    excluded = np.random.default_rng([16, seed]).choice(N_EVENTS, size=5, replace=False)
    serve("religion", random_cube(seed, 5, N_EVENTS))
    return get_filtered_matrix(*STUDY, set(excluded.tolist()))


@core
@compare(rtol=1e-3, atol=2e-3)
def case_ethnicity(seed):
    serve("ethnicity", random_cube(seed, 18, N_EVENTS))
    return get_filtered_matrix("ethnicity", "persona-1", "toy-fair", {5, 6, 40})


@core
@compare(rtol=1e-3, atol=2e-2)
def case_nationality_on_the_short_scale(seed):
    serve("nationality", random_cube(seed, 21, N_EVENTS) // 10)
    return get_filtered_matrix("nationality", "10-scale", "toy-8b", {9})


@core
@compare(rtol=1e-3, atol=2e-3)
def case_perceiver_and_experiencer(seed):
    """Intensities that depend on one of the two alone."""
    level = np.random.default_rng([20, seed]).permutation([20, 35, 50, 65, 90])
    cube = np.broadcast_to(level[:, None, None], (5, 5, N_EVENTS))
    matrices = []
    for one in (cube, cube.transpose(1, 0, 2)):
        serve("religion", one)
        matrices.append(get_filtered_matrix(*STUDY, {1, 4, 11}))
    return matrices


@core
@compare(rtol=1e-3, atol=2e-3)
def case_refused_events(seed):
    """Excluded is every event that is -1 for some pair, as the analysis does; refusals differ between pairs."""
    rng = np.random.default_rng([17, seed])
    cube = random_cube(seed, 5, N_EVENTS)
    refused = rng.choice(N_EVENTS, size=8, replace=False)
    for position in refused:
        cube[rng.random((5, 5)) < 0.4, position] = -1
        cube[rng.integers(5), rng.integers(5), position] = -1
    serve("religion", cube)
    return get_filtered_matrix(*STUDY, analysis.get_excluded_id_set_no_default(*STUDY))


@core
@compare(rtol=1e-3, atol=2e-3)
def case_result_files(seed):
    """The loader itself, on files with ids of the corpus, and ids that look like positions."""
    cube = random_cube(seed, 5, N_EVENTS)
    ids = np.random.default_rng([18, seed]).permutation(N_EVENTS)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        RESULTS_DIR.mkdir(parents=True)
        for i, persona in enumerate(GROUP_MAPPINGS["religion"]):
            for j, experiencer in enumerate(GROUP_MAPPINGS["religion"]):
                rows = pd.DataFrame({"event_id": ids, "intensity": cube[i, j]})
                rows.to_csv(result_path(*STUDY, persona, experiencer), sep="\t", index=False)
        matrix = get_filtered_matrix(*STUDY, {0, 1, 2, 5, 30})
        os.chdir("/")
    return matrix


@compare(rtol=1e-6, atol=1e-6)
def case_means_closer_than_the_rounding(seed):
    """Means a few thousandths apart: rounding to two decimals makes some of them equal and moves others."""
    rng = np.random.default_rng([19, seed])
    n_events = 531
    sums = 60 * n_events + rng.integers(0, 20, size=(5, 5))
    sums[0, :3] = 60 * n_events + np.array([4, 5, 6])  # 60.0075, 60.0094, 60.0113: all 60.01
    cube = (sums // n_events)[:, :, None] + (np.arange(n_events) < (sums % n_events)[:, :, None])
    serve("religion", cube)
    return get_filtered_matrix(*STUDY, set())


@compare(rtol=1e-9, atol=1e-9)
def case_sets_of_excluded_positions(seed):
    """None, out of range, all but one; every set is the same after the call."""
    serve("religion", random_cube(seed, 5, 21))
    sets = {
        "none": set(),
        "first and last": frozenset({0, 20}),
        "some out of range": {-3, -1, 2, 11, 21, 10**9},
        "all but one": set(range(21)) - {7},
    }
    matrices = {name: get_filtered_matrix(*STUDY, ids) for name, ids in sets.items()}
    return matrices, {name: sorted(ids) for name, ids in sets.items()}


@compare(rtol=1e-9, atol=1e-9)
def case_refusals_outside_the_set_count(seed):
    cube = random_cube(seed, 5, 30)
    cube[np.random.default_rng([17, seed]).random(cube.shape) < 0.15] = -1
    cube[1, 2] = -1
    serve("religion", cube)
    return [get_filtered_matrix(*STUDY, ids) for ids in (set(), {8}, set(range(7)))]


@compare(rtol=1e-9, atol=1e-9)
def case_new_categories(seed):
    """Identities come from the table, in its order."""
    matrices = {}
    for n in (2, 8):
        GROUP_MAPPINGS["profession"] = tuple(f"a worker of trade {(5 * k + 3) % 11}" for k in range(n))
        serve("profession", random_cube(seed, n, 13))
        matrices[n] = get_filtered_matrix("profession", "origin", "toy-8b", {0, 12})
    return matrices


@compare(exact=True)
def case_equal_cells(seed):
    """A standard deviation of zero: NaN everywhere; also where rounding makes cells equal."""
    serve("religion", np.full((5, 5, 6), 50 + seed))
    constant = get_filtered_matrix(*STUDY, {1})
    cube = np.full((5, 5, 1001), 64)
    cube[:, :, 0] += np.random.default_rng(seed).integers(-4, 5, (5, 5))
    serve("religion", cube)
    return constant, get_filtered_matrix(*STUDY, set())


@compare(rtol=1e-9, atol=1e-9)
def case_no_event_and_no_category(seed):
    serve("religion", random_cube(seed, 5, 10))
    return {
        "one event": outcome(get_filtered_matrix, *STUDY, set(range(9)), errors=ZeroDivisionError),
        "no event": outcome(get_filtered_matrix, *STUDY, set(range(-1, 12)), errors=ZeroDivisionError),
        "no category": outcome(get_filtered_matrix, "profession", *STUDY[1:], set(), errors=KeyError),
    }
