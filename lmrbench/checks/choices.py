"""Prove the choices of a paper: options differ, choices are independent, and every option is stated in full."""

import ast
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from lmrbench_data.base.problems import Problem
from lmrbench_data.base.source import SourceError, find_function
from lmrbench_data.dataset.rows import DatasetRow, DeclaredCase, RowChoice
from lmrbench_data.tasks.task import Task
from lmrbench_evaluate.verdict.choices import option_frames
from lmrbench_evaluate.verdict.compare import first_difference
from lmrbench_evaluate.verdict.decode import Frame, decode
from lmrbench_evaluate.verdict.expected import read_expected, unpack_frames
from lmrbench_evaluate.verdict.tolerance import Comparison

#: Numbers that a formula may contain although no text states them.
_PLAIN_NUMBERS = {0, 1, 2, -1, 0.5}
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?(?:e-?\d+)?")


def choice_problems(row: DatasetRow) -> Iterator[Problem]:
    """Yield problems of the recorded outputs: equal options, choices that change one another's cases."""
    declared = {case["name"]: case for case in row["tests"]["cases"]}
    choices = row["choices"]
    own = read_expected(row)
    for choice in choices:
        where = f"choices/{choice['name']}"
        if not choice["cases"]:
            yield Problem(
                row["instance_id"], where, "no case tests its functions alone; add one (@goal)"
            )
            continue
        frames = {option["name"]: option_frames(choice, option) for option in choice["options"]}
        for one, other in itertools.combinations(frames, 2):
            if seeds := _equal_seeds(frames[one], frames[other], declared):
                message = (
                    f"{one} and {other} give equal outputs on seed {seeds[0]}; widen its cases"
                )
                yield Problem(row["instance_id"], where, message)
        here = [frame for frame in own if frame.case in choice["cases"]]
        if case := _changed(frames[choice["stated"]], here, declared):
            message = f"case_{case} depends on other choices as well: it changes with the options of this row"
            yield Problem(row["instance_id"], where, message)
        yield from _dependent(row["instance_id"], choice, choices, declared)


def _dependent(
    instance: str,
    choice: RowChoice,
    choices: Sequence[RowChoice],
    declared: Mapping[str, DeclaredCase],
) -> Iterator[Problem]:
    """Yield the options of a choice that change the cases of another one."""
    recorded = {option["name"]: unpack_frames(option["expected"]) for option in choice["options"]}
    for other in (other for other in choices if other["name"] != choice["name"]):
        published = [
            frame for frame in recorded[choice["published"]] if frame.case in other["cases"]
        ]
        for option, frames in recorded.items():
            if case := _changed(published, frames, declared):
                message = f"{option} changes case_{case}, which tests {other['name']}; test {other['name']} alone there"
                yield Problem(instance, f"choices/{choice['name']}", message)


def _equal_seeds(
    one: Sequence[Frame], other: Sequence[Frame], declared: Mapping[str, DeclaredCase]
) -> list[int]:
    """Return the seeds on which two recordings agree in all cases."""
    left, right = _by_case(one), _by_case(other)
    varying = [case for case in left if declared[case]["varies"]] or [*left]
    return [
        seed
        for seed in sorted({frame.seed for frame in (*one, *other)})
        if not any(
            _differs(_on(left[case], seed), _on(right[case], seed), declared) for case in varying
        )
    ]


def _by_case(frames: Sequence[Frame]) -> dict[str, list[Frame]]:
    return {
        case: [frame for frame in frames if frame.case == case]
        for case in sorted({f.case for f in frames})
    }


def _on(frames: Sequence[Frame], seed: int) -> Frame:
    """Return a case's output on a seed; one that does not vary is recorded for the first seed only."""
    return next((frame for frame in frames if frame.seed == seed), frames[0])


def _changed(
    one: Sequence[Frame], other: Sequence[Frame], declared: Mapping[str, DeclaredCase]
) -> str:
    """Return the first case in which two recordings differ; empty if there is none."""
    known = {(frame.case, frame.seed): frame for frame in other}
    for frame in one:
        found = known.get((frame.case, frame.seed))
        if found is not None and _differs(frame, found, declared):
            return frame.case
    return ""


def _differs(one: Frame, other: Frame, declared: Mapping[str, DeclaredCase]) -> bool:
    if one.payload == other.payload:  # as almost always
        return False
    return bool(
        first_difference(decode(one.payload), decode(other.payload), Comparison(declared[one.case]))
    )


def option_problems(task: Task) -> Iterator[Problem]:
    """Yield options whose signature differs from the reference's, and constants that no text states."""
    for choice in task.choices:
        reference = task.repo[choice.file].data.decode("utf-8")
        for option, code in choice.code.items():
            where = f"choices/{choice.name}/{option}"
            for function in choice.functions:
                if _signature(reference, function) != _signature(code, function):
                    yield Problem(
                        task.name,
                        f"{where}.py",
                        f"{function}: another signature than the reference's",
                    )
            stated = {
                float(number.replace(",", "")) for number in _NUMBER.findall(choice.texts[option])
            }
            for number in sorted(_constants(code) - stated - _PLAIN_NUMBERS):
                yield Problem(
                    task.name,
                    f"{where}.md",
                    f"does not state the constant {number:g} of {option}.py",
                )


def _signature(source: str, name: str) -> str:
    """Return the signature of a function; a method of an option may stand without its class."""
    try:
        node = find_function(source, name).node
    except SourceError:
        node = find_function(source, name.rpartition(".")[2]).node
    names = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    defaults = [
        ast.unparse(item)
        for item in (*node.args.defaults, *node.args.kw_defaults)
        if item is not None
    ]
    return f"{[item.arg for item in names]} {defaults}"


def _constants(code: str) -> set[float]:
    """Return the numbers in an option's code, negative ones without their sign."""
    found = set()
    for node in ast.walk(ast.parse(code)):
        is_number = isinstance(node, ast.Constant) and isinstance(node.value, int | float)
        if is_number and not isinstance(node.value, bool):  # type: ignore[attr-defined]
            found.add(float(node.value))  # type: ignore[attr-defined]
    return found
