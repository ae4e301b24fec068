"""Put a model's answer for one function into the masked goal file.

Models answer with prose, fences, imports, helpers, a class around the method, or an indented method. All of these are
understood; what the answer means is never guessed: without exactly one definition of the goal function it is malformed.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from lmrbench_data.source import (
    FunctionNode,
    SourceError,
    Target,
    block_end,
    find_function,
    first_line,
    indentation,
    newline_of,
    parse,
    reindent,
    split_lines,
)

MAX_ANSWER_BYTES = 1_000_000
#: How often an answer may be parsed: at most so often, and so many characters in all.
_MAX_PARSES = 100
_PARSE_BUDGET = 3_000_000
_FENCE = re.compile(r"([ \t]*)(`{3,}(?=[^`]*$)|~{3,})")
_CODE_START = re.compile(r"^[ \t]*(?:@|(?:async[ \t]+)?def[ \t]|class[ \t]|import[ \t]|from[ \t])", re.MULTILINE)
#: Put above members that came indented, without their class.
_WRAPPER = "_class_of_the_answer"


class MalformedAnswer(SourceError):
    """The answer cannot be applied; the message says why, in words for the model's author."""


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
    """Methods and attributes that came with a method and that its class does not have, not indented."""


def splice_function(masked_file: str, goal_function: str, answer: str) -> str:
    """The goal file with the goal function replaced by the one in `answer`.

    Decorators of the masked file stay unless the answer has its own. Imports, helpers and constants of the answer go
    right above the statement that holds the function (below it, if they stood below the function), new members of its
    class right above the method, `from __future__` imports to the top.

    Raises:
        MalformedAnswer: no definition of the goal function in it, more than one, or a syntax error.
    """
    bom = "\ufeff" if masked_file.startswith("\ufeff") else ""
    masked_file = masked_file.removeprefix("\ufeff")
    try:
        place = find_function(masked_file, goal_function)
        parts = _read(_extract_code(answer, goal_function), goal_function, place)
        result = _insert(masked_file, place, parts)
        find_function(result, goal_function)  # the splice itself must have left one definition in a file that parses
    except MalformedAnswer:
        raise
    except SourceError as error:
        raise MalformedAnswer(str(error)) from None
    return bom + result


# --- find the code ----------------------------------------------------------------------------------------------------


def _extract_code(answer: str, goal_function: str) -> str:
    """The part of an answer that is Python and defines the goal function; it parses, and its lines end in LF."""
    if len(answer.encode("utf-8", "surrogatepass")) > MAX_ANSWER_BYTES:
        raise MalformedAnswer(f"the answer is larger than {MAX_ANSWER_BYTES} bytes")
    name = goal_function.rpartition(".")[2]
    text = re.sub(r"\r\n?", "\n", answer.removeprefix("\ufeff"))
    definition = re.compile(rf"^[ \t\f]*(?:async[ \t]+)?def[ \t]+{name}\b", re.MULTILINE)
    first = definition.search(text)
    if not first:
        raise MalformedAnswer(f"no definition of {goal_function!r} in the answer")
    parser = _Parser(text)
    try:
        return parser.parsable(text)
    except SourceError as error:
        reason = error
    defining = [block for block in _fenced_blocks(text) if definition.search(block)]
    if defining:
        # Answers quote the task first and solve it last.
        return parser.parsable(defining[-1])
    # Prose above and below, no fences: the code starts at the first line from which a piece with the function parses.
    for start in _CODE_START.finditer(text, 0, first.end()):
        code = parser.longest_prefix(text[start.start() :])
        if code and definition.search(code):
            return code
    raise reason


def _fenced_blocks(text: str) -> Iterator[str]:
    """The contents of fenced blocks, as CommonMark reads them: one that is never closed goes on to the end."""
    fence, indent, block = "", 0, list[str]()
    for line in split_lines(text):
        found = _FENCE.match(line)
        if not fence:
            if found:
                indent, fence, block = len(found[1]), found[2], []
        elif found and found[2].startswith(fence) and not line[found.end() :].strip() and len(found[1]) <= indent + 3:
            yield "".join(block)
            fence = ""
        else:
            block.append(line)
    if fence:
        yield "".join(block)


class _Parser:
    """Finds text that parses, in a bounded number of tries: hostile answers must not keep the harness busy."""

    def __init__(self, text: str) -> None:
        self._tries = min(_MAX_PARSES, max(6, _PARSE_BUDGET // (len(text) + 1)))

    def parsable(self, text: str) -> str:
        """`text`, or `text` with a class put above a method that came indented, if that parses.

        Raises:
            SourceError: neither does.
        """
        code = text.strip("\n").rstrip() + "\n"
        try:
            self._parse(code)
            return code
        except SourceError as error:
            lines = split_lines(code)
            if error.line is None or not indentation([*lines, ""], min(error.line, len(lines) + 1)):
                raise
            reason, line = error, error.line
        wrapper = f"class {_WRAPPER}:\n"
        variants = ["".join([*lines[: line - 1], wrapper, *lines[line - 1 :]])]
        if re.match(r"@|async\b|def\b", lines[0]):
            # The answer was stripped: its first line lost the indentation that the others have.
            variants.insert(0, wrapper + indentation(lines, line) + code)
        for variant in variants:
            try:
                tree = self._parse(variant)
            except SourceError as error:
                if error.line and reason.line and error.line - 1 > reason.line:
                    reason = SourceError(str(error).replace(f"line {error.line}", f"line {error.line - 1}", 1))
                    reason.line = error.line - 1
                continue
            if not any(node.decorator_list for node in _wrappers(tree)):
                return variant
        raise reason

    def longest_prefix(self, text: str) -> str | None:
        """Whole top-level statements from the start of `text`, as many as parse: prose below the code is left out."""
        lines = split_lines(text)
        while lines:
            try:
                return self.parsable("".join(lines))
            except MalformedAnswer:
                raise
            except SourceError as error:
                if error.line is None:
                    return None
                end = min(error.line, len(lines)) - 1
            # Never inside a statement: an indented or blank line is no place to cut.
            while end > 0 and lines[end][0] in " \t\f\n":
                end -= 1
            lines = lines[:end]
        return None

    def _parse(self, code: str) -> ast.Module:
        if not self._tries:
            raise MalformedAnswer("code and prose cannot be told apart; put the code between ``` fences")
        self._tries -= 1
        return parse(code)


def _wrappers(tree: ast.Module) -> list[ast.ClassDef]:
    return [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == _WRAPPER]


# --- take it apart ----------------------------------------------------------------------------------------------------


def _read(code: str, goal_function: str, place: Target) -> _Answer:
    """The parts of code that parses."""
    *outer, name = goal_function.split(".")
    tree, lines = parse(code), split_lines(code)
    bodies = [tree.body, *(node.body for node in _wrappers(tree))]
    bodies += [body for start in range(len(outer)) for body in _class_bodies(tree.body, outer[start:])]
    found = [(body, node) for body in bodies for node in body if isinstance(node, FunctionNode) and node.name == name]
    if len(found) != 1:
        count = f"{len(found)} definitions" if found else "no top-level definition"
        raise MalformedAnswer(f"{count} of {name!r} in the answer; one is needed")
    body, target = found[0]
    line = target.lineno
    # The top-level statement that holds the function: the function itself, or the class around it.
    anchor = next(node for node in tree.body if first_line(node) <= line <= (node.end_lineno or 0))
    above = [node for node in tree.body if (node.end_lineno or 0) < first_line(anchor)]
    below = [node for node in tree.body if first_line(node) > (anchor.end_lineno or 0)]
    members: list[ast.stmt] = []
    if anchor is not target:
        imports = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
        beside = [node for node in body if node is not target and node not in imports]
        above += imports
        if outer:
            owner = place.parents[-1]
            own = set(_bound_names(owner.body)) if isinstance(owner, ast.ClassDef) else set()
            members = [node for node in beside if (names := set(_bound_names([node]))) and not names & own]
        else:
            above += [node for node in beside if node.lineno < line]
            below = [*(node for node in beside if node.lineno > line), *below]
    start = line - 1 if not target.decorator_list else first_line(target) - 1
    return _Answer(
        function="".join(lines[start : block_end(lines, target)]),
        indent=indentation(lines, line),
        decorated=bool(target.decorator_list),
        future=sorted({alias.name for node in (*above, *below) if _is_future(node) for alias in node.names}),
        above=_texts(lines, above),
        below=_texts(lines, below),
        members=_texts(lines, members),
    )


def _class_bodies(body: Sequence[ast.stmt], path: Sequence[str]) -> Iterator[list[ast.stmt]]:
    """The bodies of classes that stand under the dotted `path`."""
    for node in body:
        if isinstance(node, ast.ClassDef) and node.name == path[0]:
            if len(path) == 1:
                yield node.body
            else:
                yield from _class_bodies(node.body, path[1:])


def _texts(lines: list[str], nodes: Iterable[ast.stmt]) -> list[str]:
    """The source of statements that a solution may need, moved to the margin."""
    texts, done = [], 0
    for node in nodes:
        if _is_prose(node) or _is_future(node) or first_line(node) <= done:  # `a = 1; b = 2` is one text
            continue
        done = block_end(lines, node)
        text = "".join(lines[first_line(node) - 1 : done])
        texts.append(reindent(text, indentation(lines, node.lineno), "").rstrip())
    return texts


def _is_prose(node: ast.stmt) -> bool:
    """Statements that an answer has for show: docstrings, a demonstration under `if __name__ == "__main__"`."""
    if isinstance(node, ast.If):
        return any(isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test))
    return isinstance(node, ast.Expr | ast.Pass)


def _is_future(node: ast.stmt) -> TypeGuard[ast.ImportFrom]:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _bound_names(body: Iterable[ast.stmt]) -> Iterator[str]:
    """The names that functions, classes and assignments of a body bind."""
    for node in body:
        if isinstance(node, FunctionNode | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (part.id for item in targets for part in ast.walk(item) if isinstance(part, ast.Name))


# --- put it in --------------------------------------------------------------------------------------------------------


def _insert(masked_file: str, place: Target, answer: _Answer) -> str:
    lines, newline = split_lines(masked_file), newline_of(masked_file)
    indent = indentation(lines, place.node.lineno)
    block = _with_newlines(reindent(answer.function, answer.indent, indent), newline)
    cut_from = (place.first_line if answer.decorated else place.node.lineno) - 1
    cut_to = block_end(lines, place.node)
    block = block.rstrip("\r\n") + (newline if lines[cut_to - 1].endswith(("\n", "\r")) else "")

    holder = place.parents[0] if place.parents else place.node
    top, method, end = first_line(holder) - 1, place.first_line - 1, max(cut_to, block_end(lines, holder))
    above = "".join(f"{text}\n" for text in answer.above)
    members = "".join(reindent(f"{text}\n", "", indent) + "\n" for text in answer.members)
    pieces = [
        *lines[:top],
        _with_newlines(above + "\n" if above else "", newline),
        *lines[top:method],
        _with_newlines(members, newline),
        *lines[method:cut_from],
        block,
        *lines[cut_to:end],
    ]
    result = "".join(pieces)
    if answer.below:
        ending = "" if result.endswith(("\n", "\r")) else newline
        result += ending + _with_newlines("\n" + "".join(f"{text}\n" for text in answer.below), newline)
    return _with_future(result + "".join(lines[end:]), answer.future, newline)


def _with_future(source: str, names: Sequence[str], newline: str) -> str:
    """`source` with these names imported from `__future__`."""
    if not names:
        return source
    tree = parse(source)
    present = {alias.name for node in tree.body if _is_future(node) for alias in node.names}
    lines = split_lines(source)
    after = tree.body[0].end_lineno or 0 if ast.get_docstring(tree) is not None else 0
    added = [f"from __future__ import {name}{newline}" for name in names if name not in present]
    return "".join(lines[:after] + added + lines[after:])


def _with_newlines(text: str, newline: str) -> str:
    return text.replace("\n", newline)
