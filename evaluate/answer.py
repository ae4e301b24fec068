"""Put a model's answer for one function into the masked goal file.

Models answer with prose, fences, imports, helpers, a class around the method, or an indented method. All of these are
understood; what the answer means is never guessed: without exactly one definition of the goal function it is malformed.
"""

import ast
import re
import textwrap

from lmrbench_data.source import (
    FunctionNode,
    SourceError,
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
_FENCE = re.compile(r"^[ \t]*(```+|~~~+)[^\n`]*\n(.*?)^[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL)
_CODE_START = re.compile(r"^[ \t]*(?:@|(?:async[ \t]+)?def[ \t]|class[ \t]|import[ \t]|from[ \t])", re.MULTILINE)


class MalformedAnswer(SourceError):
    """The answer cannot be applied; the message says why, in words for the model's author."""


def splice_function(masked_file: str, goal_function: str, answer: str) -> str:
    """The goal file with the goal function replaced by the one in `answer`.

    Decorators of the masked file stay unless the answer has its own. Imports, helpers and constants of the answer go
    right above the statement that holds the function, `from __future__` imports to the top.

    Raises:
        MalformedAnswer: no definition of the goal function in it, more than one, or a syntax error.
    """
    code = _extract_code(answer, goal_function)
    body, target, extras = _locate(code, goal_function)
    lines = split_lines(body)
    bom = "\ufeff" if masked_file.startswith("\ufeff") else ""
    masked_file = masked_file.removeprefix("\ufeff")
    place = find_function(masked_file, goal_function)
    file_lines = split_lines(masked_file)
    newline = newline_of(masked_file)

    start = target.lineno - 1 if not target.decorator_list else first_line(target) - 1
    block = "".join(lines[start : block_end(lines, target)])
    old, new = indentation(lines, target.lineno), indentation(file_lines, place.node.lineno)
    block = _with_newlines(reindent(block, old, new), newline)
    cut_from = (place.node.lineno if not target.decorator_list else place.first_line) - 1
    cut_to = block_end(file_lines, place.node)
    if cut_to < len(file_lines) or file_lines[-1].endswith(("\n", "\r")):
        block = block.rstrip("\r\n") + newline
    else:
        block = block.rstrip("\r\n")

    holder = place.parents[0] if place.parents else place.node
    above = first_line(holder) - 1
    future = [text for text in extras if text.startswith("from __future__")]
    helpers = "".join(_with_newlines(text, newline) + newline for text in extras if text not in future)
    if helpers:
        helpers = helpers + newline
    head = "".join(file_lines[:above]) + helpers + "".join(file_lines[above:cut_from])
    result = head + block + "".join(file_lines[cut_to:])
    if future:
        result = _add_future_imports(result, future, newline)
    find_function(result, goal_function)  # the splice itself must have left one definition in a file that parses
    return bom + result


def _extract_code(answer: str, goal_function: str) -> str:
    """The part of an answer that is Python and defines the goal function."""
    if len(answer.encode("utf-8", "surrogatepass")) > MAX_ANSWER_BYTES:
        raise MalformedAnswer(f"the answer is larger than {MAX_ANSWER_BYTES} bytes")
    name = goal_function.rpartition(".")[2]
    if not re.search(rf"\bdef[ \t]+{name}\b", answer):
        raise MalformedAnswer(f"no definition of {goal_function!r} in the answer")
    fenced = [match.group(2) for match in _FENCE.finditer(answer)]
    defining = [block for block in fenced if re.search(rf"^[ \t]*(?:async[ \t]+)?def[ \t]+{name}\b", block, re.MULTILINE)]
    if defining:
        # Answers quote the task first and solve it last.
        return _normalised(defining[-1])
    if _parses(answer):
        return _normalised(answer)
    start = _CODE_START.search(answer)
    candidate = answer[start.start() :] if start else answer
    return _normalised(_longest_prefix(candidate) or candidate)


def _longest_prefix(text: str) -> str | None:
    """The longest run of whole lines from the start that parses: prose below the code is left out."""
    lines = split_lines(text)
    ends = [i for i in range(len(lines), 0, -1) if i == len(lines) or not lines[i].startswith((" ", "\t"))]
    for end in ends[:200]:
        candidate = "".join(lines[:end])
        if _parses(candidate):
            return candidate
    return None


def _parses(text: str) -> bool:
    try:
        _normalised(text)
    except SourceError:
        return False
    return True


def _normalised(code: str) -> str:
    """`code`, if it parses as it is or as the indented body of a class; a trailing line ending is added."""
    code = code.strip("\r\n").rstrip() + "\n"
    try:
        parse(code)
    except SourceError as error:
        try:
            parse("class _:\n" + code)
        except SourceError:
            dedented = textwrap.dedent(code)
            if dedented == code:
                raise MalformedAnswer(str(error)) from None
            parse(dedented)
            return dedented
    return code


def _locate(code: str, goal_function: str) -> tuple[str, ast.FunctionDef | ast.AsyncFunctionDef, list[str]]:
    """(code that parses, the goal function's node in it, source of everything else at its top level)."""
    try:
        tree = parse(code)
    except SourceError:
        code = "class _:\n" + code  # an indented method; the line numbers then count this line too
        wrapper = parse(code).body[0]
        assert isinstance(wrapper, ast.ClassDef)
        statements = wrapper.body
    else:
        statements = tree.body
    *outer, name = goal_function.split(".")
    lines = split_lines(code)
    named = [node for node in statements if isinstance(node, FunctionNode) and node.name == name]
    holders = [node for node in statements if isinstance(node, ast.ClassDef) and outer and node.name == outer[0]]
    if not named and holders:
        try:
            node = find_function(code, goal_function).node
        except SourceError as error:
            raise MalformedAnswer(str(error)) from None
        skipped: list[ast.stmt] = [*holders]
    elif len(named) == 1:
        node, skipped = named[0], [named[0]]
    else:
        count = f"{len(named)} definitions" if named else "no top-level definition"
        raise MalformedAnswer(f"{count} of {name!r} in the answer; one is needed")
    extras = [
        reindent(text, indentation(split_lines(text), 1), "").rstrip()
        for item in statements
        if item not in skipped and not _is_prose(item)
        for text in ["".join(lines[first_line(item) - 1 : block_end(lines, item)])]
    ]
    return code, node, extras


def _is_prose(node: ast.stmt) -> bool:
    """Statements that an answer has for show: docstrings, a demonstration under `if __name__ == "__main__"`."""
    return isinstance(node, ast.Expr) or (isinstance(node, ast.If) and "__name__" in ast.dump(node.test))


def _add_future_imports(source: str, imports: list[str], newline: str) -> str:
    tree = parse(source)
    present = {
        alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module == "__future__"
        for alias in node.names
    }
    wanted = {alias.name for text in imports for node in parse(text).body for alias in getattr(node, "names", [])}
    lines = split_lines(source)
    after = tree.body[0].end_lineno or 0 if ast.get_docstring(tree) is not None else 0
    added = [f"from __future__ import {name}{newline}" for name in sorted(wanted - present)]
    return "".join(lines[:after] + added + lines[after:])


def _with_newlines(text: str, newline: str) -> str:
    return re.sub(r"\r\n|\r|\n", newline, text)
