"""Static problems of an instance: leaks of the reference into what models see, long texts, faulty variants."""

import ast
import functools
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from lmrbench_data.base.archive import matching
from lmrbench_data.base.configurations import CARELESS, WRONG
from lmrbench_data.base.errors import InputError
from lmrbench_data.base.problems import Problem
from lmrbench_data.base.source import (
    FunctionNode,
    block_end,
    find_function,
    first_line,
    parse,
    split_lines,
)
from lmrbench_data.base.text import plural
from lmrbench_data.tasks.task import Instance, Task

#: Maximum number of words of an instruction, which asks for a method and does not dictate its code.
MAX_INSTRUCTION = 100
#: Minimum length of a line of a reference whose reappearance elsewhere is not a coincidence.
_DISTINCTIVE = 40


@dataclass(frozen=True)
class ReferenceLines:
    """The distinctive lines of every goal function of a benchmark, by instance."""

    lines: Mapping[str, list[bytes]]
    implementations: frozenset[str]
    """The instances of the configuration `function`."""

    @classmethod
    def of(cls, tasks: Iterable[Task]) -> Self:
        """Read them from all tasks of a benchmark."""
        tasks = list(tasks)
        return cls(
            {
                item.instance_id: [
                    line
                    for path, text in task.golden_files(item).items()
                    for name in item.goals[path]
                    for line in _distinctive_lines(text, name)
                ]
                for task in tasks
                for item in task.every_instance
            },
            frozenset(item.instance_id for task in tasks for item in task.siblings),
        )

    def leak(self, content: bytes, instances: Iterable[str]) -> tuple[str, str] | None:
        """Return (instance, line) of the first line of these instances that occurs in `content`."""
        for instance in instances:
            for line in self.lines.get(instance, ()):
                if line in content:
                    return instance, line.decode()
        return None


def static_problems(
    task: Task, instance: Instance, references: ReferenceLines
) -> Iterator[Problem]:
    """Yield too few or unreadable variants, a long instruction, and lines of a reference that models see."""
    problem = functools.partial(Problem, instance.instance_id)
    words = len(instance.instruction.split())
    if words > MAX_INSTRUCTION:
        yield problem(
            "instruction",
            f"{words} words, at most {MAX_INSTRUCTION}; move conventions to the contract",
        )
    yield from _variant_problems(task, instance)
    yield from leaks(task, instance, references)


def leaks(task: Task, instance: Instance, references: ReferenceLines) -> Iterator[Problem]:
    """Yield each text that models see and that shows a line of a reference."""
    visible = {
        **{f"repo/{name}": file.data for name, file in task.masked_repo(instance).items()},
        "paper.md": task.paper_of(instance).encode(),
        "instruction": instance.instruction.encode(),
        "contract": instance.contract.encode(),
    }
    hidden = {*references.implementations, instance.instance_id} - instance.shown_siblings.keys()
    for name, content in visible.items():
        # A repository of many functions repeats some plumbing, which says nothing about the method.
        own = (
            {instance.instance_id}
            if instance.configuration.is_method and name.startswith("repo/")
            else set()
        )
        if found := references.leak(content, sorted(hidden - own)):
            name_of, line = found
            owner = "" if name_of == instance.instance_id else f" of {name_of}"
            message = f"shows a line of the reference{owner}; remove it: {line}"
            yield Problem(instance.instance_id, name, message)


def _variant_problems(task: Task, instance: Instance) -> Iterator[Problem]:
    """Yield kinds with too few variants, and variants that are unreadable, unexplained or repeat another one."""
    problem = functools.partial(Problem, instance.instance_id)
    repeated: dict[str, str] = {}
    for kind, least in instance.configuration.variants.items():
        paths = task.variants(instance, kind)
        folder = f"variants/{instance.instance_id}/{kind}"
        if len(paths) < least:
            yield problem(
                kind,
                f"{plural(len(paths), 'variant')}, at least {least} needed; add some to {folder}",
            )
        for path in [
            file
            for each in paths
            for file in (matching(each, "**/*.py") if each.is_dir() else [each])
        ]:
            text = read_variant(path)
            if text is None:
                yield problem(f"{kind}/{path.name}", "not UTF-8; save it as UTF-8")
            elif kind in (CARELESS, WRONG) and not text.startswith("# "):
                yield problem(
                    f"{kind}/{path.name}",
                    "the mistake is not named; begin the first line with `# ...`",
                )
            elif message := _function_problem(
                text, task, instance, repeated, f"{kind}/{path.name}"
            ):
                yield problem(f"{folder}/{path.name}", message)


def _function_problem(
    text: str, task: Task, item: Instance, repeated: dict[str, str], name: str
) -> str:
    """Return the problem of a variant of a single function, empty for none.

    Args:
        repeated: code of a function → name of the variant with it; the variant is added.
    """
    if item.configuration.is_method:
        return ""
    [(goal_file, [goal_function])] = item.goals.items()
    golden = find_function(task.repo[goal_file].data.decode("utf-8"), goal_function).node
    repeated.setdefault(_normalised(golden), "the reference")
    try:
        tree = parse(textwrap.dedent(text))
    except InputError as error:
        return f"cannot be applied: {error}"
    functions = [part for part in ast.walk(tree) if isinstance(part, FunctionNode)]
    own = [part for part in functions if part.name == golden.name]
    if not own:
        return f"does not define {golden.name}; rename its function"
    code = _normalised(own[0])
    if len(functions) == 1 and code in repeated:  # others may differ in the helpers that they call
        return f"has the same code as {repeated[code]}; delete one of them"
    repeated.setdefault(code, name)
    return ""


def _normalised(node: FunctionNode) -> str:
    """Return a form of a function's code that ignores docstring, comments and layout."""
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    return " ".join(map(ast.dump, body))


def read_variant(path: Path) -> str | None:
    """Return the source of a variant; None if it is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def _distinctive_lines(golden: str, goal_function: str) -> list[bytes]:
    """Return the distinctive lines of the goal function's body without its docstring."""
    node = find_function(golden, goal_function).node
    lines = split_lines(golden)
    code = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    start = first_line(code[0]) - 1 if code else block_end(lines, node)
    body = [line.strip() for line in lines[start : block_end(lines, node)]]
    return [
        line.encode() for line in body if len(line) >= _DISTINCTIVE and not line.startswith("#")
    ]
