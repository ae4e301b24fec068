"""Labelled inputs for concept-depth-layer-probing.

All features are of moderate size, so that the classifier converges long before its iteration limit: where it stopped
early, the last bits of its arithmetic would decide.
"""

import numpy as np
from lmrbench_cases import compare, outcome
from main import probing

#: One number a layer: how far the means of the two labels are apart, from no difference to a clear one.
SHIFTS = (0.0, 0.2, 0.4, 0.7, 1.1, 1.6)

Layers = list[np.ndarray]


def labelled_layers(seed, labels, width=16, shifts=SHIFTS) -> Layers:
    """Gaussian rows, one (n, width) array a layer, whose mean depends on the row's label along a random direction."""
    rng = np.random.default_rng([4, seed])
    layers = []
    for shift in shifts:
        direction = rng.normal(size=width)
        direction *= shift / np.linalg.norm(direction)
        layers.append(rng.normal(size=(len(labels), width)) + np.outer(2 * labels - 1, direction) + 0.3)
    return layers


def probe(layers, labels, n_first, tot_layer=None):
    """Scores of rows of which the first `n_first` are the first group."""
    first, second = [layer[:n_first] for layer in layers], [layer[n_first:] for layer in layers]
    return probing(first, second, labels[:n_first], labels[n_first:], len(layers) if tot_layer is None else tot_layer)


def two_groups(n_first, n_second, label_first=1):
    """Labels that are constant in each group."""
    return np.repeat([label_first, 1 - label_first], [n_first, n_second])


@compare(rtol=1e-9, atol=1e-9)
def case_concept_that_grows_with_depth(seed):
    labels = two_groups(60, 40)
    return probe(labelled_layers(seed, labels), labels, 60)


@compare(rtol=1e-9, atol=1e-9)
def case_groups_of_unequal_size(seed):
    """Few or many positives: the split is not stratified, classes are not weighted, F1 is that of label 1."""
    results = {}
    for n_first, n_second in ((80, 20), (15, 60), (90, 31)):
        labels = two_groups(n_first, n_second)
        results[f"{n_first} and {n_second}"] = probe(
            labelled_layers(seed, labels, shifts=(0.3, 0.6, 1.2)), labels, n_first
        )
    return results


@compare(rtol=1e-9, atol=1e-9)
def case_first_group_labelled_zero(seed):
    """The same rows with label 1 in the first group, and in the second."""
    labels = two_groups(35, 55)
    layers = labelled_layers(seed, labels, width=10, shifts=(0.2, 0.6, 1.2))
    return {"first": probe(layers, labels, 35), "second": probe(layers, 1 - labels, 35)}


@compare(rtol=1e-9, atol=1e-9)
def case_groups_exchanged(seed):
    """Which group comes first decides which rows are tested."""
    labels = two_groups(45, 45)
    layers = labelled_layers(seed, labels, width=12, shifts=(0.0, 0.5, 1.1))
    exchanged = [np.roll(layer, 45, axis=0) for layer in layers]
    return probe(layers, labels, 45), probe(exchanged, np.roll(labels, 45), 45)


@compare(rtol=1e-9, atol=1e-9)
def case_labels_mixed_within_groups(seed):
    """Both labels in each group: the arrays of labels count, not the membership of a group."""
    labels = np.random.default_rng([5, seed]).integers(0, 2, size=110)
    layers = labelled_layers(seed, labels, shifts=(0.0, 0.5, 1.1))
    return {f"{n_first} in the first group": probe(layers, labels, n_first) for n_first in (1, 50, 109)}


@compare(rtol=1e-9, atol=1e-9)
def case_features_of_unequal_scale(seed):
    """Columns between a fiftieth and twice the usual scale, so that the penalty presses the small ones down."""
    labels = two_groups(70, 50)
    scales = np.random.default_rng([6, seed]).permutation(np.geomspace(0.02, 2.0, 16))
    return probe([layer * scales for layer in labelled_layers(seed, labels)], labels, 70)


@compare(rtol=1e-9, atol=1e-9)
def case_small_features(seed):
    """Hidden states of small norm: the penalty outweighs them, and the intercept, which it spares, decides."""
    labels = two_groups(64, 46)
    layers = labelled_layers(seed, labels, shifts=(0.5, 1.0, 2.0))
    return {f"scale {scale}": probe([scale * x for x in layers], labels, 64) for scale in (0.01, 0.1, 0.3)}


@compare(rtol=1e-9, atol=1e-9)
def case_wide_layers(seed):
    """More columns than rows, as in real models: the training rows can always be separated."""
    labels = two_groups(24, 26)
    return probe(labelled_layers(seed, labels, width=96, shifts=(0.0, 0.8, 1.2, 2.0, 3.0)), labels, 24)


@compare(rtol=1e-9, atol=1e-9)
def case_sizes_that_do_not_divide(seed):
    """Few rows, of which two fifths are no whole number, and an odd layer of a single column."""
    results = {}
    for n_first, n_second in ((6, 5), (6, 7), (8, 6), (17, 24)):
        labels = two_groups(n_first, n_second)
        layers = labelled_layers(seed, labels, width=3, shifts=(0.3, 1.2))
        layers.append(layers[-1][:, :1])
        results[f"{n_first} and {n_second}"] = probe(layers, labels, n_first)
    return results


@compare(rtol=1e-9, atol=1e-9)
def case_separable_and_constant_layers(seed):
    """A layer that separates the labels, one that holds nothing but zeros, and one with a single useful column."""
    labels = two_groups(70, 30)
    [noise] = labelled_layers(seed, labels, width=8, shifts=(0.0,))
    separable = noise.copy()
    separable[:, 3] = 6.0 * (2 * labels - 1)
    one_column = np.zeros_like(noise)
    one_column[:, 5] = labels * 2.0
    return probe([separable, np.zeros_like(noise), noise, one_column], labels, 70)


@compare(rtol=1e-9, atol=1e-9)
def case_tied_scores(seed):
    """One column of few whole numbers, so that rows of both labels get equal probabilities."""
    rng = np.random.default_rng([7, seed])
    labels = two_groups(48, 52)
    layers = []
    for levels in (2, 3, 5):
        layer = np.zeros((100, 4))
        layer[:, 2] = rng.integers(0, levels, size=100) + labels * rng.integers(0, 2, size=100)
        layers.append(layer)
    return probe(layers, labels, 48)


@compare(rtol=1e-9, atol=1e-9)
def case_leading_layers_only(seed):
    labels = two_groups(30, 30)
    layers = labelled_layers(seed, labels, width=6)
    return {f"{count} layers": probe(layers, labels, 30, tot_layer=count) for count in (0, 1, 4)}


@compare(rtol=1e-9, atol=1e-9)
def case_layers_are_independent(seed):
    """The scores of a layer do not depend on the layers before it, nor on how often it was probed."""
    labels = two_groups(40, 40)
    layers = labelled_layers(seed, labels, width=8, shifts=(1.5, 0.0, 0.6, 0.0, 1.0))
    order = [4, 2, 2, 0, 3, 1, 0]
    return probe(layers, labels, 40), probe([layers[i] for i in order], labels, 40), probe(layers[3:], labels, 40)


@compare(rtol=1e-9, atol=1e-9)
def case_kinds_of_sequences(seed):
    """Tuples, three-dimensional arrays, layers of different widths, read-only and non-contiguous arrays."""
    labels = two_groups(30, 42)
    layers = labelled_layers(seed, labels, width=9, shifts=(0.4, 0.8, 1.2))
    cube = np.stack(layers)
    cube.setflags(write=False)
    strided = [np.asfortranarray(np.repeat(layer, 2, axis=1))[:, ::2] for layer in layers]
    widths = [layer[:, : index + 2] for index, layer in enumerate(layers)]
    return {
        "arrays": probing(cube[:, :30], cube[:, 30:], labels[:30], labels[30:], 3),
        "tuples": probing(
            tuple(x[:30] for x in layers), tuple(x[30:] for x in layers), labels[:30], labels[30:], tot_layer=3
        ),
        "strided": probe(strided, labels, 30),
        "widths": probe(widths, labels, 30),
    }


@compare(rtol=1e-9, atol=1e-9)
def case_inputs_and_random_state_unchanged(seed):
    """Arguments by name; the inputs come back as they were, and NumPy's global generator goes on where it was."""
    labels = two_groups(33, 27)
    layers = labelled_layers(seed, labels, width=5, shifts=(0.5, 1.0))
    inputs = {
        "labels_question": labels[33:].copy(),
        "rp_question_data_list": [layer[33:].copy() for layer in layers],
        "labels_log": labels[:33].copy(),
        "rp_log_data_list": [layer[:33].copy() for layer in layers],
    }
    np.random.seed(seed + 100)
    scores = probing(tot_layer=2, **inputs)
    drawn = np.random.random(3)
    again = probing(tot_layer=2, **inputs)
    return {"scores": scores, "again": again, "drawn": drawn, "inputs": inputs}


@compare(rtol=1e-9, atol=1e-9)
def case_one_label_among_test_rows(seed):
    """Three rows of one label, none of which is tested: no AUC, and F1 of a label that does not occur."""
    results = {}
    for rare in (0, 1):
        labels = np.full(20, 1 - rare)
        labels[[4, 10, 13]] = rare
        layers = labelled_layers(seed, labels, width=4, shifts=(0.5, 2.5))
        results[f"only {1 - rare} tested"] = probe(layers, labels, 12)
    return results


@compare(exact=True)
def case_errors(seed):
    """More layers than there are, and training rows of one label only."""
    labels = two_groups(20, 20)
    layers = labelled_layers(seed, labels, width=4, shifts=(0.5, 1.0))
    lone = np.zeros(20, dtype=np.int64)
    lone[17] = 1  # among the test rows
    rows = labelled_layers(seed, lone, width=4, shifts=(0.5,))
    return {
        "one layer too many": outcome(probe, layers, labels, 20, 3, errors=IndexError),
        "no layers": outcome(probe, [], labels, 20, 1, errors=IndexError),
        "one label": outcome(probe, layers, np.ones_like(labels), 20, errors=ValueError),
        "one label in training": outcome(probe, rows, lone, 10, errors=ValueError),
    }
