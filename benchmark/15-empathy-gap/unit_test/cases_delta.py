"""Labelled inputs for empathy-gap-delta."""

import numpy as np
from analysis import analysis_after_processing as analysis
from analysis.analysis_after_processing import get_delta
from lmrbench_cases import compare, outcome

N_RELIGIONS, N_COUNTRIES, N_ETHNICITY_NAMES = 5, 21, 18
FIRST_OF_GROUP = (0, 5, 9, 12, N_ETHNICITY_NAMES)


def random_matrix(seed: int, n: int) -> np.ndarray:
    """Matrix with row and column effects, so that different sets of cells have clearly different means."""
    rng = np.random.default_rng([15, seed, n])
    return rng.normal(size=(n, n)) + rng.normal(size=(n, 1)) + rng.normal(size=(1, n)) + 2.0 * np.eye(n)


def ethnicity_blocks() -> np.ndarray:
    """Boolean mask (18, 18) of the cells whose two names share a group."""
    mask = np.zeros((N_ETHNICITY_NAMES, N_ETHNICITY_NAMES), dtype=bool)
    for start, stop in zip(FIRST_OF_GROUP[:-1], FIRST_OF_GROUP[1:], strict=True):
        mask[start:stop, start:stop] = True
    return mask


@compare(rtol=1e-9, atol=1e-9)
def case_random_religion(seed):
    return get_delta(random_matrix(seed, N_RELIGIONS), "religion")


@compare(rtol=1e-9, atol=1e-9)
def case_random_nationality(seed):
    return get_delta(random_matrix(seed, N_COUNTRIES), "nationality")


@compare(rtol=1e-9, atol=1e-9)
def case_random_ethnicity(seed):
    return get_delta(random_matrix(seed, N_ETHNICITY_NAMES), "ethnicity")


@compare(rtol=1e-9, atol=1e-9)
def case_leading_part_of_ethnicity(seed):
    """Fewer names than the category has: a block that is cut, and a group that is represented by one name."""
    matrix = random_matrix(seed, N_ETHNICITY_NAMES)
    return {f"{n} names": get_delta(matrix[:n, :n], "ethnicity") for n in (6, 7, 10, 15)}


@compare(rtol=1e-12, atol=1e-12)
def case_indicator_of_in_group(seed):
    """One in in-group cells and zero elsewhere, its negative, and a contrast that cannot be seen on the diagonal."""
    blocks = ethnicity_blocks().astype(float)
    diagonal = np.eye(N_RELIGIONS)
    off_diagonal_blocks = blocks - np.eye(N_ETHNICITY_NAMES)
    return {
        "blocks": get_delta(blocks, "ethnicity"),
        "negative blocks": get_delta(-blocks, "ethnicity"),
        "diagonal": get_delta(diagonal, "religion"),
        "negative diagonal": get_delta(-diagonal, "religion"),
        "blocks without diagonal": get_delta(off_diagonal_blocks, "ethnicity"),
    }


@compare(rtol=1e-9, atol=1e-9)
def case_one_heavy_cell(seed):
    """The weight of a single cell: on the diagonal, inside a large and a small block, outside, in either triangle."""
    base = random_matrix(seed, N_ETHNICITY_NAMES)
    deltas = []
    for cell in [(3, 3), (0, 4), (4, 0), (10, 11), (17, 12), (4, 5), (5, 4), (17, 0)]:
        matrix = base.copy()
        matrix[cell] += 500.0
        deltas.append(get_delta(matrix, "ethnicity"))
    return deltas


@compare(rtol=1e-9, atol=1e-9)
def case_same_matrix_other_category(seed):
    """The category alone decides: blocks for ethnicity, the diagonal for any other name, a new one included."""
    matrix = random_matrix(seed, N_ETHNICITY_NAMES)
    return {option: get_delta(matrix, option) for option in ("ethnicity", "religion", "nationality", "profession")}


@compare(rtol=1e-9, atol=1e-9)
def case_shifted_scaled_transposed(seed):
    matrix = random_matrix(seed, N_ETHNICITY_NAMES)
    return {
        "as it is": get_delta(matrix, "ethnicity"),
        "shifted": get_delta(matrix + 50.0, "ethnicity"),
        "scaled": get_delta(20.0 * matrix, "ethnicity"),
        "negative": get_delta(-matrix, "ethnicity"),
        "transposed": get_delta(matrix.T, "ethnicity"),
        "raw intensities": get_delta((60.0 + 8.0 * matrix).round(2), "ethnicity"),
    }


@compare(rtol=1e-9, atol=1e-9)
def case_skewed_cells(seed):
    """Few very large values, in and out of the blocks: means lie far from medians and trimmed means."""
    rng = np.random.default_rng([16, seed])
    matrix = rng.lognormal(mean=0.0, sigma=2.0, size=(N_ETHNICITY_NAMES, N_ETHNICITY_NAMES))
    return {"ethnicity": get_delta(matrix, "ethnicity"), "religion": get_delta(matrix[:5, :5], "religion")}


@compare(rtol=1e-12, atol=1e-12)
def case_small_and_integer(seed):
    """Two identities, and integer cells whose means are not integers; the score is a float all the same."""
    rng = np.random.default_rng([17, seed])
    counts = rng.integers(-50, 50, size=(N_RELIGIONS, N_RELIGIONS))
    counts[0, 0] += 1 - counts.trace() % 5  # the diagonal's mean is not whole
    return {
        "two": get_delta(np.array([[1.5, 0.25], [-2.0, 4.0]]), "nationality"),
        "two integers": get_delta(np.array([[7, 1], [2, 2]]), "religion"),
        "whole score": get_delta(np.array([[3, 1], [1, 3]]), "religion"),
        "integers": get_delta(counts, "religion"),
    }


@compare(exact=True)
def case_no_in_group_or_no_out_group(seed):
    """A mean over no cell: one identity, none, the names of one group, and a relation that never holds."""
    matrix = random_matrix(seed, N_RELIGIONS)
    outcomes = {
        "one religion": outcome(get_delta, matrix[:1, :1], "religion", errors=ZeroDivisionError),
        "one ethnicity name": outcome(get_delta, matrix[:1, :1], "ethnicity", errors=ZeroDivisionError),
        "five names of one group": outcome(get_delta, matrix, "ethnicity", errors=ZeroDivisionError),
        "empty": outcome(get_delta, np.zeros((0, 0)), "religion", errors=ZeroDivisionError),
    }
    analysis.check_in_group = lambda group_option, i, j: False
    outcomes["never in-group"] = outcome(get_delta, matrix, "religion", errors=ZeroDivisionError)
    return outcomes


@compare(rtol=1e-9, atol=1e-9)
def case_nan_is_not_skipped(seed):
    deltas = {}
    for name, cell in {"diagonal": (2, 2), "inside a block": (6, 8), "outside": (1, 16)}.items():
        matrix = random_matrix(seed, N_ETHNICITY_NAMES)
        matrix[cell] = np.nan
        deltas[name] = get_delta(matrix, "ethnicity")
    return deltas


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
    matrix = random_matrix(seed, 7)
    return {name: get_delta(matrix, name) for name in relations}


@compare(rtol=1e-9, atol=1e-9)
def case_input_is_left_alone(seed):
    """Read-only, reversed and Fortran-ordered views give their own score, and the matrix is what it was."""
    matrix = random_matrix(seed, N_COUNTRIES)
    writable = matrix.copy()
    deltas = {"writable": get_delta(writable, "nationality"), "matrix afterwards": writable}
    read_only = matrix[:N_ETHNICITY_NAMES, :N_ETHNICITY_NAMES].view()
    read_only.setflags(write=False)
    deltas["read-only part"] = get_delta(read_only, "ethnicity")
    deltas["every second"] = get_delta(matrix[::2, ::2], "ethnicity")
    deltas["rows reversed"] = get_delta(matrix[::-1], "nationality")
    deltas["Fortran order"] = get_delta(np.asfortranarray(matrix), "nationality")
    return deltas
