"""Mutants of a reference function: small mechanical mistakes that the cases must notice (`dataset check --mutants`).

Each mutant changes one place in the goal function's body, or in a helper that is masked with it. Signatures,
decorators, docstrings and error messages stay. The name of a mutant is its line before and after the change, so a list
of equivalent mutants survives edits elsewhere in the file.
"""

import itertools
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.source import SourceError, find_function, parse

if TYPE_CHECKING:
    import libcst as cst

#: Operator class of libcst → its replacements.
_OPERATORS = {
    "Add": ["Subtract"],
    "Subtract": ["Add"],
    "Multiply": ["Divide"],
    "Divide": ["Multiply"],
    "FloorDivide": ["Divide", "Multiply"],
    "Modulo": ["FloorDivide"],
    "Power": ["Multiply"],
    "MatrixMultiply": ["Multiply"],
    "BitAnd": ["BitOr"],
    "BitOr": ["BitAnd"],
    "LessThan": ["LessThanEqual", "GreaterThanEqual"],
    "LessThanEqual": ["LessThan", "GreaterThan"],
    "GreaterThan": ["GreaterThanEqual", "LessThanEqual"],
    "GreaterThanEqual": ["GreaterThan", "LessThan"],
    "Equal": ["NotEqual"],
    "NotEqual": ["Equal"],
    "Is": ["IsNot"],
    "IsNot": ["Is"],
    "In": ["NotIn"],
    "NotIn": ["In"],
    "And": ["Or"],
    "Or": ["And"],
    "AddAssign": ["SubtractAssign"],
    "SubtractAssign": ["AddAssign"],
    "MultiplyAssign": ["DivideAssign"],
    "DivideAssign": ["MultiplyAssign"],
}
#: Methods with arguments whose removal leaves a value of the same kind.
_IDENTITY_LIKE = frozenset(
    {"astype", "clamp", "clip", "expand", "lower", "masked_fill", "permute", "reshape", "squeeze", "strip", "to"}
    | {"transpose", "type", "unsqueeze", "view", "where"}
)
#: Keyword arguments that name an axis; every small value is tried.
_AXES = {"dim", "axis", "dims"}


@dataclass(frozen=True)
class Mutant:
    """A changed goal file.

    Attributes:
        name: `<line before> => <line after>`, both stripped; stable under edits elsewhere.
        line: 1-based line of the change in the reference.
        source: the whole goal file.
    """

    name: str
    line: int
    source: str


def make_mutants(
    golden_file: str, goal_function: str, helpers: Collection[str] = (), most: int | None = None
) -> list[Mutant]:
    """Return the distinct mutants of the goal function that parse, sorted by line.

    Args:
        helpers: top-level functions, classes and constants that are masked with it (`remove`) and mutated as well.
        most: maximum number of mutants, spread over all of them; all by default.

    Raises:
        InputError: libcst is not installed.
    """
    try:
        import libcst as cst
        from libcst.metadata import MetadataWrapper, PositionProvider
    except ImportError as error:
        raise InputError("mutants need libcst: pip install 'lmrbench-data[dev]'") from error

    target = find_function(golden_file, goal_function).node
    wrapper = MetadataWrapper(cst.parse_module(golden_file), unsafe_skip_copy=True)
    positions = wrapper.resolve(PositionProvider)
    functions = [
        node for node in positions if isinstance(node, cst.FunctionDef) and positions[node].start.line in _lines(target)
    ]
    parts = [*functions[:1], *_definitions(wrapper.module, helpers)]
    mutants: dict[str, Mutant] = {}
    made = list(itertools.chain.from_iterable(map(_changes, parts)))
    step = max(1, len(made) // most) if most else 1
    for old, new in made[step // 2 :: step][:most]:
        source = cst.ensure_type(wrapper.module.deep_replace(old, new), cst.Module).code
        if source == golden_file or not _parses(source):
            continue
        before, after = _differing_lines(golden_file, source)
        mutant = Mutant(f"{before} => {after}", positions[old].start.line, source)
        number = itertools.count(2)
        name = mutant.name
        while name in mutants and mutants[name].source != source:
            name = f"{mutant.name} ({next(number)})"
        mutants.setdefault(name, Mutant(name, mutant.line, source))
    return sorted(mutants.values(), key=lambda mutant: (mutant.line, mutant.name))


def _lines(target: Any) -> range:
    first = min([target.lineno, *(decorator.lineno for decorator in target.decorator_list)])
    return range(first, target.lineno + 1)


def _parses(source: str) -> bool:
    try:
        parse(source)
    except SourceError:
        return False
    return True


def _differing_lines(before: str, after: str) -> tuple[str, str]:
    """Return the first line that differs, in both versions."""
    pairs = itertools.zip_longest(before.splitlines(), after.splitlines(), fillvalue="")
    left, right = next(((a.strip(), b.strip()) for a, b in pairs if a != b), ("", ""))
    return left, right


def _definitions(module: "cst.Module", names: Collection[str]) -> Iterator["cst.CSTNode"]:
    """Yield the top-level functions, classes and assignments with these names."""
    import libcst as cst
    import libcst.matchers as m

    for statement in module.body:
        if isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
            if statement.name.value in names:
                yield statement
        elif isinstance(statement, cst.SimpleStatementLine):
            for part in statement.body:
                targets = [part.target] if isinstance(part, cst.AnnAssign) else getattr(part, "targets", ())
                if any(m.findall(target, m.Name(name)) for target in targets for name in names):
                    yield part


def _changes(definition: "cst.CSTNode") -> Iterator[tuple["cst.CSTNode", "cst.CSTNode"]]:
    """Yield (node, replacement) for every mutation of a function's body, a class's methods or a constant's value."""
    import libcst as cst

    pending: list[cst.CSTNode] = [definition]
    while pending:
        node = pending.pop()
        if isinstance(node, cst.Raise):
            yield node, cst.Pass()
            continue
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)) and isinstance(node.body, cst.IndentedBlock):
            documented = node.get_docstring() is not None
            pending += reversed(node.body.body[1:] if documented else node.body.body)
            continue
        yield from _expression_changes(node)
        yield from _statement_changes(node)
        # Type hints and error messages do not affect the result.
        text = node.msg if isinstance(node, cst.Assert) else None
        pending += [
            child for child in reversed(node.children) if not isinstance(child, cst.Annotation) and child is not text
        ]


def _expression_changes(node: "cst.CSTNode") -> Iterator[tuple["cst.CSTNode", "cst.CSTNode"]]:
    import libcst as cst

    for name in _OPERATORS.get(type(node).__name__, ()):
        yield node, _operator(name)
    if isinstance(node, cst.UnaryOperation):
        yield node, node.expression
    elif isinstance(node, cst.Integer):
        value = int(node.value, 0)
        yield from ((node, cst.Integer(str(other))) for other in (value + 1, value - 1) if other >= 0)
    elif isinstance(node, cst.Float):
        yield node, cst.Float(repr(float(node.value) * 2 + (float(node.value) == 0)))
        yield node, cst.Float(repr(float(node.value) + 0.1))
    elif isinstance(node, cst.Name) and node.value in ("True", "False"):
        yield node, cst.Name("False" if node.value == "True" else "True")
    elif isinstance(node, cst.SimpleString) and len(node.raw_value) < 60:
        yield node, cst.SimpleString(repr(str(node.evaluated_value) + "_"))
    elif isinstance(node, cst.Call):
        yield from _call_changes(node)
    elif isinstance(node, cst.IfExp):
        yield node, node.with_changes(body=node.orelse, orelse=node.body)
        yield node, node.body
        yield node, node.orelse
    elif isinstance(node, cst.BinaryOperation):
        yield node, node.left
        yield node, node.right
    elif isinstance(node, cst.Tuple) and len(node.elements) > 1:
        first, second, *rest = node.elements
        swapped = [first.with_changes(value=second.value), second.with_changes(value=first.value), *rest]
        yield node, node.with_changes(elements=swapped)


def _call_changes(node: "cst.Call") -> Iterator[tuple["cst.CSTNode", "cst.CSTNode"]]:
    """Drop a method call, swap the first two arguments, change an axis, drop a keyword argument."""
    import libcst as cst

    if isinstance(node.func, cst.Attribute):
        # `x.detach()`, `(a - b).abs()`, `x.view(-1)`; not `torch.cat(...)`, whose left side is a module.
        is_module = isinstance(node.func.value, cst.Name) and node.args and node.func.attr.value not in _IDENTITY_LIKE
        if not is_module:
            yield node, node.func.value
    positional = [i for i, arg in enumerate(node.args) if arg.keyword is None and not arg.star]
    if len(positional) > 1:
        i, j = positional[:2]
        args = list(node.args)
        args[i], args[j] = args[i].with_changes(value=args[j].value), args[j].with_changes(value=args[i].value)
        yield node, node.with_changes(args=args)
    for i, arg in enumerate(node.args):
        if arg.keyword is None:
            continue
        if arg.keyword.value in _AXES:
            for value in ("0", "1", "2", "-1", "-2"):
                args = [*node.args[:i], arg.with_changes(value=cst.parse_expression(value)), *node.args[i + 1 :]]
                yield node, node.with_changes(args=args)
        rest = [*node.args[:i], *node.args[i + 1 :]]
        if rest and i == len(node.args) - 1:
            rest[-1] = rest[-1].with_changes(comma=arg.comma)
        yield node, node.with_changes(args=rest)


def _statement_changes(node: "cst.CSTNode") -> Iterator[tuple["cst.CSTNode", "cst.CSTNode"]]:
    """Drop a statement, negate or force a condition, enter a block without its context manager."""
    import libcst as cst

    if isinstance(node, cst.Assign):
        # Dropping any other assignment leaves a name undefined, and every case notices that.
        target = node.targets[0].target
        if not isinstance(target, cst.Name) or _mentions(node.value, target):
            yield node, cst.Pass()
    elif isinstance(node, (cst.Expr, cst.AugAssign, cst.Assert, cst.Break, cst.Continue)):
        yield node, cst.Pass()
    if isinstance(node, (cst.If, cst.While)):
        yield node.test, cst.UnaryOperation(cst.Not(), _parenthesised(node.test))
        yield node.test, cst.Name("False")
        if isinstance(node, cst.If):
            yield node.test, cst.Name("True")
    elif isinstance(node, cst.With):
        yield node, cst.If(test=cst.Name("True"), body=node.body, leading_lines=node.leading_lines)
    elif isinstance(node, (cst.Break, cst.Continue)):
        yield node, cst.Continue() if isinstance(node, cst.Break) else cst.Break()


def _mentions(value: "cst.BaseExpression", name: "cst.BaseExpression") -> bool:
    """Whether an assignment redefines a name from itself, so that dropping it leaves the old value."""
    import libcst as cst
    import libcst.matchers as m

    return isinstance(name, cst.Name) and bool(m.findall(value, m.Name(name.value)))


def _parenthesised(node: "cst.BaseExpression") -> "cst.BaseExpression":
    import libcst as cst

    return node.with_changes(lpar=[cst.LeftParen(), *node.lpar], rpar=[*node.rpar, cst.RightParen()])


def _operator(name: str) -> "cst.CSTNode":
    """Return a new operator of a class; `not in` and `is not` include their whitespace."""
    import libcst as cst

    operator: cst.CSTNode = getattr(cst, name)()
    return operator
