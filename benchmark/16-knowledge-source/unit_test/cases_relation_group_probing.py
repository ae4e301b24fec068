"""Labelled inputs for knowledge-source-probing-by-relation-group.

The keys of the generators are chosen such that on the seeds of task.yaml no test vector lies close to the boundary of a
probe: rounding errors cannot turn a prediction.
"""

import numpy as np
import pandas as pd
from lmrbench_cases import compare, outcome
from src import config
from src.classification.classifier import perform_classification_by_relation_group

POSITIONS = ("first", "object", "subject_query", "relation_query")


def make_labels(counts: dict[str, tuple[int, int, int]], rng: np.random.Generator) -> list[tuple[str, str]]:
    """Shuffled (group, label) rows with these numbers of CK, PK and ND rows; groups first appear in the given order."""
    rows = [
        (group, label)
        for group, numbers in counts.items()
        for label, number in zip(("CK", "PK", "ND"), numbers, strict=True)
        for _ in range(number)
    ]
    rows = [rows[i] for i in rng.permutation(len(rows))]
    heads = []
    for group in counts:
        heads.append(rows.pop(next(i for i, row in enumerate(rows) if row[0] == group)))
    return heads + rows


def make_cells(activations: np.ndarray) -> list[dict]:
    """Cells of one module from activations (n, L, positions, d)."""
    return [
        {position: [[layer[i].copy()] for layer in prompt] for i, position in enumerate(POSITIONS)}
        for prompt in activations
    ]


def make_activations(labels, rng, layers=3, width=4, signal=(1,), position=None, strength=3.0) -> np.ndarray:
    """Noise (n, L, 4, d); in the layers of `signal` the first feature tells the classes, at one or all positions."""
    activations = rng.normal(size=(len(labels), layers, 4, width))
    sign = np.array([{"CK": -1.0, "PK": 1.0, "ND": 0.3}[label] for _, label in labels])
    where = slice(None) if position is None else [POSITIONS.index(position)]
    for layer in signal:
        activations[:, layer, where, 0] += strength * sign[:, None]
    return activations


def make_frame(labels: list[tuple[str, str]], **modules: np.ndarray) -> pd.DataFrame:
    """Prompting results; a module's name has an underscore for its hyphen."""
    frame = pd.DataFrame(
        {
            "knowledge_source": [label for _, label in labels],
            "relation_group_id": [group for group, _ in labels],
            "rel_lemma": [f"relation-{i % 5}" for i in range(len(labels))],
        }
    )
    for name, activations in modules.items():
        frame[name.replace("_", "-")] = make_cells(activations)
    return frame


def probe(frame: pd.DataFrame, modules: tuple[str, ...] = ("mlp",), vertical: bool = True, position: str = "object"):
    """Call the goal function by keyword."""
    return perform_classification_by_relation_group(
        prompting_results=frame,
        include_mlps="mlp" in modules,
        include_mlps_l1="mlp-l1" in modules,
        include_mhsa="mhsa" in modules,
        vertical=vertical,
        position=position,
    )


@compare(rtol=1e-9, atol=1e-9)
def case_three_groups(seed):
    """Unequal numbers of labels, the signal in one layer."""
    rng = np.random.default_rng([16, seed])
    labels = make_labels({"b": (9, 14, 3), "c": (17, 8, 0), "a": (11, 11, 5)}, rng)
    return probe(make_frame(labels, mlp=make_activations(labels, rng, signal=(1,), strength=1.0)))


@compare(rtol=1e-9, atol=1e-9)
def case_positional_arguments(seed):
    """The order of the parameters."""
    rng = np.random.default_rng([17, seed])
    labels = make_labels({"a": (6, 9, 1), "b": (8, 7, 1)}, rng)
    modules = {
        name: make_activations(labels, rng, strength=4.0 * i, position="object")
        for i, name in enumerate(("mhsa", "mlp", "mlp_l1"))
    }
    frame = make_frame(labels, **modules)
    return [
        perform_classification_by_relation_group(frame, *flags, True, "object")
        for flags in [(True, False, False), (False, True, False), (False, False, True)]
    ]


@compare(rtol=1e-9, atol=1e-9)
def case_separable_layer(seed):
    """Success rate 1 in a layer that tells the sources apart without error, chance in the others."""
    rng = np.random.default_rng([100, seed])
    labels = make_labels({"a": (12, 12, 0), "b": (15, 10, 0), "c": (10, 16, 0), "d": (13, 13, 0)}, rng)
    return probe(make_frame(labels, mlp=make_activations(labels, rng, layers=4, signal=(2,), strength=30.0)))


@compare(rtol=1e-9, atol=1e-9)
def case_groups_that_contradict(seed):
    """In one group the classes lie the other way round, so that only a probe of the group itself would succeed."""
    rng = np.random.default_rng([19, seed])
    labels = make_labels({"odd": (12, 12, 0), "even": (20, 20, 0), "other": (20, 20, 0)}, rng)
    activations = make_activations(labels, rng, layers=2, signal=(0, 1), strength=2.0)
    activations[[group == "odd" for group, _ in labels]] *= -1.0
    return probe(make_frame(labels, mlp=activations))


@compare(rtol=1e-9, atol=1e-9)
def case_groups_with_one_source(seed):
    """Groups of CK only, PK only and ND only: records without values, one a layer; the others train as they do."""
    rng = np.random.default_rng([20, seed])
    counts = {"ck": (7, 0, 2), "a": (8, 11, 0), "nd": (0, 0, 4), "pk": (0, 5, 1), "b": (13, 9, 2)}
    labels = make_labels(counts, rng)
    return probe(make_frame(labels, mlp=make_activations(labels, rng, strength=1.0)))


@compare(rtol=1e-9, atol=1e-9)
def case_order_and_index(seed):
    """Groups in order of first appearance; labels of the index repeat; the frame is what it was."""
    rng = np.random.default_rng([101, seed])
    labels = make_labels({"z": (6, 7, 1), "10": (9, 6, 0), "9": (5, 8, 2), "M": (7, 7, 1)}, rng)
    frame = make_frame(labels, mlp=make_activations(labels, rng, strength=1.0)).set_axis(
        rng.integers(0, 9, len(labels))
    )
    index, columns = list(frame.index), list(frame.columns)
    records = probe(frame)
    same = [list(frame.index) == index, list(frame.columns) == columns]
    cells = [cell["object"][1][0] for cell in frame["mlp"]]
    numbered = frame.assign(relation_group_id=frame["relation_group_id"].map({"z": 5, "10": 2, "9": 30, "M": 1}))
    return records, same, frame["knowledge_source"].tolist(), cells, probe(numbered)


@compare(rtol=1e-9, atol=1e-9)
def case_each_set_is_balanced_by_itself(seed):
    """Sets that are balanced, and sets that lean to either side, in all combinations; order of labels too."""
    rng = np.random.default_rng([22, seed])
    results = []
    for counts in [
        {"a": (10, 10, 0), "b": (25, 6, 0)},
        {"a": (4, 12, 0), "b": (18, 5, 0), "c": (9, 14, 0)},
        {"a": (1, 9, 0), "b": (16, 2, 3)},
    ]:
        labels = make_labels(counts, rng)
        results.append(probe(make_frame(labels, mlp=make_activations(labels, rng, layers=2, strength=0.7))))
    return results


@compare(rtol=1e-9, atol=1e-9)
def case_several_modules(seed):
    """Modules of one width follow each other as layers, whatever the order of the columns."""
    rng = np.random.default_rng([103, seed])
    labels = make_labels({"a": (9, 8, 1), "b": (7, 10, 1), "c": (8, 8, 0)}, rng)
    modules = {
        "mlp_l1": make_activations(labels, rng, layers=2, signal=(0,), strength=30.0),
        "mlp": make_activations(labels, rng, layers=2, signal=(1,), strength=1.0),
        "mhsa": make_activations(labels, rng, layers=2, signal=(0, 1), strength=0.5),
    }
    frame = make_frame(labels, **modules)
    chosen = [("mlp", "mlp-l1"), ("mhsa", "mlp"), ("mhsa", "mlp-l1"), ("mhsa", "mlp", "mlp-l1")]
    return [probe(frame, modules) for modules in chosen]


@compare(rtol=1e-9, atol=1e-9)
def case_positions(seed):
    """The signal is at one position: probing sees it there, and with all positions stored only if it is the first."""
    rng = np.random.default_rng([105, seed])
    labels = make_labels({"a": (8, 9, 1), "b": (9, 8, 1)}, rng)
    results = []
    for i, planted in enumerate(POSITIONS):
        frame = make_frame(labels, mlp=make_activations(labels, rng, layers=2, position=planted, strength=30.0))
        results.append([probe(frame, position=position) for position in (planted, POSITIONS[i - 1])])
        results.append(probe(frame, vertical=False, position="object"))
    return results


@compare(rtol=1e-9, atol=1e-9)
def case_features_are_not_scaled(seed):
    """The signal is in a feature of tiny scale, and the others are large and far from zero."""
    rng = np.random.default_rng([25, seed])
    labels = make_labels({"a": (14, 12, 0), "b": (12, 15, 0), "c": (13, 13, 0)}, rng)
    activations = make_activations(labels, rng, layers=2, width=6, signal=(0,), strength=2.0)
    activations[..., 0] *= 0.01
    activations[..., 1:] += 4.0
    return probe(make_frame(labels, mlp=activations))


@compare(rtol=1e-9, atol=1e-9)
def case_other_settings(seed):
    """Settings of the probe, of sampling and of the stored positions are those of the configuration."""
    rng = np.random.default_rng([26, seed])
    labels = make_labels({"a": (14, 9, 1), "b": (10, 18, 1), "c": (12, 15, 0)}, rng)
    activations = make_activations(labels, rng, layers=2, signal=(0,), strength=0.8)
    activations[:, 1] += 1.5  # without an intercept another classifier
    frame = make_frame(labels, mlp=activations)
    results = [probe(frame)]
    config.PROBE_SETTINGS = {**config.PROBE_SETTINGS, "fit_intercept": False, "C": 0.01}
    results.append(probe(frame))
    config.SAMPLING_SEED = 5
    results.append(probe(frame))
    config.POSITIONS = POSITIONS[::-1]
    results.append(probe(frame, vertical=False))
    return results


@compare(rtol=1e-9, atol=1e-9)
def case_single_layer_and_feature(seed):
    """One layer, one feature, two groups with a pair each."""
    rng = np.random.default_rng([27, seed])
    labels = [("a", "PK"), ("b", "CK"), ("a", "CK"), ("b", "PK")]
    activations = make_activations(labels, rng, layers=1, width=1, signal=(0,), strength=8.0)
    return probe(make_frame(labels, mlp=activations))


@compare(exact=True)
def case_nothing_to_train_on(seed):
    """A single group; groups that are of use only together with the one held out; no labels but ND."""
    rng = np.random.default_rng([28, seed])
    results = []
    for counts in [
        {"a": (8, 8, 1)},
        {"a": (5, 6, 0), "b": (7, 0, 2)},
        {"a": (0, 0, 3), "b": (0, 0, 2)},
        {"a": (4, 0, 0), "b": (0, 4, 0)},
    ]:
        labels = make_labels(counts, rng)
        frame = make_frame(labels, mlp=make_activations(labels, rng))
        results.append(outcome(probe, frame, errors=ValueError))
    return results


@compare(exact=True)
def case_modules_that_do_not_go(seed):
    """No module at all, and two of different width."""
    rng = np.random.default_rng([29, seed])
    labels = make_labels({"a": (6, 6, 0), "b": (5, 5, 0)}, rng)
    wide, narrow = (make_activations(labels, rng, width=width) for width in (5, 3))
    frame = make_frame(labels, mlp=narrow, mlp_l1=wide)
    return [outcome(probe, frame, modules, errors=ValueError) for modules in [(), ("mlp", "mlp-l1")]]


@compare(exact=True)
def case_empty_frame(seed):
    rng = np.random.default_rng([30, seed])
    labels = make_labels({"a": (2, 2, 0), "b": (2, 2, 0)}, rng)
    return probe(make_frame(labels, mlp=make_activations(labels, rng)).iloc[:0])
