"""Labelled inputs for icl-classification-task-generation.

Numbers of the generator may differ in the last bits between machines. Core cases look at values alone.
"""

import contextlib
import io
import random
import re

import numpy as np
from config import DATA_TYPES, ExperimentConfig
from data_utils import generate_dataset, generate_tasks
from lmrbench_cases import compare, core, outcome


def values(*arguments, **options) -> list[np.ndarray]:
    """Features and labels in double precision, whatever type they came in."""
    x, y = generate_tasks(*arguments, **options)
    return [np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)]


@core
@compare(rtol=1e-5, atol=1e-4)
def case_linear_tasks(seed):
    """Three tasks each in two and five dimensions."""
    return [values(3, 20, d, 10 + seed, class_sep=1.5) for d in (2, 5)]


@core
@compare(rtol=1e-5, atol=1e-4)
def case_circle_tasks(seed):
    """Narrow and wide rings, and the default between."""
    outputs = [values(3, 16, 2, 20 + seed, data_type="circle", factor=factor) for factor in (0.2, 0.8)]
    return [*outputs, values(2, 16, 2, 20 + seed, data_type="circle")]


@core
@compare(rtol=1e-5, atol=1e-4)
def case_moon_tasks(seed):
    """Moons, which have neither a factor nor a separation."""
    return [values(4, 12, 2, 30 + seed, data_type="moon"), values(2, 12, 2, seed, "moon", 0.3, 1.0)]


@core
@compare(rtol=1e-5, atol=1e-4)
def case_class_separation(seed):
    """The default, and others given."""
    return [values(2, 24, 2, 40 + seed), *(values(2, 24, 2, 40 + seed, class_sep=sep) for sep in (2.0, 1.0, 0.3))]


@core
@compare(rtol=1e-5, atol=1e-4)
def case_sets_that_overlap(seed):
    """Sets whose seeds are 0, 1 and 3 apart; one of a single task."""
    first = 50 + 7 * (seed % 1000)
    return [values(4, 10, 2, start) for start in (first, first + 1, first + 3)] + [values(1, 10, 2, first + 3)]


@core
@compare(rtol=1e-5, atol=1e-4)
def case_experiment(seed):
    """The settings of the repository's experiment, up to the split into context and queries."""
    config = ExperimentConfig(num_tasks=3, num_samples=64, num_context=16, seed=60 + seed)
    outputs = []
    for kind in DATA_TYPES:
        x, y = generate_tasks(
            config.num_tasks,
            config.num_samples,
            2,
            config.seed,
            data_type=kind,
            factor=config.factor,
            class_sep=config.class_sep,
        )
        splits = [generate_dataset(*task, config.num_context, config.seed) for task in zip(x, y, strict=True)]
        outputs.append([[np.asarray(part, dtype=np.float64) for part in split] for split in splits])
    return outputs


@compare(rtol=1e-9, atol=1e-9)
def case_types(seed):
    """A tuple of two plain, writable arrays of double precision."""
    outputs = []
    for kind in DATA_TYPES:
        x, y = output = generate_tasks(3, 15, 2, seed, data_type=kind)
        outputs.append((type(output).__name__, type(x).__name__, x.flags.writeable, y.flags.writeable, x, y))
    return outputs


@compare(rtol=1e-9, atol=1e-9)
def case_sizes(seed):
    """No task, which never asks for the plane; odd and smallest numbers of samples; one dimension."""
    sizes = ((0, 12, 3, "linear"), (0, 5, 3, "circle"), (1, 7, 2, "circle"), (3, 2, 2, "moon"), (2, 9, 1, "linear"))
    return [generate_tasks(tasks, samples, d, seed, data_type=kind) for tasks, samples, d, kind in sizes]


@compare(rtol=1e-9, atol=1e-9)
def case_errors(seed):
    """Unknown kinds, and kinds of the plane in other dimensions, for one task or several."""
    attempts = (("spiral", 2), ("Linear", 2), ("circle", 3), ("circle", 1), ("moon", 5), ("moon", 1), ("moon", 2))
    return [
        outcome(generate_tasks, tasks, 6, d, seed, data_type=kind, errors=ValueError)
        for tasks in (1, 3)
        for kind, d in attempts
    ]


@compare(rtol=1e-9, atol=1e-9)
def case_random_state(seed):
    """The global random states are neither read nor changed."""
    outputs = []
    for kind in DATA_TYPES:
        before, plain = np.random.get_state()[1].tolist(), random.getstate()
        outputs.append(generate_tasks(2, 8, 2, 3 + seed, data_type=kind))
        outputs.append((before == np.random.get_state()[1].tolist(), plain == random.getstate()))
    return outputs


@compare(exact=True)
def case_printed_line(seed):
    """One line on standard output that holds both numbers."""
    facts = []
    for tasks, samples in ((3, 20 + seed % 10), (17, 4), (0, 31)):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            generate_tasks(tasks, samples, 2, seed)
        text = printed.getvalue()
        numbers = re.findall(r"\d+", text)
        facts.append((samples, len(text.strip("\n").split("\n")), str(tasks) in numbers, str(samples) in numbers))
    return facts
