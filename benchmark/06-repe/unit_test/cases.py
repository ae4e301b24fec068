"""Labelled inputs for repe-pca-reading-directions.

Directions have an arbitrary sign, so that a matrix of directions is returned row by row and compared up to the sign of
each row.
"""

import numpy as np
from lmrbench_cases import compare, core, outcome
from repe.rep_readers import PCARepReader

#: Standard deviations along the principal axes: well apart, so that each axis is determined, and no two are equal.
SPREADS = (8.0, 5.0, 3.2, 2.0, 1.3, 0.8, 0.5, 0.3)
FLAT = (4.0, 3.6, 3.2, 2.8, 2.4, 2.0, 1.6, 1.2)


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


def read(states, layers, n_components=1, **kwargs):
    """Directions row by row with their shapes, and the stored means as lists; dtypes and the means' shape left out."""
    reader = PCARepReader(n_components)
    directions = reader.get_rep_directions(None, None, states, layers, **kwargs)
    return {
        "rows": {layer: [np.asarray(row, dtype=np.float32) for row in matrix] for layer, matrix in directions.items()},
        "shapes": {layer: tuple(matrix.shape) for layer, matrix in directions.items()},
        "means": {layer: np.asarray(reader.H_train_means[layer], np.float64).ravel().tolist() for layer in layers},
    }


def fit(states, layers, reader):
    """Everything: directions row by row, shapes and dtypes, all that the reader stores."""
    directions = reader.get_rep_directions(None, None, states, layers)
    return {
        "rows": {layer: list(matrix) for layer, matrix in directions.items()},
        "shapes": {layer: (matrix.shape, str(matrix.dtype)) for layer, matrix in directions.items()},
        "means": {
            layer: (type(mean).__name__, str(mean.dtype), mean.tolist()) for layer, mean in reader.H_train_means.items()
        },
        "n_components": reader.n_components,
    }


@core
@compare(rtol=1e-3, atol=1e-3, sign_invariant=True)
def case_one_direction_a_layer(seed):
    """The dictionary holds a layer that is not asked for."""
    states = {layer: planted(seed + 10 * -layer, 60, 16) for layer in (-1, -2, -3, -4)}
    return read(states, [-3, -1, -2])


@core
@compare(rtol=1e-3, atol=1e-3, sign_invariant=True)
def case_several_components(seed):
    """In order of falling variance, of unit length; more rows than columns and fewer, another number in each layer."""
    states = {-4: planted(seed, 80, 12), -2: planted(seed + 1, 50, 12), -1: planted(seed, 12, 96)}
    return {str(count): read(states, [-4, -2, -1], count) for count in (2, 3, 6)}


@core
@compare(rtol=1e-3, atol=1e-3, sign_invariant=True)
def case_large_common_mean(seed):
    """The rows have little in common with the direction of their mean, which is far longer than they vary."""
    states = {-1: planted(seed, 60, 16, mean=30.0), -2: planted(seed, 60, 16, mean=-10.0)}
    return read(states, [-1, -2], 2)


@core
@compare(rtol=1e-3, atol=1e-3, sign_invariant=True)
def case_rows_of_unequal_length(seed):
    """One long row among short ones, and columns of unequal scale."""
    rng = np.random.default_rng([7, seed])
    outlier = planted(seed, 40, 10)
    outlier[7] *= 40
    columns = (rng.normal(size=(70, 6)) * np.array([0.1, 20.0, 1.0, 5.0, 0.4, 2.2])).astype(np.float32)
    return read({-1: outlier, -2: columns}, [-2, -1], 2)


@core
@compare(rtol=1e-3, atol=1e-3, sign_invariant=True)
def case_pairs_in_mixed_order(seed):
    """Differences whose sign changes from row to row with the order of the pair; labels come along and do nothing."""
    rng = np.random.default_rng([8, seed])
    concept, habit = np.linalg.qr(rng.normal(size=(14, 2)))[0].T
    order = rng.permutation(np.repeat([1, -1], 24))
    rows = 2.0 * order[:, None] * concept + rng.normal(size=(48, 1)) * habit + 0.2 * rng.normal(size=(48, 14))
    labels = [[1, 0] if sign > 0 else [0, 1] for sign in order]
    return [
        read({-1: rows.astype(np.float32)}, [-1], train_choices=choices)
        for choices in (labels, [pair[::-1] for pair in labels])
    ]


@core
@compare(rtol=1e-3, atol=2e-3, sign_invariant=True)
def case_signs_and_scores(seed):
    """With signs from labels, and recentred by the stored means, the scores no longer depend on an arbitrary sign.

    A habit that has nothing to do with the labels varies almost as much as the concept, so that the mean difference
    between the labels points elsewhere than the first component.
    """
    rng = np.random.default_rng([11, seed])
    labels = [[1, 0] if draw < 0.5 else [0, 1] for draw in rng.random(40)]
    side = 2.0 * np.concatenate(labels) - 1
    states = {}
    for layer in (-1, -2):
        concept, habit = np.linalg.qr(rng.normal(size=(12, 2)))[0].T
        topic = np.repeat(rng.normal(size=(40, 12)), 2, axis=0)
        rows = 3.0 * topic + 1.5 * side[:, None] * concept + 1.2 * rng.normal(size=(80, 1)) * habit
        states[layer] = (rows + 0.15 * rng.normal(size=(80, 12)) + 2.0).astype(np.float32)
    reader = PCARepReader(2)
    differences = {layer: rows[::2] - rows[1::2] for layer, rows in states.items()}
    reader.directions = reader.get_rep_directions(None, None, differences, [-1, -2], train_choices=labels)
    reader.direction_signs = reader.get_signs(states, labels, [-1, -2])
    return {layer: found.tolist() for layer, found in reader.transform(states, [-1, -2]).items()}


@compare(rtol=1e-4, atol=2e-5, sign_invariant=True)
def case_all_components(seed):
    """None: min(n, d) of the first layer listed, kept for the next ones, and by the reader."""
    spreads = tuple(np.linspace(6.0, 1.0, 6))
    states = {-1: planted(seed, 40, 6, spreads=spreads), -2: planted(seed, 40, 9, spreads=(9.0, 7.5, *spreads))}
    reader = PCARepReader(None)
    return [fit(states, [-1], PCARepReader(None)), fit(states, [-1, -2], reader), fit(states, [-2], reader)]


@compare(rtol=1e-4, atol=1e-4, sign_invariant=True)
def case_share_of_variance(seed):
    """Resolved on the first layer; the other spectrum would need another number for the same share."""
    states = {-1: planted(seed, 60, 16, spreads=FLAT), -2: planted(seed, 60, 16)}
    return {
        f"{share}, {layers}": fit(states, list(layers), PCARepReader(share))
        for share in (0.05, 0.5, 0.9)
        for layers in ((-1, -2), (-2, -1))
    }


@compare(rtol=1e-4, atol=2e-5, sign_invariant=True)
def case_second_call(seed):
    """It replaces the means of its layers and keeps the others."""
    first = {-1: planted(seed, 30, 8), -2: planted(seed + 1, 30, 8)}
    second = {-2: planted(seed + 2, 25, 8), -3: planted(seed + 3, 25, 8)}
    reader = PCARepReader(2)
    return [fit(first, [-1, -2], reader), fit(second, [-2, -3], reader)]


@compare(rtol=2e-3, atol=2e-3, sign_invariant=True)
def case_precision(seed):
    """Rows of float16 and float64: means like them, directions in float32."""
    states = {-1: planted(seed, 40, 12, dtype=np.float16), -2: planted(seed, 40, 12, dtype=np.float64)}
    return fit(states, [-1, -2], PCARepReader(2))


@compare(rtol=1e-4, atol=2e-5)
def case_no_variance(seed):
    """A direction without variance has a length and angles only: None with fewer rows than columns, equal rows."""
    states = {-1: planted(seed, 5, 30), -2: np.tile(planted(seed, 2, 6)[:1].round(), (8, 1))}
    found = [
        PCARepReader(count).get_rep_directions(None, None, states, [layer])[layer]
        for layer, count in ((-1, None), (-2, 2))
    ]
    return [found[0][:4].T @ found[0][:4], *(matrix.astype(np.float64) @ matrix.T for matrix in found)]


@compare(rtol=1e-4, atol=2e-5, sign_invariant=True)
def case_arrays_of_other_layout(seed):
    """Read-only, strided and transposed arrays, which come back as they were; two rows; a single column."""
    read_only = planted(seed + 1, 30, 8)
    read_only.setflags(write=False)
    strided = np.repeat(planted(seed + 2, 2, 8), 2, axis=1)[:, ::2]
    states = {-1: np.asfortranarray(planted(seed, 30, 8)), -2: read_only, -3: strided, -4: read_only[:, :1]}
    return fit(states, list(states), PCARepReader()), {layer: rows.tolist() for layer, rows in states.items()}


@compare(exact=True)
def case_too_many_components(seed):
    """More than rows, more than columns, and an integer from the first layer that is too large for the second."""
    small, large = planted(seed, 5, 12), planted(seed, 40, 12)
    trials = ((6, {-1: small}), (13, {-1: large}), (None, {-1: large, -2: small}))
    return [
        outcome(PCARepReader(count).get_rep_directions, None, None, states, list(states), errors=ValueError)
        for count, states in trials
    ], small
