"""Faults of a task that need no run: what models see gives answers away, texts or variants are not in order."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from lmrbench_data.base.source import block_end, find_function, first_line, split_lines
from lmrbench_data.tasks.task import Implementation, Task, read_tasks

#: How many variants of a kind an instance needs.
LEAST = {"valid": 2, "plain": 2, "careless": 1, "wrong": 5}
#: Words of an instruction: it asks for a method and does not dictate its code.
MAX_INSTRUCTION = 100
#: A line of a reference that is this long is no coincidence elsewhere.
_DISTINCTIVE = 40


@dataclass(frozen=True)
class Secrets:
    """The distinctive lines of every goal function of a benchmark, by instance."""

    lines: Mapping[str, list[bytes]]

    @classmethod
    def of(cls, benchmark: Path) -> Self:
        """Those of the tasks in a folder that can be read."""
        return cls.of_tasks(read_tasks(benchmark)[0].values())

    @classmethod
    def of_tasks(cls, tasks: Iterable[Task]) -> Self:
        """Those of tasks that are at hand."""
        return cls(
            {
                item.instance_id: _secret_lines(task.golden_file(item), item.goal_function)
                for task in tasks
                for item in task.implementations
            }
        )

    def shown(self, content: bytes, except_for: Mapping[str, str]) -> tuple[str, str] | None:
        """(instance, line) of the first goal function of which a line is in `content`."""
        for instance, lines in self.lines.items():
            if instance not in except_for:
                for line in lines:
                    if line in content:
                        return instance, line.decode()
        return None


def read_faults(task: Task, implementation: Implementation, secrets: Secrets) -> Iterator[tuple[str, str]]:
    """(place, what is wrong there): too few or unreadable variants, a long instruction, leaks to models."""
    words = len(implementation.instruction.split())
    if words > MAX_INSTRUCTION:
        yield "instruction", f"{words} words, at most {MAX_INSTRUCTION}: conventions belong into the contract"
    for kind, least in LEAST.items():
        paths = task.variants(implementation, kind)
        if len(paths) < least:
            yield kind, f"{len(paths)} {kind} variant{'' if len(paths) == 1 else 's'}, at least {least} needed"
        for path in paths:
            text = read_variant(path)
            if text is None:
                yield f"{kind}/{path.name}", "not UTF-8"
            elif kind in ("careless", "wrong") and not text.startswith("# "):
                yield f"{kind}/{path.name}", "the first line must say what is wrong: `# ...`"
    shown_to_models = {
        **{f"repo/{name}": file.data for name, file in task.masked_repo(implementation).items()},
        "paper.md": task.paper_text.encode(),
        "instruction": implementation.instruction.encode(),
        "contract": implementation.contract.encode(),
    }
    for name, content in shown_to_models.items():
        if found := secrets.shown(content, implementation.shown_siblings):
            instance, line = found
            whose = "" if instance == implementation.instance_id else f" of {instance}"
            yield name, f"shows a line of the reference{whose}: {line}"


def read_variant(path: Path) -> str | None:
    """The source of a variant, None if it is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def _secret_lines(golden: str, goal_function: str) -> list[bytes]:
    """Distinctive lines of the goal function's body, its docstring left out."""
    node = find_function(golden, goal_function).node
    lines = split_lines(golden)
    code = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    start = first_line(code[0]) - 1 if code else block_end(lines, node)
    body = [line.strip() for line in lines[start : block_end(lines, node)]]
    return [line.encode() for line in body if len(line) >= _DISTINCTIVE and not line.startswith("#")]
