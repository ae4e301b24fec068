"""Static problems of an instance: leaks of the reference, long texts, faulty variants."""

import ast
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

from lmrbench_data.base.archive import matching
from lmrbench_data.base.configurations import CARELESS, WRONG
from lmrbench_data.base.errors import InputError
from lmrbench_data.base.source import (
    FunctionNode,
    block_end,
    find_function,
    first_line,
    parse,
    split_lines,
)
from lmrbench_data.base.text import plural
from lmrbench_data.tasks.problems import Problem
from lmrbench_data.tasks.task import Instance, Task

#: Maximum number of words of an instruction, which asks for a method and does not dictate code.
MAX_INSTRUCTION = 100
#: Minimum length of a line of a reference whose reappearance elsewhere is not a coincidence.
_DISTINCTIVE = 40


class Leak(NamedTuple):
    """A line of the reference of an instance."""

    instance: str
    line: str


@dataclass(frozen=True)
class ReferenceLines:
    """The distinctive lines of every goal function of a benchmark, by instance."""

    lines: Mapping[str, list[bytes]]
    implementations: frozenset[str]
    """The instances of the configuration `function`."""

    @classmethod
    def of(cls, tasks: Iterable[Task]) -> Self:
        """Read them from all tasks of a benchmark."""
        lines: dict[str, list[bytes]] = {}
        implementations = set()
        for task in tasks:
            implementations |= {item.instance_id for item in task.siblings}
            for item in task.every_instance:
                own = lines.setdefault(item.instance_id, [])
                for path, text in task.golden_files(item).items():
                    for name in item.goals[path]:
                        own += _distinctive_lines(text, name)
        return cls(lines, frozenset(implementations))

    def leak(self, content: bytes, instances: Iterable[str]) -> Leak | None:
        """Return the first line of these instances that occurs in `content`."""
        for instance in instances:
            for line in self.lines.get(instance, ()):
                if line in content:
                    return Leak(instance, line.decode())
        return None


def static_problems(
    task: Task, instance: Instance, references: ReferenceLines
) -> Iterator[Problem]:
    """Yield faulty variants, a long instruction, and lines of a reference that models see."""
    words = len(instance.instruction.split())
    if words > MAX_INSTRUCTION:
        message = f"{words} words, at most {MAX_INSTRUCTION}; move conventions to the contract"
        yield Problem(instance.instance_id, "instruction", message)
    for where, message in _variant_problems(task, instance):
        yield Problem(instance.instance_id, where, message)
    yield from leaks(task, instance, references)


def leaks(task: Task, instance: Instance, references: ReferenceLines) -> Iterator[Problem]:
    """Yield each text that models see and that shows a line of a reference."""
    own = instance.instance_id
    others = references.implementations - instance.shown_siblings.keys() - {own}
    for place, content in _visible(task, instance):
        # A repository of many functions repeats some plumbing, which says nothing about the method.
        is_plumbing = instance.configuration.is_method and place.startswith("repo/")
        hidden = others if is_plumbing else others | {own}
        leak = references.leak(content, sorted(hidden))
        if leak:
            owner = "" if leak.instance == own else f" of {leak.instance}"
            message = f"shows a line of the reference{owner}; remove it: {leak.line}"
            yield Problem(own, place, message)


def _visible(task: Task, instance: Instance) -> Iterator[tuple[str, bytes]]:
    """Yield place and content of the texts that models see."""
    for name, file in task.masked_repo(instance).items():
        yield f"repo/{name}", file.data
    yield "paper.md", task.paper_of(instance).encode()
    yield "instruction", instance.instruction.encode()
    yield "contract", instance.contract.encode()


def _variant_problems(task: Task, instance: Instance) -> Iterator[tuple[str, str]]:
    """Yield kinds with too few variants, and unreadable, unexplained and repeated variants."""
    folder = f"variants/{instance.instance_id}"
    copies: dict[str, str] = {}
    for kind, least in instance.configuration.variants.items():
        paths = task.variants(instance, kind)
        if len(paths) < least:
            count = plural(len(paths), "variant")
            yield kind, f"{count}, at least {least} needed; add some to {folder}/{kind}"
        for path in _sources(paths):
            yield from _file_problems(path, kind, task, instance, copies)


def _file_problems(
    path: Path, kind: str, task: Task, instance: Instance, copies: dict[str, str]
) -> Iterator[tuple[str, str]]:
    name = f"{kind}/{path.name}"
    text = read_variant(path)
    if text is None:
        yield name, "not UTF-8; save it as UTF-8"
    elif kind in (CARELESS, WRONG) and not text.startswith("# "):
        yield name, "the mistake is not named; begin the first line with `# ...`"
    elif not instance.configuration.is_method:
        message = _function_problem(text, _golden_function(task, instance), copies, name)
        if message:
            yield f"variants/{instance.instance_id}/{name}", message


def _sources(variants: Sequence[Path]) -> Iterator[Path]:
    for variant in variants:
        if variant.is_dir():
            yield from matching(variant, "**/*.py")
        else:
            yield variant


def _golden_function(task: Task, item: Instance) -> FunctionNode:
    [(goal_file, [goal_function])] = item.goals.items()
    return find_function(task.repo[goal_file].data.decode("utf-8"), goal_function).node


def _function_problem(text: str, golden: FunctionNode, copies: dict[str, str], name: str) -> str:
    """Return the problem of a variant of a single function; empty if there is none.

    Args:
        copies: code of a function → name of the variant with it; the variant is added.
    """
    copies.setdefault(_normalised(golden), "the reference")
    try:
        nodes = ast.walk(parse(textwrap.dedent(text)))
        functions = [node for node in nodes if isinstance(node, FunctionNode)]
    except InputError as error:
        return f"cannot be applied: {error}"
    goals = [function for function in functions if function.name == golden.name]
    if not goals:
        return f"does not define {golden.name}; rename its function"
    original = copies.setdefault(_normalised(goals[0]), name)
    if original == name or len(functions) > 1:  # others may differ in their helpers
        return ""
    return f"has the same code as {original}; delete one of them"


def _normalised(node: FunctionNode) -> str:
    """Return a form of a function's code that ignores docstring, comments and layout."""
    return " ".join(map(ast.dump, _code(node)))


def _code(node: FunctionNode) -> list[ast.stmt]:
    """Return the statements of a function without its docstring."""
    return node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body


def read_variant(path: Path) -> str | None:
    """Return the source of a variant; None if it is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        return None


def _distinctive_lines(golden: str, goal_function: str) -> list[bytes]:
    """Return the distinctive lines of the goal function's body without its docstring."""
    node = find_function(golden, goal_function).node
    code = _code(node)
    if not code:
        return []
    lines = split_lines(golden)
    body = [line.strip() for line in lines[first_line(code[0]) - 1 : block_end(lines, node)]]
    distinctive = [line for line in body if len(line) >= _DISTINCTIVE and line[0] != "#"]
    return [line.encode() for line in distinctive]
