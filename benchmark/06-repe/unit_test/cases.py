"""Labelled inputs for repe-pca-reading-directions.

Directions have an arbitrary sign, so that a matrix of directions is returned row by row and compared up to the sign of
each row. Where a direction itself is arbitrary, its matrix of scalar products is compared instead.
"""

import numpy as np
from lmrbench_cases import compare, outcome
from repe.rep_readers import PCARepReader

#: Standard deviations along the principal axes: well apart, so that each axis is determined, and no two are equal.
SPREADS = (8.0, 5.0, 3.2, 2.0, 1.3, 0.8, 0.5, 0.3)


def planted(seed, n, width, *, spreads=SPREADS, mean=0.4, dtype=np.float32) -> np.ndarray:
    """Rows (n, width) with these standard deviations along random orthonormal axes; the others have almost none.

    The sample is whitened before it is scaled, so that the spectrum is the planted one whatever the seed is.
    """
    rng = np.random.default_rng([6, seed, n, width])
    rank = min(len(spreads), width, n - 1)
    scores = rng.normal(size=(n, rank))
    scores, _ = np.linalg.qr(scores - scores.mean(0))
    axes, _ = np.linalg.qr(rng.normal(size=(width, rank)))
    rows = np.sqrt(n) * scores * np.array(spreads[:rank]) @ axes.T
    return (rows + mean * rng.normal(size=width)).astype(dtype)


def plain(arrays):
    """Kind, dtype and numbers a layer: as lists, arrays do not count as equal up to their sign."""
    return {layer: (type(array).__name__, str(array.dtype), array.tolist()) for layer, array in arrays.items()}


def fit(states, layers, n_components=1, reader=None, **kwargs):
    """Directions row by row, their shapes and dtypes, and what the reader stores."""
    reader = PCARepReader(n_components) if reader is None else reader
    directions = reader.get_rep_directions(None, None, states, layers, **kwargs)
    return {
        "rows": {layer: list(matrix) for layer, matrix in directions.items()},
        "shapes": {layer: (matrix.shape, str(matrix.dtype)) for layer, matrix in directions.items()},
        "means": plain(reader.H_train_means),
        "n_components": reader.n_components,
    }


def gram(matrix):
    """Scalar products of the rows, in float64."""
    return matrix.astype(np.float64) @ matrix.astype(np.float64).T


@compare(rtol=1e-4, atol=2e-5, sign_invariant=True)
def case_one_direction_a_layer(seed):
    states = {layer: planted(seed + 10 * -layer, 60, 16) for layer in (-1, -2, -3)}
    return fit(states, [-1, -2, -3])


@compare(rtol=1e-4, atol=2e-5, sign_invariant=True)
def case_several_components(seed):
    """In order of falling variance, of unit length."""
    states = {-4: planted(seed, 80, 12), -2: planted(seed + 1, 50, 12)}
    return {str(count): fit(states, [-4, -2], count) for count in (2, 3, 8)}


@compare(rtol=1e-4, atol=2e-5, sign_invariant=True)
def case_many_rows(seed):
    """More than ten rows a column, and up to 500 of them."""
    states = {-1: planted(seed, 500, 8), -2: planted(seed, 300, 20)}
    return fit(states, [-1, -2], 4)


@compare(rtol=1e-4, atol=2e-5, sign_invariant=True)
def case_more_columns_than_rows(seed):
    states = {-1: planted(seed, 12, 96), -2: planted(seed, 9, 200)}
    return fit(states, [-1, -2], 5)


@compare(rtol=1e-4, atol=1e-4, sign_invariant=True)
def case_large_common_mean(seed):
    """The rows have little in common with the direction of their mean, which is far longer than they vary."""
    states = {-1: planted(seed, 60, 16, mean=100.0), -2: planted(seed, 60, 16, mean=-30.0)}
    return fit(states, [-1, -2], 2)


@compare(rtol=1e-4, atol=2e-5, sign_invariant=True)
def case_rows_of_unequal_length(seed):
    """One long row among short ones, and columns of unequal scale: neither rows nor columns are normalised."""
    rng = np.random.default_rng([7, seed])
    outlier = planted(seed, 40, 10)
    outlier[7] *= 40
    columns = (rng.normal(size=(70, 6)) * np.array([0.1, 20.0, 1.0, 5.0, 0.4, 2.2])).astype(np.float32)
    return fit({-1: outlier, -2: columns}, [-2, -1], 2)


@compare(rtol=1e-4, atol=2e-5, sign_invariant=True)
def case_pairs_in_mixed_order(seed):
    """Differences whose sign changes from row to row with the order of the pair; labels come along and do nothing."""
    rng = np.random.default_rng([8, seed])
    concept, habit = np.linalg.qr(rng.normal(size=(14, 2)))[0].T
    order = rng.permutation(np.repeat([1, -1], 24))
    rows = 2.0 * order[:, None] * concept + rng.normal(size=(48, 1)) * habit + 0.2 * rng.normal(size=(48, 14))
    states = {-1: rows.astype(np.float32)}
    labels = [[1, 0] if sign > 0 else [0, 1] for sign in order]
    flipped = [pair[::-1] for pair in labels]
    return [fit(states, [-1], train_choices=choices, verbose=True) for choices in (labels, flipped, labels[:5], None)]


@compare(rtol=1e-4, atol=2e-5, sign_invariant=True)
def case_listed_layers_only(seed):
    """Keys of several kinds; more layers than are listed, some of which cannot be fitted."""
    states = {
        -1: planted(seed, 30, 8),
        5: planted(seed + 1, 30, 8),
        "last": planted(seed + 2, 30, 8),
        -2: np.full((0, 8), np.nan, dtype=np.float32),
        0: planted(seed + 3, 30, 8),
    }
    return [fit(states, layers) for layers in ([5, -1], ["last"], [0, "last", -1], [])]


@compare(rtol=1e-4, atol=2e-5, sign_invariant=True)
def case_sizes_that_differ_between_layers(seed):
    states = {-1: planted(seed, 20, 8), -2: planted(seed, 45, 8), -3: planted(seed, 31, 24)}
    return fit(states, [-3, -1, -2], 3)


@compare(rtol=1e-4, atol=2e-5, sign_invariant=True)
def case_means_of_the_same_reader(seed):
    """A second call replaces the means of its layers and keeps the others; another reader has means of its own."""
    first = {-1: planted(seed, 30, 8), -2: planted(seed + 1, 30, 8)}
    second = {-2: planted(seed + 2, 25, 8), -3: planted(seed + 3, 25, 8)}
    reader, other = PCARepReader(2), PCARepReader(1)
    return [
        fit(first, [-1, -2], reader=reader),
        fit(second, [-3], reader=other),
        fit(second, [-2, -3], reader=reader),
    ]


@compare(rtol=1e-4, atol=2e-5, sign_invariant=True)
def case_means_of_many_sizes(seed):
    """Few rows, offset by a little, by their own size, and by far more."""
    states = {
        layer: planted(seed - layer, 6, 4, mean=0.0) + np.float32(offset) * np.arange(1, 5, dtype=np.float32)
        for layer, offset in ((-1, 1e-3), (-2, 1.0), (-3, 50.0))
    }
    return fit(states, [-3, -2, -1])


@compare(rtol=1e-4, atol=2e-5, sign_invariant=True)
def case_all_components(seed):
    """None: min(n, d) of the first layer listed, kept for the next ones, and by the reader."""
    spreads = tuple(np.linspace(6.0, 1.0, 6))
    states = {-1: planted(seed, 40, 6, spreads=spreads), -2: planted(seed, 40, 9, spreads=(9.0, 7.5, *spreads))}
    return {"-1 first": fit(states, [-1, -2], None), "-1 alone": fit(states, [-1], None)}


@compare(rtol=1e-4, atol=2e-5)
def case_all_components_of_few_rows(seed):
    """None with more columns than rows: the last direction has no variance; only its length and angles are fixed."""
    reader = PCARepReader(None)
    states = {-1: planted(seed, 5, 30), -2: planted(seed, 11, 30)}
    directions = reader.get_rep_directions(None, None, states, [-1, -2])
    return {
        "projectors of all but the last": {
            layer: matrix[:4].T.astype(np.float64) @ matrix[:4] for layer, matrix in directions.items()
        },
        "gram": {layer: gram(matrix) for layer, matrix in directions.items()},
        "n_components": reader.n_components,
        "dtypes": {layer: (matrix.shape, str(matrix.dtype)) for layer, matrix in directions.items()},
    }


@compare(rtol=1e-4, atol=2e-5, sign_invariant=True)
def case_share_of_variance(seed):
    """Resolved on the first layer; the other spectrum would need another number for the same share."""
    flat = planted(seed, 60, 16, spreads=(4.0, 3.6, 3.2, 2.8, 2.4, 2.0, 1.6, 1.2))
    steep = planted(seed, 60, 16)
    states = {-1: flat, -2: steep}
    return {
        f"{share}, {layers}": fit(states, list(layers), share)
        for share in (0.05, 0.5, 0.75, 0.9)
        for layers in ((-1, -2), (-2, -1))
    }


@compare(rtol=1e-4, atol=2e-5, sign_invariant=True)
def case_share_then_second_call(seed):
    """After the first call the reader holds an integer."""
    flat = {-1: planted(seed, 60, 16, spreads=(4.0, 3.6, 3.2, 2.8, 2.4, 2.0, 1.6, 1.2))}
    steep = {-2: planted(seed, 60, 16)}
    reader = PCARepReader(0.8)
    return [fit(steep, [-2], reader=reader)["n_components"], fit(flat, [-1], reader=reader)]


@compare(rtol=2e-3, atol=2e-3, sign_invariant=True)
def case_half_precision(seed):
    """Float16 rows: float16 means, float32 directions."""
    return fit({-1: planted(seed, 40, 12, dtype=np.float16)}, [-1], 2)


@compare(rtol=1e-4, atol=2e-5, sign_invariant=True)
def case_double_precision(seed):
    """Float64 rows: float64 means, float32 directions."""
    return fit({-1: planted(seed, 40, 12, dtype=np.float64), -2: planted(seed, 40, 12)}, [-1, -2], 3)


@compare(rtol=1e-4, atol=2e-5, sign_invariant=True)
def case_two_rows_and_one_column(seed):
    """Two rows have one direction, the one between them; a single column has a direction of length one."""
    rng = np.random.default_rng([9, seed])
    states = {-1: rng.normal(size=(2, 7)).astype(np.float32), -2: rng.normal(size=(9, 1)).astype(np.float32)}
    return fit(states, [-1, -2])


@compare(atol=2e-5)
def case_equal_rows(seed):
    """No variance: finite orthonormal rows, whichever they are."""
    row = np.random.default_rng([10, seed]).integers(-8, 9, size=6).astype(np.float32)
    reader = PCARepReader(2)
    states = {-1: np.tile(row, (8, 1)), -2: np.zeros((4, 6), dtype=np.float32)}
    directions = reader.get_rep_directions(None, None, states, [-1, -2])
    return {
        "gram": {layer: gram(matrix) for layer, matrix in directions.items()},
        "shapes": {layer: matrix.shape for layer, matrix in directions.items()},
        "means": plain(reader.H_train_means),
    }


@compare(exact=True)
def case_too_many_components(seed):
    """More than rows, more than columns, and an integer from the first layer that is too large for the second."""
    small, large = planted(seed, 5, 12), planted(seed, 40, 12)
    return {
        name: outcome(lambda states, layers, count: fit(states, layers, count)["shapes"], *arguments, errors=ValueError)
        for name, arguments in {
            "rows": ({-1: small}, [-1], 6),
            "columns": ({-1: large}, [-1], 13),
            "none too many": ({-1: small}, [-1], 5),
            "second layer": ({-1: large, -2: small}, [-1, -2], None),
            "smaller layer first": ({-1: large, -2: small}, [-2, -1], None),
        }.items()
    }


@compare(rtol=1e-4, atol=2e-5, sign_invariant=True)
def case_inputs_unchanged(seed):
    """Read-only, strided and transposed arrays; arguments by name; the rows come back as they were."""
    columns = np.asfortranarray(planted(seed, 30, 8))
    read_only = planted(seed + 1, 30, 8)
    read_only.setflags(write=False)
    strided = np.repeat(planted(seed + 2, 30, 8), 2, axis=1)[:, ::2]
    states = {-1: columns, -2: read_only, -3: strided}
    layers = [-2, -3, -1]
    reader = PCARepReader(n_components=2)
    directions = reader.get_rep_directions(
        hidden_layers=layers, hidden_states=states, tokenizer="unused", model="unused", train_choices=None
    )
    return {
        "rows": {layer: list(matrix) for layer, matrix in directions.items()},
        "means": plain(reader.H_train_means),
        "states": {layer: [tuple(row.tolist()) for row in rows] for layer, rows in states.items()},
        "layers": layers,
    }


@compare(rtol=1e-4, atol=1e-4, sign_invariant=True)
def case_signs_and_scores(seed):
    """With signs from labels, and recentred by the stored means, the scores no longer depend on an arbitrary sign."""
    rng = np.random.default_rng([11, seed])
    labels = [[1, 0] if draw < 0.5 else [0, 1] for draw in rng.random(40)]
    side = 2.0 * np.concatenate(labels) - 1
    states = {}
    for layer in (-1, -2):
        direction = rng.normal(size=12)
        direction /= np.linalg.norm(direction)
        topic = np.repeat(rng.normal(size=(40, 12)), 2, axis=0)
        rows = 3.0 * topic + 1.5 * side[:, None] * direction + 0.15 * rng.normal(size=(80, 12)) + 2.0
        states[layer] = rows.astype(np.float32)
    reader = PCARepReader()
    differences = {layer: rows[::2] - rows[1::2] for layer, rows in states.items()}
    reader.directions = reader.get_rep_directions(None, None, differences, [-1, -2], train_choices=labels)
    reader.direction_signs = reader.get_signs(states, labels, [-1, -2])
    scores = reader.transform(states, [-1, -2])
    return {"first scores": {layer: found[:6].tolist() for layer, found in scores.items()}, "scores": scores}
