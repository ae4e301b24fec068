"""Put functions from a piece of code into a file, with the imports, helpers and members that come with them."""

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeGuard

from .source import (
    FunctionNode,
    MalformedAnswerError,
    SourceError,
    Target,
    block_end,
    bound_names,
    check_encoding,
    class_bodies,
    every_name,
    find_function,
    first_line,
    indentation,
    is_accessor,
    is_companion,
    newline_of,
    parse,
    reindent,
    split_lines,
)

#: Name of a class put around members without one.
WRAPPER = "_class_of_the_answer"


@dataclass(frozen=True)
class _Answer:
    """The parts of an answer."""

    function: str
    indent: str
    decorated: bool
    future: Sequence[str]
    """Names imported from `__future__`."""
    above: Sequence[str]
    below: Sequence[str]
    """Top-level statements before and after the function, not indented."""
    members: Sequence[str]
    """Methods and attributes that accompany a method and are new to its class, not indented."""


def splice_code(file: str, name: str, code: str) -> str:
    """Replace a function of a file by the one that a piece of code defines; return the new file.

    Decorators of the file stay unless the code has its own. Imports, helpers and constants of the code go directly
    above the statement that holds the function, or below it if they followed the function in the code. New members of
    its class go directly above the method, `from __future__` imports to the top.

    Raises:
        MalformedAnswerError: no definition of the function in the code, more than one, a syntax error, or an encoding
            other than UTF-8.
    """
    bom = "\ufeff" if file.startswith("\ufeff") else ""
    file = file.removeprefix("\ufeff")
    try:
        place = find_function(file, name)
        check_encoding(code)
        parts = _read(code, name, place)
        result = _insert(file, place, parts)
        find_function(result, name)  # the result must parse and hold one definition
    except MalformedAnswerError:
        raise
    except SourceError as error:
        raise MalformedAnswerError(str(error)) from None
    return bom + result


def splice_functions(file: str, names: Sequence[str], code: str) -> str:
    """Replace several functions of a file by those that a piece of code defines.

    Imports, helpers and constants go with the first of them.

    Raises:
        MalformedAnswerError: as `splice_code`, for any of them.
    """
    for name, piece in _split(code, names, lambda _: names[0]):
        file = splice_code(file, name, piece)
    return file


def splice_reply(file: str, names: Sequence[str], code: str, goals: Sequence[str]) -> str:
    """Replace functions of a file by those of a reply, which may repeat other parts of the file.

    Imports, helpers and constants go with the function below them, and what follows the last one goes below the last
    one of the file. What the file has already, equal statements and classes of the same name, is left out.

    Args:
        names: the functions to take from the code, which defines them.
        goals: these and the functions that are taken from elsewhere.

    Raises:
        MalformedAnswerError: as `splice_code`, for any of them.
    """
    tree, own = parse(code), parse(file).body
    classes, statements = (
        {node.name for node in own if isinstance(node, ast.ClassDef)},
        set(map(ast.dump, own)),
    )
    lines = {
        name: place.holder.lineno for name in names for place in _definitions(tree, name, goals)[:1]
    }
    order = sorted(lines, key=lambda name: lines[name])
    lowest = max(names, key=lambda name: first_line(find_function(file, name).node))
    last_parts = {goal.rpartition(".")[2] for goal in goals}

    def owner(node: ast.stmt) -> str | None:
        is_there = (
            node.name in classes if isinstance(node, ast.ClassDef) else ast.dump(node) in statements
        )
        if is_there or (isinstance(node, FunctionNode) and node.name in last_parts):
            return None
        return next((name for name in order if lines[name] > node.lineno), lowest)

    for name, piece in _split(code, order, owner):
        file = splice_code(file, name, piece)
    return file


def covers(code: str, file: str) -> bool:
    """Return whether code binds every name that a file binds, at the top and in classes: it is a whole new file."""
    return every_name(parse(file)) <= every_name(parse(code))


def defines(tree: ast.Module, name: str, names: Sequence[str] = ()) -> bool:
    """Return whether code defines a function; a method may lack its class if no other of `names` has its name."""
    return bool(_definitions(tree, name, names))


def wrappers(tree: ast.Module) -> list[ast.ClassDef]:
    """Return the class named WRAPPER, if any."""
    return [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == WRAPPER]


# --- several functions ----------------------------------------------------------------------------------------------


def _split(
    code: str, names: Sequence[str], owner: Callable[[ast.stmt], str | None]
) -> Iterator[tuple[str, str]]:
    """Yield each function with its part of the code.

    `owner` returns the function that a statement beside the functions goes with; None leaves it out.
    """
    tree, functions = parse(code), dict[str, _Located]()
    for name in names:
        if not (found := _definitions(tree, name, names)):
            raise MalformedAnswerError(f"no definition of {name!r}")
        functions[name] = found[0]
    holders = [
        function.holder for function in functions.values()
    ]  # nodes are equal only to themselves
    owners = {node: owner(node) for node in tree.body if node not in holders}
    lines, begun = split_lines(code), list[ast.stmt]()
    for name, (holder, _, node) in functions.items():
        others: list[ast.stmt] = [
            function.node for other, function in functions.items() if other != name
        ]
        others += [item for item in tree.body if item is not holder and owners.get(item) != name]
        if holder in begun and isinstance(holder, ast.ClassDef):
            others += [member for member in holder.body if member is not node]
        begun.append(holder)
        gone = {
            number
            for item in others
            for number in range(first_line(item), block_end(lines, item) + 1)
        }
        yield name, "".join(line for number, line in enumerate(lines, 1) if number not in gone)


# --- take apart ----------------------------------------------------------------------------------------------------


class _Located(NamedTuple):
    """The place of a function in code."""

    holder: ast.stmt
    """The statement at the top that holds it: the function itself, or the class around it."""
    body: list[ast.stmt]
    node: FunctionNode

    @property
    def is_method(self) -> bool:
        """True for a function in a class."""
        return self.holder is not self.node


def _definitions(tree: ast.Module, name: str, names: Sequence[str] = ()) -> list[_Located]:
    """Return the definitions of a function at the top of code and in its class, those in the class first.

    A method may stand alone, if no other of `names` has its name, or without `names` in any end of its chain of
    classes. Companions (`is_companion`) do not count.
    """
    *outer, last = name.split(".")
    has_namesake = any(other != name and other.rpartition(".")[2] == last for other in names)
    bodies = list(class_bodies(tree.body, outer)) if outer else []
    if not outer or not has_namesake:
        ends = [] if names else [outer[start:] for start in range(1, len(outer))]
        bodies += [body for end in ends for body in class_bodies(tree.body, end)]
        bodies.append(tree.body)
    if not names:
        bodies += [node.body for node in wrappers(tree)]
    return [
        _Located(
            next(
                top for top in tree.body if first_line(top) <= node.lineno <= (top.end_lineno or 0)
            ),
            body,
            node,
        )
        for body in bodies
        for node in body
        if isinstance(node, FunctionNode) and node.name == last and not is_companion(node)
    ]


def _read(code: str, goal_function: str, place: Target) -> _Answer:
    """Split code that parses into its parts."""
    *outer, name = goal_function.split(".")
    tree, lines = parse(code), split_lines(code)
    places = _definitions(tree, goal_function)
    if len(places) != 1:
        count = f"{len(places)} definitions" if places else "no top-level definition"
        raise MalformedAnswerError(f"{count} of {name!r} in the answer; expected exactly one")
    [located] = places
    target, line = located.node, located.node.lineno
    above = [node for node in tree.body if (node.end_lineno or 0) < first_line(located.holder)]
    below = [
        node
        for node in tree.body
        if first_line(node) > (located.holder.end_lineno or 0) and not is_accessor(node)
    ]
    members: list[ast.stmt] = []
    if located.is_method:
        imports = [node for node in located.body if isinstance(node, ast.Import | ast.ImportFrom)]
        beside = [node for node in located.body if node is not target and node not in imports]
        above += imports
        if outer:
            owner = place.parents[-1]
            own = set(bound_names(owner.body)) if isinstance(owner, ast.ClassDef) else set()
            members = [
                node for node in beside if (names := set(bound_names([node]))) and not names & own
            ]
        else:
            above += [node for node in beside if node.lineno < line]
            below = [*(node for node in beside if node.lineno > line), *below]
    start = line - 1 if not target.decorator_list else first_line(target) - 1
    return _Answer(
        function="".join(lines[start : block_end(lines, target)]),
        indent=indentation(lines, line),
        decorated=bool(target.decorator_list),
        future=sorted(
            {alias.name for node in (*above, *below) if _is_future(node) for alias in node.names}
        ),
        above=_texts(lines, above),
        below=_texts(lines, below),
        members=_texts(lines, members),
    )


def _texts(lines: list[str], nodes: Iterable[ast.stmt]) -> list[str]:
    """Return the source of the statements that a solution may need, dedented."""
    texts, done = [], 0
    for node in nodes:
        if (
            _is_prose(node) or _is_future(node) or first_line(node) <= done
        ):  # `a = 1; b = 2` is one piece of source
            continue
        done = block_end(lines, node)
        text = "".join(lines[first_line(node) - 1 : done])
        texts.append(reindent(text, indentation(lines, node.lineno), "").rstrip())
    return texts


def _is_prose(node: ast.stmt) -> bool:
    """Return whether a statement is outside a solution: a docstring, or a demo under `if __name__ == "__main__"`."""
    if isinstance(node, ast.If):
        return any(
            isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test)
        )
    return isinstance(node, ast.Expr | ast.Pass)


def _is_future(node: ast.stmt) -> TypeGuard[ast.ImportFrom]:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


# --- insert --------------------------------------------------------------------------------------------------------


def _insert(masked_file: str, place: Target, answer: _Answer) -> str:
    lines, newline = split_lines(masked_file), newline_of(masked_file)
    indent = indentation(lines, place.node.lineno)
    block = reindent(answer.function, answer.indent, indent).replace("\n", newline)
    cut_from = (first_line(place.node) if answer.decorated else place.node.lineno) - 1
    cut_to = block_end(lines, place.node)
    block = block.rstrip("\r\n") + (newline if lines[cut_to - 1].endswith(("\n", "\r")) else "")

    holder = place.parents[0] if place.parents else place.node
    top, method, end = (
        first_line(holder) - 1,
        first_line(place.node) - 1,
        max(cut_to, block_end(lines, holder)),
    )
    above = "".join(f"{text}\n" for text in answer.above)
    members = "".join(reindent(f"{text}\n", "", indent) + "\n" for text in answer.members)
    pieces = [
        *lines[:top],
        (above + "\n" if above else "").replace("\n", newline),
        *lines[top:method],
        members.replace("\n", newline),
        *lines[method:cut_from],
        block,
        *lines[cut_to:end],
    ]
    result = "".join(pieces)
    if answer.below:
        ending = "" if result.endswith(("\n", "\r")) else newline
        below = "".join(f"{text}\n" for text in answer.below).replace("\n", newline)
        result += ending + newline + below
    return _with_future(result + "".join(lines[end:]), answer.future, newline)


def _with_future(source: str, names: Sequence[str], newline: str) -> str:
    """Add imports of these names from `__future__`."""
    if not names:
        return source
    tree = parse(source)
    present = {alias.name for node in tree.body if _is_future(node) for alias in node.names}
    lines = split_lines(source)
    after = tree.body[0].end_lineno or 0 if ast.get_docstring(tree) is not None else 0
    added = [f"from __future__ import {name}{newline}" for name in names if name not in present]
    return "".join(lines[:after] + added + lines[after:])
