"""Mutants of references: small mechanical mistakes that the cases of a task must notice.

    python tests/mutants.py [--sandbox docker] INSTANCE ...

lists the mutants that no case notices and the `equivalent_mutants` that are obsolete or noticed. Each mutant changes
one place in the body of a goal function or of a helper that is masked with it; docstrings, annotations and messages
stay. It is named by its line before and after the change, so a list of equivalent ones survives edits elsewhere.
"""

import argparse
import itertools
import json
from collections.abc import Collection, Iterator
from dataclasses import replace

import libcst as cst
import libcst.matchers as m

from lmrbench_data.base.source import SourceError, find_function, parse
from lmrbench_data.dataset.build import build_rows
from lmrbench_data.tasks.task import Instance, Task
from lmrbench_data.tasks.task_folders import load_tasks
from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.sandbox import open_sandbox
from lmrbench_evaluate.sandbox.base import Sandbox
from lmrbench_evaluate.verdict.evaluator import evaluate_prediction
from lmrbench_evaluate.verdict.expected import read_expected
from lmrbench_evaluate.verdict.verdict import Status

_MUTUAL = (
    "Add Subtract|Multiply Divide|BitAnd BitOr|Equal NotEqual|Is IsNot|In NotIn|And Or|AddAssign SubtractAssign|"
    "MultiplyAssign DivideAssign|LessThan LessThanEqual|GreaterThan GreaterThanEqual"
)
_ONE_WAY = (
    "FloorDivide Divide|FloorDivide Multiply|Modulo FloorDivide|Power Multiply|MatrixMultiply Multiply|"
    "LessThan GreaterThanEqual|LessThanEqual GreaterThan|GreaterThan LessThanEqual|GreaterThanEqual LessThan"
)
_PAIRS = [tuple(pair.split()) for pair in _MUTUAL.split("|")]
#: (operator class of libcst, its replacement)
_OPERATORS = [*_PAIRS, *((b, a) for a, b in _PAIRS), *(tuple(pair.split()) for pair in _ONE_WAY.split("|"))]
#: Methods with arguments whose removal leaves a value of the same kind.
_IDENTITY_LIKE = (
    *("astype", "clamp", "clip", "expand", "lower", "masked_fill", "permute", "reshape", "squeeze", "strip", "to"),
    *("transpose", "type", "unsqueeze", "view", "where"),
)
Change = tuple[cst.CSTNode, cst.CSTNode]


def make_mutants(golden_file: str, goal_function: str, helpers: Collection[str] = ()) -> dict[str, str]:
    """Return the distinct mutants of a goal file that parse, by name.

    Args:
        helpers: top-level functions, classes and constants that are masked with the function and mutated as well.
    """
    line = find_function(golden_file, goal_function).node.lineno
    wrapper = cst.MetadataWrapper(cst.parse_module(golden_file), unsafe_skip_copy=True)
    positions = wrapper.resolve(cst.metadata.PositionProvider)
    functions = [n for n in positions if isinstance(n, cst.FunctionDef) and positions[n.name].start.line == line]
    mutants: dict[str, str] = {}
    for old, new in itertools.chain.from_iterable(map(_changes, [*functions, *_definitions(wrapper.module, helpers)])):
        source = cst.ensure_type(wrapper.module.deep_replace(old, new), cst.Module).code
        if source in (golden_file, *mutants.values()) or not _parses(source):
            continue
        pairs = itertools.zip_longest(golden_file.splitlines(), source.splitlines(), fillvalue="")
        name = " => ".join(next(((a.strip(), b.strip()) for a, b in pairs if a != b), ("", "")))
        numbered = (f"{name} ({number})" for number in itertools.count(2))
        mutants[next(numbered) if name in mutants else name] = source
    return mutants


def _parses(source: str) -> bool:
    try:
        parse(source)
    except SourceError:
        return False
    return True


def _definitions(module: cst.Module, names: Collection[str]) -> Iterator[cst.CSTNode]:
    """Yield the top-level functions, classes and assignments with these names."""
    for statement in module.body:
        if isinstance(statement, cst.FunctionDef | cst.ClassDef) and statement.name.value in names:
            yield statement
        for part in statement.body if isinstance(statement, cst.SimpleStatementLine) else ():
            targets = [part.target] if isinstance(part, cst.AnnAssign) else getattr(part, "targets", ())
            if any(m.findall(target, m.Name(name)) for target in targets for name in names):
                yield part


def _changes(definition: cst.CSTNode) -> Iterator[Change]:
    """Yield (node, replacement) for every mutation of a function's body, a class's methods or a constant's value."""
    pending: list[cst.CSTNode] = [definition]
    while pending:
        node = pending.pop()
        if isinstance(node, cst.Raise):
            yield node, cst.Pass()
        elif isinstance(node, cst.FunctionDef | cst.ClassDef) and isinstance(node.body, cst.IndentedBlock):
            documented = node.get_docstring() is not None
            pending += reversed(node.body.body[1:] if documented else node.body.body)
        else:
            yield from _expression_changes(node)
            yield from _statement_changes(node)
            message = node.msg if isinstance(node, cst.Assert) else None
            children = (child for child in reversed(node.children) if child is not message)
            pending += [child for child in children if not isinstance(child, cst.Annotation)]


def _expression_changes(node: cst.CSTNode) -> Iterator[Change]:
    for old, new in _OPERATORS:
        if type(node).__name__ == old:
            yield node, getattr(cst, new)()
    if isinstance(node, cst.UnaryOperation):
        yield node, node.expression
    elif isinstance(node, cst.Integer):
        yield from ((node, cst.Integer(str(n))) for n in (int(node.value, 0) + 1, int(node.value, 0) - 1) if n >= 0)
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
        yield from ((node, n) for n in (node.with_changes(body=node.orelse, orelse=node.body), node.body, node.orelse))
    elif isinstance(node, cst.BinaryOperation):
        yield from ((node, operand) for operand in (node.left, node.right))
    elif isinstance(node, cst.Tuple) and len(node.elements) > 1:
        yield node, node.with_changes(elements=_swapped(node.elements, 0, 1))


def _swapped(items: "tuple[cst.Arg, ...] | tuple[cst.BaseElement, ...]", i: int, j: int) -> list[cst.CSTNode]:
    new = list(items)
    new[i], new[j] = items[i].with_changes(value=items[j].value), items[j].with_changes(value=items[i].value)
    return new


def _call_changes(node: cst.Call) -> Iterator[Change]:
    """Drop a method call, swap the first two arguments, change an axis, drop a keyword argument."""
    # `x.detach()`, `(a - b).abs()`, `x.view(-1)`; not `torch.cat(...)`, whose left side is a module.
    if isinstance(node.func, cst.Attribute) and (
        not isinstance(node.func.value, cst.Name) or not node.args or node.func.attr.value in _IDENTITY_LIKE
    ):
        yield node, node.func.value
    positional = [i for i, arg in enumerate(node.args) if arg.keyword is None and not arg.star]
    if len(positional) > 1:
        yield node, node.with_changes(args=_swapped(node.args, *positional[:2]))
    for i, arg in enumerate(node.args):
        if arg.keyword is None:
            continue
        for value in ("0", "1", "2", "-1", "-2") if arg.keyword.value in ("dim", "axis", "dims") else ():
            args = [*node.args[:i], arg.with_changes(value=cst.parse_expression(value)), *node.args[i + 1 :]]
            yield node, node.with_changes(args=args)
        rest = [*node.args[:i], *node.args[i + 1 :]]
        if rest and i == len(node.args) - 1:
            rest[-1] = rest[-1].with_changes(comma=arg.comma)
        yield node, node.with_changes(args=rest)


def _statement_changes(node: cst.CSTNode) -> Iterator[Change]:
    """Drop a statement, negate or force a condition, enter a block without its context manager."""
    if isinstance(node, cst.Assign):
        # Dropping any other assignment leaves a name undefined, and every case notices that.
        target = node.targets[0].target
        if not isinstance(target, cst.Name) or m.findall(node.value, m.Name(target.value)):
            yield node, cst.Pass()
    elif isinstance(node, cst.Expr | cst.AugAssign | cst.Assert | cst.Break | cst.Continue):
        yield node, cst.Pass()
    if isinstance(node, cst.If | cst.While):
        test = node.test
        brackets = {"lpar": [cst.LeftParen(), *test.lpar], "rpar": [*test.rpar, cst.RightParen()]}
        yield test, cst.UnaryOperation(cst.Not(), test.with_changes(**brackets))
        yield test, cst.Name("False")
        if isinstance(node, cst.If):
            yield test, cst.Name("True")
    elif isinstance(node, cst.With):
        yield node, cst.If(test=cst.Name("True"), body=node.body, leading_lines=node.leading_lines)
    elif isinstance(node, cst.Break | cst.Continue):
        yield node, cst.Continue() if isinstance(node, cst.Break) else cst.Break()


def mutants_of(task: Task, item: Instance) -> dict[str, str]:
    """Return name → files of the mutants of all functions of an instance."""
    golden = task.golden_files(item)
    mutants = {}
    for path, functions in item.goals.items():
        for number, function in enumerate(functions):
            helpers = () if number else item.removed.get(path, ())
            for name, source in make_mutants(golden[path], function, helpers).items():
                mutants[name] = json.dumps({**golden, path: source})
    return mutants


def errors(task: Task, item: Instance, sandbox: Sandbox) -> Iterator[str]:
    """Yield the mutants that no case notices and those that are wrongly listed as equivalent."""
    mutants = mutants_of(task, item)
    yield from (f"no such mutant: {name}" for name in item.equivalent_mutants if name not in mutants)
    [row] = build_rows([replace(task, instances=(item,))])
    image = sandbox.prepare(row["docker_image"])
    first = [frame for frame in read_expected(row) if frame.seed == row["tests"]["seeds"][0]]
    for name, content in mutants.items():
        answer = Prediction(item.instance_id, "check", "files", content)
        verdict = evaluate_prediction(row, answer, sandbox, image, expected=first)
        if verdict.status is Status.PASSED:
            verdict = evaluate_prediction(row, answer, sandbox, image)
        if (verdict.status is Status.PASSED) != (name in item.equivalent_mutants):
            yield f"{'noticed' if name in item.equivalent_mutants else 'not noticed'}: {name}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("instances", nargs="+", help="instance ids or task folders")
    parser.add_argument("--sandbox", default="docker")
    arguments = parser.parse_args()
    with open_sandbox(arguments.sandbox) as sandbox:
        for task in load_tasks(arguments.instances):
            for item in task.instances:
                for line in errors(task, item, sandbox):
                    print(f"{item.instance_id}: {line}", flush=True)
