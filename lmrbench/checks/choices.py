"""Prove choices: options differ, choices are independent, and every option is stated in full."""

import ast
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from lmrbench_data.base.source import SourceError, find_function
from lmrbench_data.dataset.rows import DatasetRow, DeclaredCase, RowChoice
from lmrbench_data.tasks.choices import Choice
from lmrbench_data.tasks.problems import Problem
from lmrbench_data.tasks.task import Task
from lmrbench_evaluate.verdict.choices import option_frames
from lmrbench_evaluate.verdict.compare import first_difference
from lmrbench_evaluate.verdict.decode import Frame, decode
from lmrbench_evaluate.verdict.expected import read_expected, unpack_frames
from lmrbench_evaluate.verdict.tolerance import Comparison

#: Numbers that a formula may contain although no text states them.
_PLAIN_NUMBERS = {0, 1, 2, -1, 0.5}
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?(?:e-?\d+)?")
#: Name of a case → the case.
Declared = Mapping[str, DeclaredCase]


def choice_problems(row: DatasetRow) -> Iterator[Problem]:
    """Yield problems of recorded outputs: equal options, choices that change others' cases."""
    declared = {case["name"]: case for case in row["tests"]["cases"]}
    outputs = read_expected(row)
    for choice in row["choices"]:
        messages = ["no case tests its functions alone; add one (@goal)"]
        if choice["cases"]:
            messages = [
                *_equal_options(choice, declared),
                *_foreign_cases(choice, outputs, declared),
                *_dependencies(choice, row["choices"], declared),
            ]
        for message in messages:
            yield Problem(row["instance_id"], f"choices/{choice['name']}", message)


def _equal_options(choice: RowChoice, declared: Declared) -> Iterator[str]:
    frames = {option["name"]: option_frames(choice, option) for option in choice["options"]}
    for one, other in itertools.combinations(frames, 2):
        seed = _equal_seed(frames[one], frames[other], declared)
        if seed is not None:
            yield f"{one} and {other} give equal outputs on seed {seed}; widen its cases"


def _foreign_cases(
    choice: RowChoice, outputs: Sequence[Frame], declared: Declared
) -> Iterator[str]:
    """Yield a case of a choice that changes with the other options of the row."""
    for option in choice["options"]:
        if option["name"] == choice["stated"]:
            case = _changed_case(option_frames(choice, option), outputs, declared)
            if case:
                cause = "it changes with the options of this row"
                yield f"case_{case} depends on other choices as well: {cause}"


def _dependencies(
    choice: RowChoice, choices: Sequence[RowChoice], declared: Declared
) -> Iterator[str]:
    """Yield the options of a choice that change the cases of another one."""
    recorded = {option["name"]: unpack_frames(option["expected"]) for option in choice["options"]}
    published = recorded[choice["published"]]
    for other in choices:
        if other["name"] != choice["name"]:
            yield from _influences(recorded, published, other, declared)


def _influences(
    recorded: Mapping[str, Sequence[Frame]],
    published: Sequence[Frame],
    choice: RowChoice,
    declared: Declared,
) -> Iterator[str]:
    """Yield the recorded options that change the published outputs of another choice."""
    name = choice["name"]
    expected = [frame for frame in published if frame.case in choice["cases"]]
    for option, frames in recorded.items():
        case = _changed_case(expected, frames, declared)
        if case:
            yield f"{option} changes case_{case}, which tests {name}; test {name} alone there"


def _equal_seed(one: Sequence[Frame], other: Sequence[Frame], declared: Declared) -> int | None:
    """Return the first seed on which two recordings agree in all cases; None if there is none."""
    left = _by_case(one)
    right = _by_case(other)
    cases = [case for case in left if declared[case]["varies"]] or list(left)
    for seed in sorted({frame.seed for frame in (*one, *other)}):
        pairs = [(_on(left[case], seed), _on(right[case], seed)) for case in cases]
        if not any(_differ(*pair, declared) for pair in pairs):
            return seed
    return None


def _by_case(frames: Iterable[Frame]) -> dict[str, list[Frame]]:
    cases: dict[str, list[Frame]] = {}
    for frame in frames:
        cases.setdefault(frame.case, []).append(frame)
    return cases


def _on(frames: Sequence[Frame], seed: int) -> Frame:
    """Return a case's output on a seed; a constant one is recorded for the first seed only."""
    return next((frame for frame in frames if frame.seed == seed), frames[0])


def _changed_case(expected: Iterable[Frame], frames: Iterable[Frame], declared: Declared) -> str:
    """Return the first case in which two recordings differ; empty if there is none."""
    recorded = {(frame.case, frame.seed): frame for frame in frames}
    for frame in expected:
        if _differ(frame, recorded.get((frame.case, frame.seed), frame), declared):
            return frame.case
    return ""


def _differ(one: Frame, other: Frame, declared: Declared) -> bool:
    if one.payload == other.payload:  # as almost always
        return False
    comparison = Comparison(declared[one.case])
    return bool(first_difference(decode(one.payload), decode(other.payload), comparison))


def option_problems(task: Task) -> Iterator[Problem]:
    """Yield options with another signature than the reference, and unstated constants."""
    for choice in task.choices:
        reference = task.repo[choice.file].data.decode("utf-8")
        for option in choice.code:
            for suffix, message in _faults(choice, option, reference):
                yield Problem(task.name, f"choices/{choice.name}/{option}{suffix}", message)


def _faults(choice: Choice, option: str, reference: str) -> Iterator[tuple[str, str]]:
    """Yield the suffix of each faulty file of an option, and the fault."""
    code = choice.code[option]
    for function in choice.functions:
        if _signature(reference, function) != _signature(code, function):
            yield ".py", f"{function}: another signature than the reference's"
    for number in sorted(_constants(code) - _stated_numbers(choice.texts[option])):
        yield ".md", f"does not state the constant {number:g} of {option}.py"


def _signature(source: str, name: str) -> str:
    """Return the parameters of a function; a method of an option may stand without its class."""
    try:
        node = find_function(source, name).node
    except SourceError:
        node = find_function(source, name.rpartition(".")[2]).node
    for part in ast.walk(node.args):
        if isinstance(part, ast.arg):
            part.annotation = None
    return ast.unparse(node.args)


def _constants(code: str) -> set[float]:
    """Return the numbers in an option's code, negative ones without their sign."""
    constants = [node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)]
    return {float(value) for value in constants if isinstance(value, int | float)}


def _stated_numbers(text: str) -> set[float]:
    numbers = {float(number.replace(",", "")) for number in _NUMBER.findall(text)}
    return numbers | _PLAIN_NUMBERS
