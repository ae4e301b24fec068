"""Skeletons of cases from the repository's own calls of the goal function: cases give it what it is given there."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..loader import File
from ..source import FunctionNode, SourceError, find_function, first_line, parse, split_lines
from ..text import cut

#: What whole numbers are called that name something (classes, tokens, places): by parameters, and in docstrings, where
#: labels and tokens may as well be what scores are of.
_IDS = re.compile(r"\b(?:ids?|ind(?:ex|ices)|labels?|targets?|tokens?)\b", re.IGNORECASE)
_SAID_IDS = re.compile(r"\b(?:ids|indices)\b", re.IGNORECASE)
#: Calls that become a case each.
MAX_CASES = 4
#: How a case makes its numbers: with torch, NumPy or neither. For each, what stands for an argument until somebody
#: says what it is, by a word of its type hint.
_PLAIN = (("int", "3"), ("float", "0.5"), ("bool", "True"), ("str", '"text"'))
_STAND_INS = {
    "generator = torch.Generator().manual_seed(seed)": (("Tensor", "torch.randn(4, 8, generator=generator)"), *_PLAIN),
    "numbers = numpy.random.default_rng(seed)": (("ndarray", "numbers.standard_normal((4, 8))"), *_PLAIN),
    "numbers = random.Random(seed)": _PLAIN,
}
#: The same for arrays of ids.
_ID_STAND_INS = {
    "Tensor": "torch.randint(0, 8, (4, 8), generator=generator)",
    "ndarray": "numbers.integers(0, 8, (4, 8))",
}


@dataclass(frozen=True)
class Call:
    """A place where the repository calls the goal function."""

    path: str
    line: int
    inside: str
    """The function around it; empty at the top level."""
    node: ast.Call
    made: ast.Call | None = None
    """How the object was made whose method it is, where that can be seen."""
    values: Mapping[str, ast.expr] = field(default_factory=dict)
    """What the names around it stand for, as far as each was given one value there."""


@dataclass(frozen=True)
class Goal:
    """The goal function in its repository."""

    files: Mapping[str, File]
    path: str
    name: str
    """Class.method has a dot."""

    @property
    def node(self) -> FunctionNode:
        """Its definition.

        Raises:
            SourceError: there is none, or more than one.
        """
        return find_function(self.source, self.name).node

    @property
    def source(self) -> str:
        """The goal file."""
        return self.files[self.path].data.decode("utf-8")

    @property
    def top(self) -> str:
        """What is imported: the function, or its class."""
        return self.name.partition(".")[0]

    def modules(self) -> Iterator[tuple[str, ast.Module]]:
        """(path, tree) of each file of the repository that is Python of this release."""
        for path, file in self.files.items():
            if not path.endswith(".py"):
                continue
            try:
                tree = parse(file.data.decode("utf-8"))
            except (SourceError, UnicodeDecodeError):
                continue
            yield path, tree


def calls_of(goal: Goal) -> list[Call]:
    """Calls of the goal function by its name, those outside of `tests/` first; its own recursion is left out."""
    function = goal.node
    own = range(first_line(function), (function.end_lineno or 0) + 1)
    method = goal.name.rpartition(".")[2]
    found = []
    for path, tree in goal.modules():
        instances = _instances(tree, goal.top) if method in ("forward", "__call__") else {}
        nodes = list(_with_function(tree, ""))
        for node, inside in nodes:
            if not isinstance(node, ast.Call) or (path == goal.path and node.lineno in own):
                continue
            made = instances.get(ast.unparse(node.func))
            if made or _called(node) == method:
                made = made or _constructed(node.func, goal.top)
                found.append(Call(path, node.lineno, inside, node, made, _values(nodes, inside)))
    return sorted(found, key=lambda call: (call.path.startswith("tests/"), call.path, call.line))


def cases_source(goal: Goal, instance_id: str, calls: Sequence[Call]) -> str:
    """The draft of unit_test/cases.py."""
    module, root = _module(goal)
    used = [
        name for name in ("torch", "numpy") if re.search(rf"^\s*(?:import|from) {name}\b", goal.source, re.MULTILINE)
    ]
    library = used[0] if used else "random"
    set_up = next(text for text in _STAND_INS if f" {library}." in text)
    lines = [f'"""Labelled inputs for {instance_id}."""', ""]
    lines += ["import os", "import sys", "", f'sys.path.insert(0, os.path.abspath("{root}"))', ""] if root else []
    lines += ["import random", ""] if library == "random" else [f"import {library}"]
    lines += [*sorted(["from lmrbench_cases import core", f"from {module} import {goal.top}"]), ""]
    taken: dict[str, int] = {}
    shown: set[str] = set()
    for call in calls:
        text = ast.unparse(call.node)
        if text not in shown and len(shown) < MAX_CASES:
            shown.add(text)
            lines += ["", *_case(goal, call, set_up, _name(call.inside or "use", taken)), ""]
    if not shown:
        lines += ["", *_case(goal, None, set_up, "use"), ""]
    lines += [
        "",
        "# TODO: what else the method does, a core case for each step and equation. Then cases of the contract,",
        "# without the mark: half precision, empty batches, errors for bad input, inputs that stay as they are.",
        "def case_contract(seed):",
        "    raise NotImplementedError  # TODO",
    ]
    return "\n".join(lines) + "\n"


def _case(goal: Goal, call: Call | None, set_up: str, name: str) -> Iterator[str]:
    if call:
        line = split_lines(goal.files[call.path].data.decode("utf-8"))[call.line - 1].strip()
        yield cut(f"# {call.path}, line {call.line}: {line}", 110)
    yield "@core"
    yield f"def case_{name}(seed):"
    yield f"    {set_up}"
    library = set_up.partition("= ")[2].partition(".")[0]
    drawn = False
    caller = goal.name
    if "." in goal.name and not _is_static(goal.node):
        made = ast.unparse(call.made) if call and call.made else f"{goal.top}()"
        yield f"    made = {made}  # TODO: as {call.path if call else 'the repository'} makes it"
        caller = f"made.{goal.name.partition('.')[2]}"
    passed = []
    for keyword, parameter, value in _arguments(goal.node, call):
        if isinstance(value, ast.Name) and call and value.id in call.values:
            value = call.values[value.id]
        if value is not None and _is_self_contained(value, library):
            passed.append(f"{keyword}{ast.unparse(value)}")
            continue
        drawn = True
        hint = ast.unparse(parameter.annotation) if parameter.annotation else ""
        known = (text for word, text in _STAND_INS[set_up] if re.search(rf"\b{word}\b", hint))
        stand_in = next(known, "None")
        if _names_ids(goal.node, parameter.arg):
            ids = (text for word, text in _ID_STAND_INS.items() if re.search(rf"\b{word}\b", hint))
            stand_in = next(ids, stand_in)
        what = f"{call.path} passes `{ast.unparse(value)}`" if call and value else f"a {hint or 'value'}"
        yield cut(f"    {parameter.arg} = {stand_in}  # TODO: {what}", 118)
        passed.append(f"{keyword}{parameter.arg}")
    if passed and not drawn:
        yield "    # TODO: build the arguments from the seed; a core case has to vary with it"
    yield f"    return {caller}({', '.join(passed)})"


def _arguments(node: FunctionNode, call: Call | None) -> Iterator[tuple[str, ast.arg, ast.expr | None]]:
    """(`name=` where it goes by keyword, parameter, what the call passes) of each argument."""
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    if positional and positional[0].arg in ("self", "cls"):
        positional = positional[1:]
    if call is None:
        needed = len(positional) - len(arguments.defaults)
        yield from (("", parameter, None) for parameter in positional[: max(needed, 0)])
        required = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        yield from ((f"{parameter.arg}=", parameter, None) for parameter, default in required if default is None)
        return
    plain = [value for value in call.node.args if not isinstance(value, ast.Starred)]
    yield from (("", parameter, value) for parameter, value in zip(positional, plain, strict=False))
    known = {parameter.arg: parameter for parameter in [*positional, *arguments.kwonlyargs]}
    for keyword in call.node.keywords:
        if keyword.arg in known:
            yield f"{keyword.arg}=", known[keyword.arg], keyword.value


def _module(goal: Goal) -> tuple[str, str]:
    """(module, folder that has to be on the path) by which the repository imports the goal."""
    dotted = goal.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    for _, tree in goal.modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = {alias.name for alias in node.names}
                if goal.top in names and dotted.endswith(f".{node.module}"):
                    return node.module, dotted.removesuffix(f".{node.module}").replace(".", "/")
    return dotted, ""


def _with_function(node: ast.AST, inside: str) -> Iterator[tuple[ast.AST, str]]:
    """Every node with the name of the innermost function around it."""
    for child in ast.iter_child_nodes(node):
        yield child, inside
        yield from _with_function(child, child.name if isinstance(child, FunctionNode) else inside)


def _instances(tree: ast.AST, class_name: str) -> dict[str, ast.Call]:
    """Names, `self.` ones too, that a file gives to objects of a class, each with the call that makes the object."""
    found = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign):
            continue
        target, value = node.targets[0], node.value
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        values = value.elts if isinstance(value, ast.Tuple) else [value]
        for name, made in zip(names, values, strict=False):
            if isinstance(made, ast.Call) and _called(made) == class_name:
                found[ast.unparse(name)] = made
    return found


def _constructed(function: ast.expr, class_name: str) -> ast.Call | None:
    """The call that makes the object in `Class(...).method`."""
    made = function.value if isinstance(function, ast.Attribute) else None
    return made if isinstance(made, ast.Call) and _called(made) == class_name else None


def _called(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _is_static(node: FunctionNode) -> bool:
    return any(isinstance(mark, ast.Name) and mark.id == "staticmethod" for mark in node.decorator_list)


def _values(nodes: Sequence[tuple[ast.AST, str]], inside: str) -> dict[str, ast.expr]:
    """The values of the names that are given one, once, in a function of a file."""
    found: dict[str, list[ast.expr]] = {}
    for node, place in nodes:
        if place == inside and isinstance(node, ast.Assign):
            for target in node.targets:
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                for name in names:
                    if isinstance(name, ast.Name):
                        found.setdefault(name.id, []).append(node.value)
    single = {name: values[0] for name, values in found.items() if len(values) == 1}
    return {name: value for name, value in single.items() if not isinstance(value, ast.Tuple)}


def _names_ids(function: FunctionNode, parameter: str) -> bool:
    """Whether a parameter holds ids, by what the docstring says of it, else by its name."""
    said = re.search(rf"^\s*{parameter}\b[^:\n]*:(.*)$", ast.get_docstring(function) or "", re.MULTILINE)
    return bool(_SAID_IDS.search(said[1]) if said else _IDS.search(parameter.replace("_", " ")))


def _is_self_contained(value: ast.expr, library: str) -> bool:
    """Whether a value means the same in a case: literals, and what the library that cases import makes of them."""
    if _is_literal(value):
        return True
    names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
    return library in ("torch", "numpy") and names == {library}


def _is_literal(value: ast.expr) -> bool:
    try:
        ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _name(wanted: str, taken: dict[str, int]) -> str:
    plain = wanted.removeprefix("test_").strip("_") or "use"
    taken[plain] = taken.get(plain, 0) + 1
    return plain if taken[plain] == 1 else f"{plain}_{taken[plain]}"
