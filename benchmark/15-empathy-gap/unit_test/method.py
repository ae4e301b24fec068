"""Labelled inputs for empathy-gap-method: each masked function, and a short study with the offline models.

Cells are means of a number of events that is no multiple of 8, so that none lies half-way between two roundings.
"""

import os
import tempfile

import numpy as np
import pandas as pd
from analysis import analysis_after_processing as analysis
from analysis.blocks import group_matrix
from analysis.permutation import chance_interval, permute_matrix
from analysis.process_exp_results import process_answers, result_path
from const import GROUP_MAPPINGS, N_EVENTS, REFUSAL, RESULTS_DIR, UNSPECIFIED
from lmrbench_cases import compare, experiment, goal
from predict_emotion import write_raw_answers

SIZES = {"religion": 5, "ethnicity": 18, "nationality": 21}
STUDY = ("religion", "origin", "toy-8b")
#: Seeds of the offline models with which the number of events that are left is no multiple of 8.
MODEL_SEEDS = (0, 2, 3)


def random_matrix(seed: int, n: int) -> np.ndarray:
    """Values with row, column and diagonal effects and a long tail, in no unit."""
    rng = np.random.default_rng([15, seed, n])
    matrix = rng.normal(size=(n, n)) + rng.normal(size=(n, 1)) + rng.normal(size=(1, n)) + 1.5 * np.eye(n)
    return matrix + 0.2 * rng.lognormal(sigma=1.5, size=(n, n))


def random_cube(seed: int, n: int, n_events: int) -> np.ndarray:
    """Integer intensities (n, n, n_events): levels of perceivers and experiencers, and skewed events."""
    rng = np.random.default_rng([16, seed, n, n_events])
    level = 45 + 9 * rng.normal(size=(n, 1, 1)) + 6 * rng.normal(size=(1, n, 1)) + 7 * np.eye(n)[:, :, None]
    events = rng.exponential(scale=14, size=(1, 1, n_events))
    return np.clip(level + events + rng.normal(scale=7, size=(n, n, n_events)), 0, 100).round().astype(np.int64)


def refuse(seed: int, cube: np.ndarray, rates: dict[int, float]) -> np.ndarray:
    """A copy in which the events at some positions are refused by a share of the pairs, and by at least one."""
    rng = np.random.default_rng([17, seed])
    cube = cube.copy()
    for position, rate in rates.items():
        cube[rng.random(cube.shape[:2]) < rate, position] = REFUSAL
        cube[rng.integers(len(cube)), rng.integers(len(cube)), position] = REFUSAL
    return cube


def serve(group_option: str, cube: np.ndarray, unspecified: np.ndarray | None = None) -> None:
    """Put `cube` behind the loader; the unspecified identity has intensities of its own, `unspecified`."""
    names, n_events = GROUP_MAPPINGS[group_option], cube.shape[-1]
    event_ids = np.random.default_rng(n_events).permutation(np.arange(n_events))
    of_unspecified = np.arange(n_events) % 7 if unspecified is None else unspecified

    def loader(group_option, prompt_variation, model_id, persona, experiencer):
        if UNSPECIFIED in (persona, experiencer):
            values = of_unspecified
        else:
            values = cube[names.index(persona), names.index(experiencer)]
        return pd.Series(values.copy(), index=pd.Index(event_ids, name="event_id"), name="intensity")

    analysis.get_intensity_list = loader


# --- the matrix -------------------------------------------------------------------------------------------------------


@goal("get_excluded_id_set_no_default")
@compare(exact=True)
def case_excluded_events(seed):
    """Refusals of one pair, of many and of all; others that the unspecified identity alone refuses."""
    found = []
    for group_option, n_events in (("religion", 42), ("ethnicity", 60), ("religion", 21)):
        n = SIZES[group_option]
        refused = np.random.default_rng([18, seed, n_events]).permutation(n_events)[:9].tolist()
        rates = dict(zip(refused[:6], (0.0, 0.0, 0.3, 0.6, 0.9, 1.0), strict=True))
        unspecified = np.full(n_events, 50)
        unspecified[refused[5:]] = REFUSAL
        serve(group_option, refuse(seed, random_cube(seed, n, n_events), rates), unspecified)
        found.append(sorted(int(i) for i in analysis.get_excluded_id_set_no_default(group_option, *STUDY[1:])))
    return found


@goal("pair_intensity")
@compare(rtol=1e-9, atol=1e-9)
def case_pair_intensity(seed):
    """Skewed intensities; ids that are positions of other rows; events left out at both ends or none."""
    rng = np.random.default_rng([19, seed])
    results = []
    for n_events, n_excluded in ((42, 5), (42, 0), (33, 12), (11, 10), (603, 100)):
        values = np.minimum(rng.exponential(scale=20, size=n_events).round(), 100).astype(np.int64)
        excluded = {0, *rng.permutation(n_events)[:n_excluded].tolist()} if n_excluded else set()
        excluded = set(sorted(excluded)[:n_excluded])
        values[list(excluded)] = REFUSAL
        intensities = pd.Series(values, index=rng.permutation(n_events), name="intensity")
        results.append(float(analysis.pair_intensity(intensities, excluded)))
    return results


@goal("standardise")
@compare(rtol=1e-9, atol=1e-9)
def case_standardise(seed):
    """Matrices of every size, on the long and the short scale; they stay as they are."""
    results = []
    for n in (2, *SIZES.values()):
        for scale in (10.0, 0.7):
            raw = 50.0 + scale * random_matrix(seed, n)
            results.append([analysis.standardise(raw), raw])
    return results


@goal("get_filtered_matrix")
@compare(rtol=1e-6, atol=1e-6)
def case_matrix(seed):
    """Effects of the perceiver alone, of the experiencer alone, and all."""
    results = {}
    for group_option, n_events, excluded in (("religion", 42, {1, 4, 11}), ("ethnicity", 29, {0, 28})):
        n = SIZES[group_option]
        serve(group_option, refuse(seed, random_cube(seed, n, n_events), dict.fromkeys(excluded, 0.5)))
        results[group_option] = analysis.get_filtered_matrix(group_option, *STUDY[1:], excluded)
    level = np.random.default_rng([20, seed]).permutation([20, 35, 50, 65, 90])
    for name, order in {"perceiver": (0, 1, 2), "experiencer": (1, 0, 2)}.items():
        serve("religion", np.broadcast_to(level[:, None, None], (5, 5, 12)).transpose(order))
        results[name] = analysis.get_filtered_matrix(*STUDY, {2, 3, 7})
    return results


# --- the score --------------------------------------------------------------------------------------------------------


@goal("check_in_group")
@compare(exact=True)
def case_in_group(seed):
    """Pairs of each category, in another order for each seed."""
    rng = np.random.default_rng([21, seed])
    answers = {}
    for group_option, n in SIZES.items():
        pairs = [(i, j) for i in range(n) for j in range(n)]
        order = rng.permutation(len(pairs)).tolist()
        answers[group_option] = [bool(analysis.check_in_group(group_option, *pairs[k])) for k in order]
    return answers


@goal("gap_score")
@compare(rtol=1e-9, atol=1e-9)
def case_gap_score(seed):
    """Sets of different size and spread, on other scales, and a negative gap."""
    rng = np.random.default_rng([22, seed])
    scores = []
    for size, other, scale in ((5, 20, 1.0), (21, 420, 0.2), (86, 238, 4.0), (1, 2, 1.0), (3, 1, 1.0)):
        inside = (scale * (rng.lognormal(size=size) + 0.5)).tolist()
        outside = (scale * 2 * rng.lognormal(sigma=0.5, size=other)).tolist()
        scores += [float(analysis.gap_score(inside, outside)), float(analysis.gap_score(outside, inside))]
    return scores


@goal("get_delta")
@compare(rtol=1e-9, atol=1e-9)
def case_delta(seed):
    """Every category; one large cell on the diagonal, in a block, or outside of all, in either triangle."""
    deltas = {option: float(analysis.get_delta(random_matrix(seed, n), option)) for option, n in SIZES.items()}
    for cell in [(3, 3), (0, 4), (4, 0), (10, 11), (17, 12), (4, 5), (5, 4), (17, 0)]:
        matrix = random_matrix(seed, 18)
        matrix[cell] += 500.0
        deltas[str(cell)] = float(analysis.get_delta(matrix, "ethnicity"))
    return deltas


@goal("group_matrix")
@compare(rtol=1e-9, atol=1e-9)
def case_groups(seed):
    """Blocks of names, groups of one name each, and the labels."""
    results = {}
    for option, n in SIZES.items():
        blocks = group_matrix(random_matrix(seed, n), option)
        results[option] = [blocks.to_numpy(dtype=float), [str(label) for label in (*blocks.index, *blocks.columns)]]
    return results


# --- chance -----------------------------------------------------------------------------------------------------------


@goal("permute_matrix")
@compare(rtol=1e-9, atol=1e-9)
def case_permuted_matrices(seed):
    """Several matrices from one generator; the input stays as it is."""
    rng = np.random.default_rng([23, seed])
    results = []
    for n in (5, 18, 21, 5):
        matrix = random_matrix(seed, n)
        results.append([permute_matrix(matrix, rng), permute_matrix(matrix, rng), matrix])
    return results


@goal("chance_interval")
@compare(rtol=1e-9, atol=1e-9)
def case_chance_interval(seed):
    """Skewed scores, few and many, in any order."""
    rng = np.random.default_rng([24, seed])
    results = []
    for size in (2, 17, 100, 5001):
        results.append([float(end) for end in chance_interval((rng.exponential(size=size) - 0.7).tolist())])
    return results


@goal("get_interval")
@compare(rtol=1e-9, atol=1e-9)
def case_interval(seed):
    """Each category, with other numbers of permutations and other seeds."""
    results = []
    for option, n_permutations in (("religion", 200), ("ethnicity", 40), ("nationality", 30)):
        interval = analysis.get_interval(random_matrix(seed, SIZES[option]), option, n_permutations, seed + 3)
        results.append([float(end) for end in interval])
    return results


# --- the study --------------------------------------------------------------------------------------------------------


def write_results(study: tuple[str, str, str], cube: np.ndarray, unspecified: np.ndarray) -> None:
    """Result files of all pairs, in the working directory."""
    names = (UNSPECIFIED, *GROUP_MAPPINGS[study[0]])
    RESULTS_DIR.mkdir(parents=True, exist_ok=True)
    for i, persona in enumerate(names):
        for j, experiencer in enumerate(names):
            values = cube[i - 1, j - 1] if i and j else unspecified
            rows = pd.DataFrame({"event_id": np.arange(N_EVENTS)[::-1], "intensity": values})
            rows.to_csv(result_path(*study, persona, experiencer), sep="\t", index=False)


def facts(gap: "analysis.EmpathyGap") -> dict[str, object]:
    """All parts of a result."""
    return {
        "matrix": gap.matrix.to_numpy(dtype=float),
        "names": [str(name) for name in (*gap.matrix.index, *gap.matrix.columns)],
        "delta": float(gap.delta),
        "interval": [float(end) for end in gap.interval],
        "excluded": int(gap.n_excluded),
        "beyond": bool(gap.beyond_chance),
    }


@goal("analyse")
@compare(rtol=1e-6, atol=1e-6)
def case_analysis_of_files(seed):
    """Files of one category, with refusals, for other numbers of permutations."""
    cube = refuse(seed, random_cube(seed, 5, N_EVENTS), {3: 0.0, 8: 0.2, 20: 0.5, 31: 0.0, 40: 0.9})
    unspecified = np.where(np.arange(N_EVENTS) == 12, REFUSAL, 30)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_results(STUDY, cube, unspecified)
        for n_permutations in (60, 150):
            results.append(facts(analysis.analyse(*STUDY, n_permutations)))
        os.chdir("/")
    return results


@experiment
@compare(rtol=1e-6, atol=1e-6)
def case_study(seed):
    """Ask the offline models, process their answers, and analyse them, by two wordings of the question."""
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for study, n_permutations in (
            (("religion", "origin", "toy-8b"), 200),
            (("religion", "10-scale", "toy-fair"), 100),
            (("ethnicity", "persona-1", "toy-8b"), 50),
        ):
            process_answers(write_raw_answers(*study, seed=MODEL_SEEDS[seed % 3]), *study)
            gap = analysis.analyse(*study, n_permutations)
            blocks = group_matrix(gap.matrix.to_numpy(), study[0])
            results[" ".join(study)] = [facts(gap), blocks.to_numpy(dtype=float)]
        os.chdir("/")
    return results
