"""The names that a function takes from elsewhere: its own file, other files of the repository, libraries.

They are found by syntax alone; no code runs. docs/error-analysis.md has the rules in full:

- a name or a chain of attributes that is read in the function's body, brought to the place where it is defined:
  `F.softplus` is `torch.nn.functional.softplus` however it was imported, inside the function or above it;
- `self.x`, `cls.x` and `super().x`, brought to the class that has it, or to the first base from a library;
- `anything.method`, if exactly one class of the repository has a method of that name, and no type of Python or NumPy;
- additions of the answer (helpers, imports, methods, files) are part of it: the names that they use count;
- local variables, builtins, annotations, and the signature and decorators, which are given, do not count.
"""

import ast
import functools
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from ..base.definitions import CodeIndex, Module, Origin, parts_of
from ..base.source import FunctionNode, SourceError, find_function
from ..loader import File
from .scopes import From, Read, reads_of_function, reads_of_statement


class Kind(StrEnum):
    """The origin of a name."""

    OWN = "own file"
    REPOSITORY = "other files"
    LIBRARY = "libraries"


class Name(NamedTuple):
    """A name at the place of its definition."""

    kind: Kind
    name: str
    """`path.py::function`, `path.py::Class.member`, or the dotted name of a library."""


def used_names(
    files: Mapping[str, File], given: Mapping[str, File], goal_file: str, goal_function: str
) -> frozenset[Name]:
    """The names that a function takes from elsewhere.

    Args:
        files: the repository with an answer in it.
        given: the repository before the answer.

    Raises:
        SourceError: no such function, or code that is nested too deeply.
    """
    index = CodeIndex(files)
    module = index.modules.get(goal_file)
    if module is None:
        raise SourceError(f"{goal_file}: missing, or not Python that can be parsed")
    node = find_function(module.source, goal_function).node
    walk = _Walk(index, CodeIndex(given), goal_file, goal_function)
    owner = goal_function.rpartition(".")[0]
    try:
        # The signature is given: it is not part of the answer.
        walk.take(module, owner, reads_of_function(goal_file, node, is_method=bool(owner), signature=False))
    except RecursionError:
        raise SourceError(f"{goal_function}: nested too deeply") from None
    return frozenset(walk.found)


class _Walk:
    """One walk over a function and all that the answer adds for it."""

    def __init__(self, index: CodeIndex, given: CodeIndex, goal_file: str, goal_function: str) -> None:
        self.found: set[Name] = set()
        self._index, self._given, self._goal = index, given, (goal_file, goal_function)
        self._seen: set[tuple[str, str]] = set()

    def take(self, module: Module, owner: str, reads: Sequence[Read]) -> None:
        """Take in the names that a piece of code reads.

        Args:
            owner: the class of a method.
        """
        for read in reads:
            unknown = read.parts
            if read.origin is From.FILE:
                unknown = self._definition_at(self._index.resolve(module, read.parts))
            elif read.origin is From.IMPORT:
                unknown = self._definition_at(self._index.resolve_absolute(read.parts))
            elif read.origin is not From.UNKNOWN:
                self._member(module, owner, read.parts[0], above=read.origin is From.SUPER)
                unknown = read.parts[1:]
            for name in unknown:
                if name not in _common_attributes() and (found := self._index.only_method(name)):
                    self._definition(*found, name)

    def _definition_at(self, origin: Origin) -> tuple[str, ...]:
        """Take in a definition and return the attributes behind it."""
        module, name, rest = origin
        if module is None:
            self.found.add(Name(Kind.LIBRARY, name))
        elif name in module.classes and rest and rest[0] in module.classes[name].members:
            self._definition(module, name, rest[0])
            return rest[1:]
        elif name:
            self._definition(module, name)
        return rest

    def _definition(self, module: Module, name: str, member: str = "") -> None:
        """Take in a definition: by its name if it was given, else by the names that it uses."""
        full = f"{name}.{member}" if member else name
        if (module.path, full) == self._goal or (module.path, full) in self._seen:
            return
        if self._is_given(module, name, member):
            kind = Kind.OWN if module.path == self._goal[0] else Kind.REPOSITORY
            self.found.add(Name(kind, f"{module.path}::{full}"))
            return
        self._seen.add((module.path, full))
        node: ast.AST | None = module.classes[name].members.get(member) if member else module.defined.get(name)
        if isinstance(node, FunctionNode):
            owner = name if member else ""
            self.take(module, owner, reads_of_function(module.path, node, is_method=bool(owner)))
        elif node is not None and not member:
            self.take(module, "", reads_of_statement(module.path, node))

    def _is_given(self, module: Module, name: str, member: str) -> bool:
        """Return whether a definition was there before the answer."""
        before = self._given.modules.get(module.path)
        if before is None or not member:
            return before is not None and name in before.defined
        return name in before.classes and member in before.classes[name].members

    def _member(self, module: Module, owner: str, name: str, *, above: bool) -> None:
        """Take in `self.name`: of the first class in the repository that has it, else of the first library's class.

        Args:
            above: look in the bases only.
        """
        libraries: list[str] = []
        for place, base in self._lineage(module, owner, libraries):
            if name in place.classes[base].members and not (above and (place, base) == (module, owner)):
                self._definition(place, base, name)
                return
        if libraries:
            self.found.add(Name(Kind.LIBRARY, f"{libraries[0]}.{name}"))

    def _lineage(self, module: Module, owner: str, libraries: list[str]) -> Iterator[tuple[Module, str]]:
        """A class of the repository and its bases; bases from libraries are added to a list."""
        waiting, seen = [(module, owner)], set()
        while waiting:
            place, name = waiting.pop(0)
            if name not in place.classes or (place.path, name) in seen:
                continue
            seen.add((place.path, name))
            yield place, name
            for parts in filter(None, map(parts_of, place.classes[name].node.bases)):
                origin = self._index.resolve(place, parts)
                if origin.module is None:
                    libraries.append(origin.name)
                elif not origin.rest:
                    waiting.append((origin.module, origin.name))


@functools.cache
def _common_attributes() -> frozenset[str]:
    """Attributes of Python's own types and of arrays: a method of that name says nothing about its owner."""
    import numpy as np

    types = (str, bytes, list, tuple, dict, set, int, float, complex, np.ndarray)
    return frozenset(name for one in types for name in dir(one))
