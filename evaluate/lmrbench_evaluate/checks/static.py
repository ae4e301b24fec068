"""Static problems of an instance: leaks of the reference into what models see, malformed texts, missing variants."""

import ast
import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from lmrbench_data.base.problems import Problem
from lmrbench_data.base.source import block_end, find_function, first_line, split_lines
from lmrbench_data.base.text import counted
from lmrbench_data.tasks.task import Altered, Implementation, Instance, Method, Task
from lmrbench_data.tasks.task_folders import read_tasks

#: Minimum number of variants of each kind.
LEAST = {"valid": 2, "plain": 2, "careless": 1, "wrong": 5}
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
    def of(cls, benchmark: Path) -> Self:
        """Read them from the readable tasks in a folder."""
        return cls.of_tasks(read_tasks(benchmark)[0].values())

    @classmethod
    def of_tasks(cls, tasks: Iterable[Task]) -> Self:
        """Read them from loaded tasks."""
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


def static_problems(task: Task, instance: Instance, references: ReferenceLines) -> Iterator[Problem]:
    """Yield too few or unreadable variants, a long instruction, and lines of a reference that models see."""
    problem = functools.partial(Problem, instance.instance_id)
    words = len(instance.instruction.split())
    is_method = isinstance(instance, Method)
    if words > MAX_INSTRUCTION:
        yield problem("instruction", f"{words} words, at most {MAX_INSTRUCTION}; move conventions to the contract")
    for kind, least in LEAST.items():
        if isinstance(instance, Altered):  # its variants are its choices' other options
            break
        if kind == "careless" and is_method:  # a method has no contract to break
            continue
        paths = task.variants(instance, kind)
        if len(paths) < least:
            place = f"variants/{instance.instance_id}/{kind}"
            yield problem(kind, f"{counted(len(paths), 'variant')}, at least {least} needed; add some to {place}")
        for path in paths if not is_method else [file for folder in paths for file in sorted(folder.rglob("*.py"))]:
            text = read_variant(path)
            if text is None:
                yield problem(f"{kind}/{path.name}", "not UTF-8; save it as UTF-8")
            elif kind in ("careless", "wrong") and not text.startswith("# "):
                yield problem(f"{kind}/{path.name}", "the mistake is not named; begin the first line with `# ...`")
    visible = {
        **{f"repo/{name}": file.data for name, file in task.masked_repo(instance).items()},
        "paper.md": task.paper_of(instance).encode(),
        "instruction": instance.instruction.encode(),
    }
    hidden = {*references.implementations, instance.instance_id}
    if isinstance(instance, Implementation):
        visible["contract"] = instance.contract.encode()
        hidden -= instance.shown_siblings.keys()
    for name, content in visible.items():
        # A repository of many functions repeats some plumbing, which says nothing about the method.
        own = {instance.instance_id} if is_method and name.startswith("repo/") else set()
        if found := references.leak(content, sorted(hidden - own)):
            name_of, line = found
            owner = "" if name_of == instance.instance_id else f" of {name_of}"
            yield problem(name, f"shows a line of the reference{owner}; remove it: {line}")


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
    return [line.encode() for line in body if len(line) >= _DISTINCTIVE and not line.startswith("#")]
