"""The places where a repository calls its goal function."""

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..base.definitions import CodeIndex, last_name
from ..base.source import find_function, first_line


class Call(NamedTuple):
    """A place where the repository calls the goal function."""

    path: str
    line: int

    @property
    def is_in_tests(self) -> bool:
        """Whether a test calls it."""
        return self.path.startswith("tests/")


def calls_of(index: CodeIndex, goal_file: str, goal_function: str) -> Sequence[Call]:
    """Return the calls of a function by its name, tests last, without its own recursion.

    For a class's `forward` or `__call__`, calls of its objects count.

    Raises:
        SourceError: there is no such function, or more than one.
    """
    function = find_function(index.modules[goal_file].source, goal_function).node
    own = range(first_line(function), (function.end_lineno or 0) + 1)
    owner, name = goal_function.partition(".")[0], goal_function.rpartition(".")[2]
    found = []
    for path, module in index.modules.items():
        objects = set(_objects(module.tree, owner)) if name in ("forward", "__call__") else set()
        calls = (node for node in ast.walk(module.tree) if isinstance(node, ast.Call))
        for node in calls if path != goal_file else (node for node in calls if node.lineno not in own):
            if last_name(node.func) == name or (objects and ast.unparse(node.func) in objects):
                found.append(Call(path, node.lineno))
    return sorted(found, key=lambda call: (call.is_in_tests, call))


def _objects(tree: ast.AST, class_name: str) -> Iterator[str]:
    """The names, including attributes of `self`, that a file gives to objects of a class."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            values = value.elts if isinstance(value, ast.Tuple) else [value]
            for name, made in zip(names, values, strict=False):
                if isinstance(made, ast.Call) and last_name(made.func) == class_name:
                    yield ast.unparse(name)
