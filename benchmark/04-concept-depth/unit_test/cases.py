"""Labelled inputs for concept-depth-layer-probing.

All features are of moderate size, so that the classifier converges long before its iteration limit: where it stopped
early, the last bits of its arithmetic would decide. Core cases let one or two pairs of rows change places in the AUC.
"""

import numpy as np
from lmrbench_cases import compare, core, outcome
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


@core
@compare(rtol=0, atol=0.01)
def case_concept_that_grows_with_depth(seed):
    labels = two_groups(60, 40)
    return probe(labelled_layers(seed, labels), labels, 60)


@core
@compare(rtol=0, atol=0.01)
def case_groups_of_unequal_size(seed):
    """Few or many positives; the smaller group comes first or second."""
    results = {}
    for n_first, n_second in ((80, 20), (15, 60), (90, 30)):
        labels = two_groups(n_first, n_second)
        layers = labelled_layers(seed, labels, shifts=(0.3, 0.6, 1.2))
        results[f"{n_first} and {n_second}"] = probe(layers, labels, n_first)
    return results


@core
@compare(rtol=0, atol=0.01)
def case_first_group_labelled_zero(seed):
    """The same rows with label 1 in the first group, and in the second."""
    labels = two_groups(35, 55)
    layers = labelled_layers(seed, labels, width=10, shifts=(0.2, 0.6, 1.2))
    return {"first": probe(layers, labels, 35), "second": probe(layers, 1 - labels, 35)}


@core
@compare(rtol=0, atol=0.01)
def case_labels_mixed_within_groups(seed):
    """Both labels in each group: the arrays of labels count, not the membership of a group."""
    labels = np.random.default_rng([5, seed]).integers(0, 2, size=110)
    return probe(labelled_layers(seed, labels, shifts=(0.0, 0.5, 1.1)), labels, 50)


@core
@compare(rtol=0, atol=0.01)
def case_features_of_unequal_scale(seed):
    """Columns between a fiftieth and twice the usual scale, so that the penalty presses the small ones down."""
    labels = two_groups(70, 50)
    scales = np.random.default_rng([6, seed]).permutation(np.geomspace(0.02, 2.0, 16))
    return probe([layer * scales for layer in labelled_layers(seed, labels)], labels, 70)


@core
@compare(rtol=0, atol=0.01)
def case_small_features(seed):
    """Hidden states of small norm: the penalty outweighs them."""
    labels = two_groups(64, 46)
    layers = labelled_layers(seed, labels, shifts=(0.5, 1.0, 2.0))
    return {f"scale {scale}": probe([scale * x for x in layers], labels, 64) for scale in (0.1, 0.3)}


@core
@compare(rtol=0, atol=0.01)
def case_wide_layers(seed):
    """More columns than rows, as in real models: the training rows can always be separated."""
    labels = two_groups(25, 25)
    return probe(labelled_layers(seed, labels, width=96, shifts=(0.0, 0.8, 1.2, 2.0, 3.0)), labels, 25)


@core
@compare(rtol=0, atol=0.01)
def case_leading_layers_only(seed):
    """The first layers count, each for itself."""
    labels = two_groups(40, 40)
    layers = labelled_layers(seed, labels, width=8, shifts=(1.5, 0.0, 0.6, 0.0, 1.0))
    reordered = [layers[i] for i in (4, 2, 2, 0, 3)]
    return probe(layers, labels, 40, tot_layer=3), probe(reordered, labels, 40, tot_layer=5)


@compare(rtol=1e-9, atol=1e-9)
def case_sizes_that_do_not_divide(seed):
    """Numbers of rows of which two fifths are no whole number."""
    results = {}
    for n_first, n_second in ((6, 7), (8, 6), (17, 24)):
        labels = two_groups(n_first, n_second)
        layers = labelled_layers(seed, labels, width=3, shifts=(0.3, 1.2))
        results[f"{n_first} and {n_second}"] = probe(layers, labels, n_first)
    return results


@compare(rtol=1e-9, atol=1e-9)
def case_tied_scores(seed):
    """One column of few whole numbers, so that rows of both labels get equal probabilities; a column of zeros."""
    rng = np.random.default_rng([7, seed])
    labels = two_groups(48, 52)
    layers = [np.zeros((100, 1))]
    for levels in (2, 3, 5):
        layer = np.zeros((100, 4))
        layer[:, 2] = rng.integers(0, levels, size=100) + labels * rng.integers(0, 2, size=100)
        layers.append(layer)
    return probe(layers, labels, 48)


@compare(rtol=1e-9, atol=1e-9)
def case_inputs_and_random_state_unchanged(seed):
    """Arrays of all layers; the inputs come back as they were, and NumPy's global generator goes on where it was."""
    labels = two_groups(33, 27)
    layers = np.stack(labelled_layers(seed, labels, width=5, shifts=(0.5, 1.0)))
    inputs = {
        "labels_question": labels[33:],
        "rp_question_data_list": layers[:, 33:],
        "labels_log": labels[:33],
        "rp_log_data_list": layers[:, :33],
    }
    np.random.seed(seed + 100)
    scores = probing(tot_layer=2, **inputs)
    return {"scores": scores, "none": probing(tot_layer=0, **inputs), "drawn": np.random.random(3), "inputs": inputs}


@compare(rtol=1e-9, atol=1e-9)
def case_one_label_among_test_rows(seed):
    """Three rows of one label, none of which is tested: no AUC, and F1 of a label that does not occur."""
    results = {}
    for rare in (0, 1):
        labels = np.full(20, 1 - rare)
        labels[[4, 10, 13]] = rare
        layers = labelled_layers(seed, labels, width=4, shifts=(0.3, 0.5, 0.7, 0.9, 2.5))
        results[f"only {1 - rare} tested"] = probe(layers, labels, 12)
    return results


@compare(exact=True)
def case_errors(seed):
    """More layers than there are, and training rows of one label only."""
    labels = two_groups(20, 20)
    layers = labelled_layers(seed, labels, width=4, shifts=(0.5, 1.0))
    return {
        "one layer too many": outcome(probe, layers, labels, 20, 3, errors=IndexError),
        "one label": outcome(probe, layers, np.ones_like(labels), 20, errors=ValueError),
    }
