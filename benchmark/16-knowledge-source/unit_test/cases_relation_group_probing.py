"""Labelled inputs for knowledge-source-probing-by-relation-group.

The keys of the generators are chosen such that on the seeds of task.yaml no test vector lies close to the boundary of a
probe: rounding errors cannot turn a prediction. In core cases it does not matter either which prompts are drawn: where
a set is not balanced, all prompts of a group and source are nearly the same. In the others an example may differ.
"""

import numpy as np
import pandas as pd
from lmrbench_cases import compare, core, outcome
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


def make_clusters(labels, rng, layers=3, width=5) -> np.ndarray:
    """Activations (n, L, 4, d), nearly the same for all prompts of a group and source.

    In each layer and token one source or both of one group lie on the wrong side, where all others outnumber them.
    """
    groups = sorted({group for group, _ in labels})
    activations = rng.normal(scale=0.01, size=(len(labels), layers, 4, width))
    for layer, token in np.ndindex(layers, 4):
        odd, flipped = groups[rng.integers(len(groups))], [("CK",), ("PK",), ("CK", "PK")][rng.integers(3)]
        direction = rng.normal(size=width)
        direction *= 6.0 / np.linalg.norm(direction)
        for i, (group, label) in enumerate(labels):
            side = {"CK": -1.0, "PK": 1.0, "ND": 0.2}[label]
            activations[i, layer, token] += direction * (-side if group == odd and label in flipped else side)
    return activations


def uneven_labels(rng) -> list[tuple[str, str]]:
    """Five groups that lean to either source, and all together to none by much."""
    counts = [(12, 7, 2), (6, 11, 0), (10, 13, 1), (9, 9, 0), (12, 8, 3)]
    return make_labels(dict(zip("abcde", (counts[i] for i in rng.permutation(5)), strict=True)), rng)


@core
@compare(rtol=0, atol=0.06, unordered=True)
def case_noisy_layers(seed):
    """As many prompts of either source in each group; the signal in one layer."""
    rng = np.random.default_rng([16, seed])
    labels = make_labels({"a": (12, 12, 3), "b": (16, 16, 0), "c": (9, 9, 5)}, rng)
    return probe(make_frame(labels, mlp=make_activations(labels, rng, signal=(1,), strength=1.0)))


@core
@compare(rtol=0, atol=0.06, unordered=True)
def case_groups_that_contradict(seed):
    """In one group the classes lie the other way round, so that only a probe of the group itself would succeed."""
    rng = np.random.default_rng([19, seed])
    labels = make_labels({"even": (20, 20, 0), "odd": (12, 12, 0), "other": (20, 20, 0)}, rng)
    activations = make_activations(labels, rng, layers=2, signal=(0, 1), strength=2.0)
    activations[[group == "odd" for group, _ in labels]] *= -1.0
    return probe(make_frame(labels, mhsa=activations), ("mhsa",))


@core
@compare(rtol=0, atol=0.06, unordered=True)
def case_features_as_they_are(seed):
    """The signal is in a feature of tiny scale, and the others are large and far from zero."""
    rng = np.random.default_rng([25, seed])
    labels = make_labels({"a": (14, 14, 0), "b": (12, 12, 0), "c": (13, 13, 0)}, rng)
    activations = make_activations(labels, rng, layers=2, width=6, signal=(0,), strength=2.0)
    activations[..., 0] *= 0.01
    activations[..., 1:] += 4.0
    return probe(make_frame(labels, mlp_l1=activations), ("mlp-l1",))


@core
@compare(rtol=1e-6, atol=1e-6, unordered=True)
def case_unequal_numbers(seed):
    """Every training and test set has to be balanced."""
    rng = np.random.default_rng([106, seed])
    labels = uneven_labels(rng)
    return probe(make_frame(labels, mlp=make_clusters(labels, rng, layers=4)))


@core
@compare(rtol=1e-6, atol=1e-6, unordered=True)
def case_positions(seed):
    """Each token by itself."""
    rng = np.random.default_rng([107, seed])
    labels = uneven_labels(rng)
    frame = make_frame(labels, mlp=make_clusters(labels, rng, layers=2))
    return [{"position": name, **record} for name in POSITIONS for record in probe(frame, position=name)]


@core
@compare(rtol=1e-6, atol=1e-6, unordered=True)
def case_modules_follow_each_other(seed):
    """Two modules of one width, chosen by flags."""
    rng = np.random.default_rng([108, seed])
    labels = uneven_labels(rng)
    modules = {name: make_clusters(labels, rng, layers=2) for name in ("mlp_l1", "mlp", "mhsa")}
    return probe(make_frame(labels, **modules), ("mlp", "mhsa"))


@compare(rtol=1e-9, atol=1e-9)
def case_order_and_index(seed):
    """Groups in order of first appearance; which prompts are drawn; labels of the index repeat; the frame stays."""
    rng = np.random.default_rng([101, seed])
    labels = make_labels({"z": (6, 7, 1), "10": (9, 6, 0), "9": (5, 8, 2), "M": (7, 7, 1)}, rng)
    frame = make_frame(labels, mlp=make_activations(labels, rng, strength=1.0))
    frame = frame.set_axis(rng.integers(0, 9, len(labels)))
    records = probe(frame)
    numbered = frame.assign(relation_group_id=frame["relation_group_id"].map({"z": 5, "10": 2, "9": 30, "M": 1}))
    return records, list(frame.columns), list(frame.index), frame["knowledge_source"].tolist(), probe(numbered)


@compare(rtol=1e-9, atol=1e-9)
def case_groups_with_one_source(seed):
    """Groups of CK only, PK only and ND only: records without values, one a layer; the others train as they do."""
    rng = np.random.default_rng([20, seed])
    counts = {"ck": (7, 0, 2), "a": (8, 11, 0), "nd": (0, 0, 4), "pk": (0, 5, 1), "b": (13, 9, 2)}
    labels = make_labels(counts, rng)
    return probe(make_frame(labels, mlp=make_activations(labels, rng, strength=1.0)))


@compare(rtol=1e-9, atol=1e-9)
def case_all_positions(seed):
    """With all positions stored, the first one counts."""
    rng = np.random.default_rng([105, seed])
    labels = make_labels({"a": (8, 9, 1), "b": (9, 8, 1)}, rng)
    activations = make_activations(labels, rng, layers=2, position=POSITIONS[seed % 2], strength=30.0)
    return probe(make_frame(labels, mlp=activations), vertical=False, position="object")


@compare(rtol=1e-9, atol=1e-9)
def case_other_settings(seed):
    """Settings of the probe and of sampling are those of the configuration."""
    rng = np.random.default_rng([26, seed])
    labels = make_labels({"a": (14, 9, 1), "b": (10, 18, 1), "c": (12, 15, 0)}, rng)
    activations = make_activations(labels, rng, layers=2, signal=(0,), strength=0.8)
    activations[:, 1] += 1.5  # without an intercept another classifier
    frame = make_frame(labels, mlp=activations)
    config.PROBE_SETTINGS = {**config.PROBE_SETTINGS, "fit_intercept": False, "C": 0.01}
    config.SAMPLING_SEED = 5
    return probe(frame)


@compare(rtol=1e-9, atol=1e-9)
def case_nothing_to_train_on(seed):
    """A single group; groups that are of use only together with the one held out; no rows; two groups that do."""
    rng = np.random.default_rng([28, seed])
    results = []
    for counts in [
        {"a": (8, 8, 1)},
        {"a": (5, 6, 0), "b": (7, 0, 2)},
        {"a": (4, 0, 0), "b": (0, 4, 0)},
        {"a": (2, 2, 0), "b": (2, 2, 0)},
    ]:
        labels = make_labels(counts, rng)
        frame = make_frame(labels, mlp=make_activations(labels, rng, strength=9.0))
        results.append(outcome(probe, frame, errors=ValueError))
    return results, probe(frame.iloc[:0])


@compare(rtol=1e-9, atol=1e-9)
def case_modules_that_do_not_go(seed):
    """No module at all, and two of different width."""
    rng = np.random.default_rng([29, seed])
    labels = make_labels({"a": (6, 6, 0), "b": (5, 5, 0)}, rng)
    wide, narrow = (make_activations(labels, rng, width=width) for width in (5, 3))
    frame = make_frame(labels, mlp=narrow, mlp_l1=wide)
    return [outcome(probe, frame, modules, errors=ValueError) for modules in [("mlp",), (), ("mlp", "mlp-l1")]]
