"""Classification tasks for in-context learning: generation, split into context and queries, prompts."""

from typing import NamedTuple

import numpy as np
from config import FEATURE_RANGE, LABEL_NAMES
from sklearn.datasets import make_circles, make_classification, make_moons


class Split(NamedTuple):
    """One task, divided: features (samples, dimensions) and integer labels (samples,) of both parts."""

    context_x: np.ndarray
    context_y: np.ndarray
    query_x: np.ndarray
    query_y: np.ndarray


def generate_x_y(
    num_samples: int,
    num_dimensions: int,
    seed: int,
    data_type: str = "linear",
    factor: float = 0.5,
    class_sep: float = 1.0,
    noise_moon: float = 0.05,
    num_classes: int = 2,
) -> tuple[np.ndarray, np.ndarray]:
    """Generate one task.

    Args:
        num_samples: n, 2 or more.
        num_dimensions: d; "circle" and "moon" lie in the plane and have two features whatever is asked for.
        seed: fixes the task; the global random state plays no part.
        data_type: "linear" (clusters around corners of a hypercube), "circle" (one ring inside another) or "moon" (two
            interleaved half circles).
        factor: radius of the inner circle, as a share of the outer one; for "circle".
        class_sep: half the side of the hypercube; for "linear".
        noise_moon: standard deviation of the noise; for "moon".
        num_classes: number of classes; for "linear".

    Returns:
        Features, float64 (n, d), each scaled to the range 0 to 100 over the samples, and labels, int64 (n,), from 0.

    Raises:
        ValueError: unknown `data_type`.
    """
    if data_type == "linear":
        x, y = make_classification(
            n_samples=num_samples,
            n_features=num_dimensions,
            n_informative=num_dimensions,
            n_redundant=0,
            n_clusters_per_class=1,
            n_classes=num_classes,
            flip_y=0.0,
            class_sep=class_sep,
            random_state=seed,
        )
    elif data_type == "circle":
        x, y = make_circles(n_samples=num_samples, noise=0.05, factor=factor, random_state=seed)
    elif data_type == "moon":
        x, y = make_moons(n_samples=num_samples, noise=noise_moon, random_state=seed)
    else:
        raise ValueError(f"unknown data_type {data_type!r}")
    low, high = FEATURE_RANGE
    lowest, highest = x.min(axis=0), x.max(axis=0)
    return low + (high - low) * (x - lowest) / (highest - lowest), y


def generate_tasks(
    num_tasks: int,
    num_samples_per_task: int,
    num_dimensions: int,
    seed: int,
    data_type: str = "linear",
    factor: float = 0.5,
    class_sep: float = 2,
) -> tuple[np.ndarray, np.ndarray]:
    """Generate several tasks of one kind with `generate_x_y`.

    Args:
        num_tasks: T, 0 or more.
        num_samples_per_task: n, samples of each task.
        num_dimensions: d, features of each sample.
        seed: seed of the first task, and where those of the others count on from.
        data_type: kind of all tasks.
        factor: radius of the inner circle, as a share of the outer one.
        class_sep: half the side of the hypercube of linear tasks.

    Returns:
        Features, float64 (T, n, d), and labels, float64 (T, n).

    Raises:
        ValueError: unknown `data_type`, or "circle" or "moon" with `num_dimensions` other than 2.
    """
    x = np.zeros((num_tasks, num_samples_per_task, num_dimensions))
    y = np.zeros((num_tasks, num_samples_per_task))
    for i in range(num_tasks):
        x[i], y[i] = generate_x_y(
            num_samples_per_task,
            num_dimensions,
            seed + i,
            data_type=data_type,
            factor=factor,
            class_sep=class_sep,
        )
    print(f"{num_tasks} {data_type} tasks of {num_samples_per_task} samples")
    return x, y


def generate_dataset(features: np.ndarray, labels: np.ndarray, num_context: int, seed: int) -> Split:
    """Split one task into a balanced context and queries.

    Args:
        features: (n, d).
        labels: (n,), classes 0 and 1 as numbers of any type.
        num_context: even number of examples; each class gives half of them.
        seed: fixes which examples, and their order.

    Returns:
        The context in random order, and all other samples as queries.

    Raises:
        ValueError: `num_context` is odd, or a class has too few samples.
    """
    rng = np.random.default_rng(seed)
    if num_context % 2:
        raise ValueError(f"num_context must be even, not {num_context}")
    chosen = []
    for label in (0, 1):
        members = np.flatnonzero(labels == label)
        if len(members) < num_context // 2:
            raise ValueError(f"class {label} has {len(members)} samples, {num_context // 2} are needed")
        chosen.append(rng.choice(members, num_context // 2, replace=False))
    context = rng.permutation(np.concatenate(chosen))
    query = np.setdiff1d(np.arange(len(labels)), context)
    classes = labels.astype(np.int64)
    return Split(features[context], classes[context], features[query], classes[query])


def generate_context_prompt(context_x: np.ndarray, context_y: np.ndarray) -> str:
    """Write examples (n, d) and labels (n,) as text: two lines each, features rounded to whole numbers."""
    lines = []
    for features, label in zip(context_x, context_y, strict=True):
        lines += [format_input(features), f"Label: {LABEL_NAMES[label]}"]
    return "\n".join(lines)


def generate_query_prompt(query: np.ndarray) -> str:
    """Write one query (d,) as text that ends where the label has to come."""
    return f"{format_input(query)}\nLabel:"


def format_input(features: np.ndarray) -> str:
    """The line of a prompt that holds the features (d,) of one sample."""
    return "Input: " + " ".join(str(round(float(value))) for value in features)
