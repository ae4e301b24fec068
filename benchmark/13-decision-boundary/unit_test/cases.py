"""Labelled inputs for icl-classification-task-generation.

Half of the cases run the repository's own generator. The others put a stand-in in its place, whose numbers tell which
arguments it got, and whose results are neither scaled nor of the type that is wanted.
"""

import contextlib
import inspect
import io
import random
import re
from typing import Any

import data_utils
import numpy as np
from data_utils import generate_tasks
from lmrbench_cases import compare, outcome

#: Numbers of the real generator may differ in the last bits between machines, but not by a rounding to float32.
CLOSE = {"rtol": 1e-9, "atol": 1e-9}


class StandIn:
    """Takes the generator's arguments, with other defaults, and records them."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.cached: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def __call__(
        self,
        num_samples,
        num_dimensions,
        seed,
        data_type="other",
        factor=0.125,
        class_sep=9.0,
        noise_moon=0.375,
        num_classes=5,
    ):
        bound = inspect.signature(self.__call__).bind(
            num_samples, num_dimensions, seed, data_type, factor, class_sep, noise_moon, num_classes
        )
        self.calls.append({name: self.plain(value) for name, value in bound.arguments.items()})
        if seed not in self.cached:
            generator = np.random.default_rng(int(seed))
            x = generator.normal(3 * float(class_sep), 50 * float(factor), (num_samples, num_dimensions))
            y = generator.integers(0, num_classes, num_samples)
            self.cached[seed] = np.asfortranarray(x.astype(np.float32)), y.astype(np.int8)
        return self.cached[seed]

    @staticmethod
    def plain(value: Any) -> Any:
        """Numbers of any type as floats, so that 2 and 2.0 are one."""
        return value if isinstance(value, str) else float(value)

    def in_order(self) -> list[dict[str, Any]]:
        return sorted(self.calls, key=lambda call: call["seed"])


def install() -> StandIn:
    data_utils.generate_x_y = stand_in = StandIn()
    return stand_in


@compare(**CLOSE)
def case_linear_tasks(seed):
    """Three tasks each in one, two and five dimensions."""
    return {str(d): generate_tasks(3, 20, d, seed) for d in (1, 2, 5)}


@compare(**CLOSE)
def case_circle_and_moon_tasks(seed):
    """Two dimensions, with narrow and wide rings."""
    outputs = {
        str((kind, factor)): generate_tasks(3, 16, 2, 10 + seed, data_type=kind, factor=factor)
        for kind in ("circle", "moon")
        for factor in (0.2, 0.8)
    }
    outputs["default factor"] = generate_tasks(2, 16, 2, seed, data_type="circle")
    return outputs


@compare(**CLOSE)
def case_class_separation(seed):
    """The default, and others given; all arguments by position and all by keyword."""
    return {
        "default": generate_tasks(2, 24, 2, seed),
        "2": generate_tasks(2, 24, 2, seed, class_sep=2),
        "1": generate_tasks(2, 24, 2, seed, class_sep=1),
        "0.3": generate_tasks(2, 24, 2, seed, class_sep=0.3),
        "by position": generate_tasks(2, 11, 3, seed, "linear", 0.25, 0.75),
        "by keyword": generate_tasks(
            class_sep=0.75,
            factor=0.25,
            data_type="circle",
            seed=seed,
            num_dimensions=2,
            num_samples_per_task=11,
            num_tasks=2,
        ),
    }


@compare(**CLOSE)
def case_windows_of_seeds(seed):
    """Neighbouring seeds overlap in all tasks but one, and a large seed counts on beyond 32 bits with a sign."""
    return {
        str(first): generate_tasks(4, 10, 2, first, data_type="moon")
        for first in (5 * seed, 5 * seed + 1, 2**31 - 2, 2**32 - 4)
    }


@compare(**CLOSE)
def case_sizes(seed):
    """One task, no task, odd and smallest numbers of samples, as many samples as dimensions."""
    return {
        str((tasks, samples, d, kind)): generate_tasks(tasks, samples, d, seed, data_type=kind)
        for tasks, samples, d, kind in (
            (1, 12, 2, "linear"),
            (1, 7, 2, "circle"),
            (2, 9, 3, "linear"),
            (5, 2, 2, "moon"),
            (4, 4, 4, "linear"),
            (0, 12, 3, "linear"),
            (0, 5, 3, "circle"),
            (0, 2, 7, "moon"),
        )
    }


@compare(exact=True)
def case_types_and_ranges(seed):
    """Facts about the arrays: plain, writable, of double precision, labels 0 and 1, features from 0 to 100."""
    facts = {}
    for kind in ("linear", "circle", "moon"):
        output = generate_tasks(3, 15, 2, seed, data_type=kind)
        x, y = output
        facts[kind] = {
            "types": (type(output).__name__, type(x).__name__, type(y).__name__),
            "dtypes": (str(x.dtype), str(y.dtype)),
            "shapes": (x.shape, y.shape),
            "writable": (x.flags.writeable, y.flags.writeable),
            "ranges": (x.min(axis=1).round(9) + 0.0, x.max(axis=1).round(9)),
            "labels": np.sort(y, axis=1),
        }
    return facts


@compare(exact=True)
def case_calls_of_the_generator(seed):
    """How often the generator is called and with what; options that it has beside are left to it."""
    outputs = {}
    for name, arguments, options in (
        ("defaults", (3, 4, 2, seed), {}),
        ("all", (4, 3, 2, 100 + seed), {"data_type": "moon", "factor": 0.25, "class_sep": 0.5}),
        ("kind", (2, 6, 1, 7), {"data_type": "another kind"}),
        ("one", (1, 2, 3, 0), {"factor": 0.75}),
        ("none", (0, 2, 3, 0), {"class_sep": 3.0}),
    ):
        stand_in = install()
        x, y = generate_tasks(*arguments, **options)
        outputs[name] = {"x": x, "y": y, "calls": stand_in.in_order()}
    return outputs


@compare(exact=True)
def case_generator_keeps_its_memory(seed):
    """The result is made of new arrays: changes to it do not reach what the generator has in store."""
    outputs = []
    for tasks in (1, 3):
        stand_in = install()
        x, y = generate_tasks(tasks, 5, 2, seed)
        stored = {key: (a.copy(), b.copy()) for key, (a, b) in stand_in.cached.items()}
        x += 1000
        y += 1000
        outputs.append({"unchanged": [np.array_equal(stored[key][0], a) for key, (a, _) in stand_in.cached.items()]})
        again = generate_tasks(tasks, 5, 2, seed)
        outputs.append({"again": again})
    return outputs


@compare(exact=True)
def case_errors(seed):
    """Unknown kinds, and kinds of the plane in other dimensions, for one task or several."""
    return {
        str((tasks, kind, d)): outcome(generate_tasks, tasks, 6, d, seed, data_type=kind, errors=ValueError)
        for tasks in (1, 3)
        for kind, d in (
            ("spiral", 2),
            ("Linear", 2),
            ("", 2),
            ("circle", 3),
            ("circle", 1),
            ("moon", 5),
            ("moon", 1),
        )
    }


@compare(**CLOSE)
def case_random_state(seed):
    """The global random states are neither read nor changed."""
    outputs = []
    for kind in ("linear", "circle", "moon"):
        for state in (seed, 77):
            np.random.seed(state)
            random.seed(state)
            before, plain = np.random.get_state(), random.getstate()
            x, y = generate_tasks(2, 8, 2, 3, data_type=kind)
            after = np.random.get_state()
            kept = all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
            outputs.append({"x": x, "y": y, "kept": kept, "kept too": plain == random.getstate()})
    return outputs


@compare(exact=True)
def case_printed_line(seed):
    """One line on standard output that holds both numbers."""
    facts = []
    for tasks, samples, kind in ((3, 20, "linear"), (17, 4, "circle"), (0, 31, "moon"), (1, 9, "linear")):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            generate_tasks(tasks, samples, 2, seed, data_type=kind)
        text = printed.getvalue()
        numbers = re.findall(r"\d+", text)
        facts.append((len(text.strip("\n").split("\n")), str(tasks) in numbers, str(samples) in numbers))
    return facts
