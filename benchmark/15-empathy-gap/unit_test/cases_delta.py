"""Labelled inputs for empathy-gap-delta."""

import numpy as np
from analysis import analysis_after_processing as analysis
from analysis.analysis_after_processing import get_delta
from lmrbench_cases import compare, core, outcome

SIZES = {"religion": 5, "ethnicity": 18, "nationality": 21}


def random_matrix(seed: int, n: int) -> np.ndarray:
    """Z-scores with row, column and diagonal effects, so that different sets of cells have clearly different means."""
    rng = np.random.default_rng([15, seed, n])
    matrix = rng.normal(size=(n, n)) + rng.normal(size=(n, 1)) + rng.normal(size=(1, n)) + 2.0 * np.eye(n)
    return (matrix - matrix.mean()) / matrix.std()


@core
@compare(rtol=1e-6, atol=1e-6)
def case_religion(seed):
    return get_delta(random_matrix(seed, 5), "religion")


@core
@compare(rtol=1e-6, atol=1e-6)
def case_nationality(seed):
    return get_delta(random_matrix(seed, 21), "nationality")


@core
@compare(rtol=1e-6, atol=1e-6)
def case_ethnicity(seed):
    return get_delta(random_matrix(seed, 18), "ethnicity")


@core
@compare(rtol=1e-6, atol=1e-6)
def case_raw_intensities(seed):
    """A matrix that is not standardised: the score is in the unit of the scale."""
    return {option: get_delta(60.0 + 8.0 * random_matrix(seed, n), option) for option, n in SIZES.items()}


@core
@compare(rtol=1e-6, atol=1e-6)
def case_skewed_cells(seed):
    """Few large values, in and out of the groups: means lie far from medians, and the sign may be negative."""
    rng = np.random.default_rng([16, seed])
    matrices = {option: rng.lognormal(sigma=2.0, size=(n, n)) for option, n in SIZES.items()}
    return {option: [get_delta(sign * m, option) for sign in (1, -1)] for option, m in matrices.items()}


@core
@compare(rtol=1e-6, atol=1e-6)
def case_weight_of_one_cell(seed):
    """On the diagonal, inside groups of different size, outside of them, in either triangle."""
    base = random_matrix(seed, 18)
    deltas = {}
    for cell in [(3, 3), (0, 4), (4, 0), (10, 11), (17, 12), (4, 5), (5, 4), (17, 0)]:
        matrix = base.copy()
        matrix[cell] += 500.0
        deltas[str(cell)] = get_delta(matrix, "ethnicity")
    return deltas


@core
@compare(rtol=1e-6, atol=1e-6)
def case_interval_of_chance(seed):
    """Through its caller, for two of the categories."""
    return {
        option: analysis.get_interval(random_matrix(seed, SIZES[option]), option, n_permutations=50, seed=seed)
        for option in ("religion", "ethnicity")
    }


@compare(rtol=1e-9, atol=1e-9)
def case_leading_part_of_the_names(seed):
    """A group that is cut, and a group that is represented by one name."""
    matrix = random_matrix(seed, 18)
    return {f"{n} names": get_delta(matrix[:n, :n], "ethnicity") for n in (6, 7, 10, 15)}


@compare(rtol=1e-9, atol=1e-9)
def case_same_matrix_other_category(seed):
    """The category alone decides, and a new one is handed on."""
    matrix = random_matrix(seed, 18)
    return {option: get_delta(matrix, option) for option in (*SIZES, "profession")}


@compare(rtol=1e-9, atol=1e-9)
def case_other_relations(seed):
    """The score follows `check_in_group`, whatever it says, and hands it category, row and column in this order."""
    relations = {
        "parity": lambda i, j: i % 2 == j % 2,
        "first identity against all": lambda i, j: i == 0,
        "upper triangle": lambda i, j: i < j,
        "all but one cell": lambda i, j: (i, j) != (4, 2),
    }
    analysis.check_in_group = lambda group_option, i, j: relations[group_option](i, j)
    return {name: get_delta(random_matrix(seed, 7), name) for name in relations}


@compare(rtol=1e-9, atol=1e-9)
def case_integers(seed):
    """Integer cells whose means are no integers; the score is a float, also if it is whole."""
    counts = np.random.default_rng([17, seed]).integers(-50, 50, size=(5, 5))
    counts[0, 0] += 1 - counts.trace() % 5
    return get_delta(counts, "religion"), get_delta(np.array([[seed, 1], [1, seed]]), "religion")


@compare(rtol=1e-9, atol=1e-9)
def case_no_in_group_or_no_out_group(seed):
    """A mean over no cell: one identity, none, the names of one group, a relation that never holds."""
    matrix = random_matrix(seed, 6)
    inputs = {
        "one religion": (matrix[:1, :1], "religion"),
        "five names of one group": (matrix[:5, :5], "ethnicity"),
        "one name of another group": (matrix, "ethnicity"),
        "empty": (np.zeros((0, 0)), "religion"),
    }
    outcomes = {name: outcome(get_delta, *given, errors=ZeroDivisionError) for name, given in inputs.items()}
    analysis.check_in_group = lambda group_option, i, j: False
    outcomes["never in-group"] = outcome(get_delta, matrix, "religion", errors=ZeroDivisionError)
    return outcomes


@compare(rtol=1e-9, atol=1e-9)
def case_nan_is_not_skipped(seed):
    deltas = {"none": get_delta(random_matrix(seed, 18), "ethnicity")}
    for name, cell in {"inside a group": (6, 8), "outside": (1, 16)}.items():
        matrix = random_matrix(seed, 18)
        matrix[cell] = np.nan
        deltas[name] = get_delta(matrix, "ethnicity")
    return deltas


@compare(rtol=1e-9, atol=1e-9)
def case_input_is_left_alone(seed):
    """Views and read-only arrays; the matrix is what it was."""
    matrix = random_matrix(seed, 21)
    deltas = [get_delta(view, "nationality") for view in (matrix, matrix[::2, ::2], matrix[::-1])]
    read_only = matrix.copy()
    read_only.setflags(write=False)
    return deltas, get_delta(read_only, "nationality"), matrix
