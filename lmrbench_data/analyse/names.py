"""Which names a function takes from elsewhere: from its own file, from other files of the repository, from libraries.

Found by syntax alone, nothing is run. What counts is in docs/error-analysis.md; the rules are:

- a name or a chain of attributes that is read in the function's body, brought to the place where it is defined:
  `F.softplus` is `torch.nn.functional.softplus` however it was imported, inside the function or above it;
- `self.x`, `cls.x` and `super().x`, brought to the class that has it, or to the first base from a library;
- `anything.method`, if exactly one class of the repository has a method of that name, and no type of Python or NumPy;
- what the answer itself adds (helpers, imports, methods, files) is part of the answer: what that uses counts;
- local variables, builtins, annotations, and the signature and decorators, which are given, do not count.
"""

import ast
import builtins
import functools
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from ..loader import File
from ..source import FunctionNode, SourceError, find_function
from .modules import Module, parts_of, read_modules
from .scopes import Scopes

#: How often a name may be imported on from file to file.
_MAX_HOPS = 10
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Kind(StrEnum):
    """Where a name comes from."""

    OWN = "own file"
    REPOSITORY = "other files"
    LIBRARY = "libraries"


class Name(NamedTuple):
    """A name at the place of its definition."""

    kind: Kind
    name: str
    """`path.py::function`, `path.py::Class.member`, or dotted, of a library."""


class Repository:
    """The files of a repository with an answer in it, beside those that the answer was given."""

    def __init__(self, files: Mapping[str, File], given: Mapping[str, File]) -> None:
        self.read_modules = read_modules(files)
        self._given = read_modules(given)
        self._by_method: dict[str, list[tuple[Module, str]]] = {}
        for module in self.read_modules.values():
            for name, found in module.classes.items():
                for member, node in found.members.items():
                    if isinstance(node, _FUNCTIONS):
                        self._by_method.setdefault(member, []).append((module, name))

    def used_names(self, goal_file: str, goal_function: str) -> frozenset[Name]:
        """The names that a function takes from elsewhere.

        Raises:
            SourceError: no such function, or code that is nested too deeply.
        """
        module = self.read_modules.get(goal_file)
        if module is None:
            raise SourceError(f"{goal_file}: not there, or not Python that can be parsed")
        node = find_function(module.source, goal_function).node
        walk = Walk(self, module.path, goal_function)
        try:
            walk.function(module, node, goal_function.rpartition(".")[0], given=True)
        except RecursionError:
            raise SourceError(f"{goal_function}: nested too deeply") from None
        return frozenset(walk.found)

    def module(self, parts: Sequence[str]) -> tuple[Module, int] | None:
        """The file that the longest beginning of a dotted name means, and how many parts that takes."""
        for count in range(len(parts), 0, -1):
            wanted = ".".join(parts[:count])
            for path, module in self.read_modules.items():
                dotted = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
                if dotted == wanted or dotted.endswith(f".{wanted}"):
                    return module, count
        return None

    def is_given(self, module: Module, name: str, member: str = "") -> bool:
        """Whether a definition was there before the answer."""
        before = self._given.get(module.path)
        if before is None:
            return False
        if member:
            return name in before.classes and member in before.classes[name].members
        return name in before.defined

    def only_method(self, name: str) -> tuple[Module, str] | None:
        """File and class of the one method of that name."""
        found = self._by_method.get(name, [])
        return found[0] if len(found) == 1 and name not in _common_attributes() else None


class Walk:
    """One walk over a function and all that the answer adds for it."""

    def __init__(self, repository: Repository, goal_file: str, goal_function: str) -> None:
        self.repository, self.goal = repository, (goal_file, goal_function)
        self.found: set[Name] = set()
        self._seen: set[tuple[str, str]] = set()

    def function(self, module: Module, node: FunctionNode, of_class: str, *, given: bool = False) -> None:
        """Take in what a function uses.

        Args:
            of_class: the class that it is a method of.
            given: its signature is no part of the answer.
        """
        scopes = Scopes(self, module, of_class)
        if not given:
            scopes.outside(node)
        scopes.inside(node, method=bool(of_class))

    def definition(self, module: Module, name: str, member: str = "") -> None:
        """Take in a definition: as a name if it was given, else what it uses."""
        full = f"{name}.{member}" if member else name
        if (module.path, full) == self.goal or (module.path, full) in self._seen:
            return
        if self.repository.is_given(module, name, member):
            kind = Kind.OWN if module.path == self.goal[0] else Kind.REPOSITORY
            self.found.add(Name(kind, f"{module.path}::{full}"))
            return
        self._seen.add((module.path, full))
        node: ast.AST | None = module.classes[name].members.get(member) if member else module.defined.get(name)
        if isinstance(node, FunctionNode):
            self.function(module, node, name if member else "")
        elif node is not None and not member:
            Scopes(self, module, "").visit(node)

    def method(self, name: str) -> None:
        """Take in an attribute of what nobody knows the type of, if one class alone has such a method."""
        if found := self.repository.only_method(name):
            self.definition(*found, name)

    def chain(self, module: Module, parts: tuple[str, ...], hops: int = 0) -> Sequence[str]:
        """Take in a name of a file with the attributes behind it; return those that nobody knows the owner of."""
        head, rest = parts[0], parts[1:]
        if head in module.imports:
            return self.dotted((*module.imports[head], *rest), hops)
        if head in module.classes and rest and rest[0] in module.classes[head].members:
            self.definition(module, head, rest[0])
            return rest[1:]
        if head in module.defined:
            self.definition(module, head)
            return rest
        for star in module.stars:
            found = self.repository.module(star)
            if found and (head in found[0].defined or head in found[0].imports):
                return self.chain(found[0], parts, hops + 1)
            if not found and not hasattr(builtins, head):
                return self.dotted((*star, *parts), hops)
        return rest

    def dotted(self, parts: tuple[str, ...], hops: int = 0) -> Sequence[str]:
        """The same for an absolute dotted name."""
        found = self.repository.module(parts)
        if found is None or hops > _MAX_HOPS:
            self.found.add(Name(Kind.LIBRARY, ".".join(parts)))
            return ()
        module, count = found
        rest = parts[count:]
        return self.chain(module, rest, hops + 1) if rest else ()

    def member(self, module: Module, of_class: str, name: str, *, above: bool = False) -> None:
        """Take in `self.name`: of the first class in the repository that has it, else of the first library's class.

        Args:
            above: it is looked for in the bases only.
        """
        libraries: list[str] = []
        for place, owner in self._lineage(module, of_class, libraries):
            if name in place.classes[owner].members and not (above and (place, owner) == (module, of_class)):
                self.definition(place, owner, name)
                return
        if libraries:
            self.found.add(Name(Kind.LIBRARY, f"{libraries[0]}.{name}"))

    def _lineage(self, module: Module, of_class: str, libraries: list[str]) -> Iterator[tuple[Module, str]]:
        """A class of the repository and those that it is made from; classes of libraries are added to a list."""
        waiting, seen = [(module, of_class)], set()
        while waiting:
            place, name = waiting.pop(0)
            if name not in place.classes or (place.path, name) in seen:
                continue
            seen.add((place.path, name))
            yield place, name
            for parts in filter(None, map(parts_of, place.classes[name].node.bases)):
                target = self._class(place, parts)
                if isinstance(target, str):
                    libraries.append(target)
                elif target:
                    waiting.append(target)

    def _class(self, module: Module, parts: tuple[str, ...], hops: int = 0) -> tuple[Module, str] | str | None:
        """The class that a name means: file and name, or the dotted name of a library's."""
        if parts[0] in module.classes and len(parts) == 1:
            return module, parts[0]
        if parts[0] not in module.imports or hops > _MAX_HOPS:
            return None
        absolute = (*module.imports[parts[0]], *parts[1:])
        found = self.repository.module(absolute)
        if found is None:
            return ".".join(absolute)
        rest = absolute[found[1] :]
        return self._class(found[0], rest, hops + 1) if rest else None


@functools.cache
def _common_attributes() -> frozenset[str]:
    """What objects of Python and arrays have: a method of that name says nothing about its owner."""
    import numpy as np

    types = (str, bytes, list, tuple, dict, set, int, float, complex, np.ndarray)
    return frozenset(name for one in types for name in dir(one))
