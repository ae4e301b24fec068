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
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from ..loader import File
from ..source import FunctionNode, SourceError, find_function, parse

#: How often a name may be imported on from file to file.
_MAX_HOPS = 10
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


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


class _Local(NamedTuple):
    """What a name is bound to inside a function."""

    imported: tuple[str, ...] = ()
    """The parts of a dotted name; empty for a variable."""
    of_class: str = ""
    """The class whose `self` or `cls` it is."""


@dataclass
class _Class:
    """A class at the top of a file."""

    node: ast.ClassDef
    members: dict[str, ast.AST] = field(default_factory=dict)
    """Methods, attributes of the class, and what its methods assign to `self`."""


class _Module:
    """A Python file of the repository, taken apart at its top level."""

    def __init__(self, path: str, source: str) -> None:
        self.path, self.source = path, source
        self.defined: dict[str, ast.stmt] = {}
        self.classes: dict[str, _Class] = {}
        self.imports: dict[str, tuple[str, ...]] = {}
        self.stars: list[tuple[str, ...]] = []
        for node in _statements(parse(source).body):
            self.imports |= _imported(node, path)
            match node:
                case ast.ClassDef(name=name):
                    self.defined[name] = node
                    self.classes[name] = _Class(node, dict(_members(node)))
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    self.defined[name] = node
                case ast.ImportFrom(names=[ast.alias(name="*")]):
                    self.stars.append(_module_parts(node, path))
                case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.For() | ast.With():
                    self.defined |= dict.fromkeys(_stored(node), node)


class Repository:
    """The files of a repository with an answer in it, beside those that the answer was given."""

    def __init__(self, files: Mapping[str, File], given: Mapping[str, File]) -> None:
        self._modules = _modules(files)
        self._given = _modules(given)
        self._by_method: dict[str, list[tuple[_Module, str]]] = {}
        for module in self._modules.values():
            for name, found in module.classes.items():
                for member, node in found.members.items():
                    if isinstance(node, _FUNCTIONS):
                        self._by_method.setdefault(member, []).append((module, name))

    def used_names(self, goal_file: str, goal_function: str) -> frozenset[Name]:
        """The names that a function takes from elsewhere.

        Raises:
            SourceError: no such function, or code that is nested too deeply.
        """
        module = self._modules.get(goal_file)
        if module is None:
            raise SourceError(f"{goal_file}: not there, or not Python that can be parsed")
        node = find_function(module.source, goal_function).node
        walk = _Walk(self, module.path, goal_function)
        try:
            walk.function(module, node, goal_function.rpartition(".")[0], given=True)
        except RecursionError:
            raise SourceError(f"{goal_function}: nested too deeply") from None
        return frozenset(walk.found)

    def module(self, parts: Sequence[str]) -> tuple[_Module, int] | None:
        """The file that the longest beginning of a dotted name means, and how many parts that takes."""
        for count in range(len(parts), 0, -1):
            wanted = ".".join(parts[:count])
            for path, module in self._modules.items():
                dotted = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
                if dotted == wanted or dotted.endswith(f".{wanted}"):
                    return module, count
        return None

    def is_given(self, module: _Module, name: str, member: str = "") -> bool:
        """Whether a definition was there before the answer."""
        before = self._given.get(module.path)
        if before is None:
            return False
        if member:
            return name in before.classes and member in before.classes[name].members
        return name in before.defined

    def only_method(self, name: str) -> tuple[_Module, str] | None:
        """File and class of the one method of that name."""
        found = self._by_method.get(name, [])
        return found[0] if len(found) == 1 and name not in _common_attributes() else None


class _Walk:
    """One walk over a function and all that the answer adds for it."""

    def __init__(self, repository: Repository, goal_file: str, goal_function: str) -> None:
        self.repository, self.goal = repository, (goal_file, goal_function)
        self.found: set[Name] = set()
        self._seen: set[tuple[str, str]] = set()

    def function(self, module: _Module, node: FunctionNode, of_class: str, *, given: bool = False) -> None:
        """Take in what a function uses.

        Args:
            of_class: the class that it is a method of.
            given: its signature is no part of the answer.
        """
        scopes = _Scopes(self, module, of_class)
        if not given:
            scopes.outside(node)
        scopes.inside(node, method=bool(of_class))

    def definition(self, module: _Module, name: str, member: str = "") -> None:
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
            _Scopes(self, module, "").visit(node)

    def chain(self, module: _Module, parts: tuple[str, ...], hops: int = 0) -> Sequence[str]:
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

    def member(self, module: _Module, of_class: str, name: str, *, above: bool = False) -> None:
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

    def _lineage(self, module: _Module, of_class: str, libraries: list[str]) -> Iterator[tuple[_Module, str]]:
        """A class of the repository and those that it is made from; classes of libraries are added to a list."""
        waiting, seen = [(module, of_class)], set()
        while waiting:
            place, name = waiting.pop(0)
            if name not in place.classes or (place.path, name) in seen:
                continue
            seen.add((place.path, name))
            yield place, name
            for parts in filter(None, map(_parts, place.classes[name].node.bases)):
                target = self._class(place, parts)
                if isinstance(target, str):
                    libraries.append(target)
                elif target:
                    waiting.append(target)

    def _class(self, module: _Module, parts: tuple[str, ...], hops: int = 0) -> tuple[_Module, str] | str | None:
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


class _Scopes(ast.NodeVisitor):
    """Tells the names that a piece of code reads from those that it binds itself."""

    def __init__(self, walk: _Walk, module: _Module, of_class: str) -> None:
        self._walk, self._module, self._class = walk, module, of_class
        self._bound: list[dict[str, _Local]] = []

    def outside(self, node: FunctionNode | ast.Lambda) -> None:
        """What is read when a function is defined: decorators and defaults. Annotations do nothing."""
        for part in (*getattr(node, "decorator_list", ()), *node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(part)

    def inside(self, node: FunctionNode | ast.Lambda, *, method: bool = False) -> None:
        """What is read when a function runs."""
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        names = [item.arg for item in (*arguments, node.args.vararg, node.args.kwarg) if item]
        bound = dict.fromkeys(names, _Local())
        body = node.body if isinstance(node.body, list) else [node.body]
        bound |= _bindings(body, self._module.path)
        if method and isinstance(node, FunctionNode) and arguments and not _is_static(node):
            bound[arguments[0].arg] = _Local(of_class=self._class)
        self._within(bound, body)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """A function inside a function."""
        self.outside(node)
        self.inside(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """The same."""
        self.outside(node)
        self.inside(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """A function without a name."""
        self.outside(node)
        self.inside(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """A class inside a function, or one that the answer adds."""
        for part in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(part)
        self._within(_bindings(node.body, self._module.path), node.body)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """An assignment with a type, which does nothing."""
        self.visit(node.target)
        if node.value:
            self.visit(node.value)

    def generic_visit(self, node: ast.AST) -> None:
        """Comprehensions have names of their own; all else is looked through."""
        if not isinstance(node, _COMPREHENSIONS):
            super().generic_visit(node)
            return
        first, *others = node.generators
        self.visit(first.iter)
        targets = [name for part in node.generators for name in _stored(part.target)]
        result = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        inner = [*first.ifs, *(part for other in others for part in (other.iter, *other.ifs)), *result]
        self._within(dict.fromkeys(targets, _Local()), inner)

    def visit_Name(self, node: ast.Name) -> None:
        """A name that is read."""
        if isinstance(node.ctx, ast.Load):
            self._read((node.id,))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """A chain of attributes: its owner, as far as it has a name."""
        parts = _parts(node)
        if parts and isinstance(node.ctx, ast.Load):
            self._read(parts)
            return
        match node.value:
            case ast.Call(func=ast.Name(id="super")) if self._class:
                self._walk.member(self._module, self._class, node.attr, above=True)
                return
        self.visit(node.value)
        if isinstance(node.ctx, ast.Load):
            self._attributes([node.attr])

    def _read(self, parts: tuple[str, ...]) -> None:
        local = next((scope[parts[0]] for scope in reversed(self._bound) if parts[0] in scope), None)
        if local is None:
            self._attributes(self._walk.chain(self._module, parts))
        elif local.imported:
            self._attributes(self._walk.dotted((*local.imported, *parts[1:])))
        elif local.of_class and len(parts) > 1:
            self._walk.member(self._module, local.of_class, parts[1])
            self._attributes(parts[2:])
        else:
            self._attributes(parts[1:])

    def _attributes(self, names: Sequence[str]) -> None:
        """Attributes of what nobody knows the type of."""
        for name in names:
            if found := self._walk.repository.only_method(name):
                self._walk.definition(*found, name)

    def _within(self, bound: dict[str, _Local], parts: Sequence[ast.AST]) -> None:
        self._bound.append(bound)
        for part in parts:
            self.visit(part)
        self._bound.pop()


def _modules(files: Mapping[str, File]) -> dict[str, _Module]:
    modules = {}
    for path, file in files.items():
        if path.endswith(".py"):
            try:
                modules[path] = _Module(path, file.data.decode("utf-8"))
            except (SourceError, UnicodeDecodeError, RecursionError):
                continue
    return modules


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a file, also those that only run under a condition."""
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.Try | ast.With):
            for block in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(node, block, []))
            for handler in getattr(node, "handlers", ()):
                yield from _statements(handler.body)


def _members(node: ast.ClassDef) -> Iterator[tuple[str, ast.AST]]:
    assigned: dict[str, ast.AST] = {}
    for part in node.body:
        if isinstance(part, FunctionNode):
            for inner in ast.walk(part):
                match inner:
                    case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                        assigned.setdefault(name, inner)
        else:
            assigned |= dict.fromkeys(_stored(part), part)
    yield from assigned.items()
    yield from ((part.name, part) for part in node.body if isinstance(part, FunctionNode))


def _bindings(body: Sequence[ast.AST], path: str) -> dict[str, _Local]:
    """What a block binds, blocks inside it included, functions and classes inside it not."""
    bound: dict[str, _Local] = {}
    free: set[str] = set()
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            bound[node.name] = _Local()
            continue
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, _COMPREHENSIONS):  # only `:=` reaches out of it
            walrus = [part.target.id for part in ast.walk(node) if isinstance(part, ast.NamedExpr)]
            bound |= dict.fromkeys(walrus, _Local())
            continue
        if isinstance(node, ast.Global | ast.Nonlocal):
            free.update(node.names)
        for name, parts in _imported(node, path).items():
            bound[name] = _Local(parts)
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                bound.setdefault(name, _Local())
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                bound.setdefault(name, _Local())
            case ast.MatchMapping(rest=str(name)):
                bound.setdefault(name, _Local())
        waiting += ast.iter_child_nodes(node)
    return {name: local for name, local in bound.items() if name not in free}


def _imported(node: ast.AST, path: str) -> dict[str, tuple[str, ...]]:
    """Local name → parts of the dotted name that an import binds it to."""
    match node:
        case ast.Import(names=names):
            # `import a.b` binds `a`; the rest stands where it is used.
            return {
                item.asname or item.name.split(".")[0]: tuple(item.name.split("."))[: None if item.asname else 1]
                for item in names
            }
        case ast.ImportFrom(names=names):
            module = _module_parts(node, path)
            return {item.asname or item.name: (*module, item.name) for item in names if item.name != "*"}
    return {}


def _module_parts(node: ast.ImportFrom, path: str) -> tuple[str, ...]:
    """The module of `from module import ...`, dots at its beginning followed."""
    folder = path.split("/")[:-1]
    above = folder[: len(folder) - node.level + 1] if node.level else []
    return (*above, *(node.module.split(".") if node.module else ()))


def _stored(node: ast.AST) -> list[str]:
    """The names that a statement or a target assigns to."""
    return [part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]


def _parts(node: ast.expr) -> tuple[str, ...]:
    """The parts of `a.b.c`; nothing for an expression that does not begin with a name."""
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    return (node.id, *reversed(attributes)) if isinstance(node, ast.Name) else ()


def _is_static(node: FunctionNode) -> bool:
    return any(isinstance(item, ast.Name) and item.id == "staticmethod" for item in node.decorator_list)


@functools.cache
def _common_attributes() -> frozenset[str]:
    """What objects of Python and arrays have: a method of that name says nothing about its owner."""
    import numpy as np

    types = (str, bytes, list, tuple, dict, set, int, float, complex, np.ndarray)
    return frozenset(name for one in types for name in dir(one))
