"""Find the Python code in a model's answer: between fences or between prose, indented or not."""

import ast
import re
from collections.abc import Iterator
from typing import get_args

from lmrbench_data.base.source import FunctionNode, MalformedAnswerError, SourceError, indentation, parse, split_lines
from lmrbench_data.base.splice import WRAPPER, wrappers

MAX_ANSWER_BYTES = 1_000_000
#: Limits on parsing one answer: attempts, and total characters.
_MAX_PARSES = 100
_PARSE_BUDGET = 3_000_000
_FENCE = re.compile(r"([ \t]*)(`{3,}(?=[^`]*$)|~{3,})")
_REASONING = re.compile(
    r"^[ \t]*<(?P<open>think|thinking|reasoning)>"
    r"|(?P<first>^[ \t]*)?</(?P<close>think|thinking|reasoning)>(?P<last>[ \t]*$)?",
    re.MULTILINE | re.IGNORECASE,
)
_CODE_START = re.compile(r"^[ \t]*(?:@|(?:async[ \t]+)?def[ \t]|class[ \t]|import[ \t]|from[ \t])", re.MULTILINE)
_MEMBERS = (*get_args(FunctionNode), ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.Expr)


def extract_code(answer: str, goal_function: str) -> str:
    """Return the Python code in an answer that defines the goal function; it parses, and its lines end in LF.

    An indented method without a class gets a class named WRAPPER.

    Raises:
        MalformedAnswerError: it does not define the goal function, or is larger than MAX_ANSWER_BYTES.
        SourceError: a syntax error.
    """
    if len(answer.encode("utf-8", "surrogatepass")) > MAX_ANSWER_BYTES:
        raise MalformedAnswerError(f"the answer is larger than {MAX_ANSWER_BYTES} bytes")
    name = goal_function.rpartition(".")[2]
    text = re.sub(r"\r\n?", "\n", answer.removeprefix("\ufeff"))
    definition = re.compile(rf"^[ \t\f]*(?:async[ \t]+)?def[ \t]+{name}\b", re.MULTILINE)
    first = definition.search(text)
    if not first:
        raise MalformedAnswerError(f"no definition of {goal_function!r} in the answer")
    parser = _Parser(text)
    try:
        return parser.parsable(text)
    except SourceError as error:
        reason = error
    # Reasoning may hold drafts; the answer follows it.
    thought = _without_reasoning(text)
    if thought != text and (first_left := definition.search(thought)):
        text, first = thought, first_left
        try:
            return parser.parsable(text)
        except SourceError as error:
            reason = error
    defining = [block for _, block in _fenced_blocks(text) if definition.search(block)]
    if defining:
        # Answers quote the task first; the solution comes last.
        return parser.parsable(defining[-1])
    # Prose without fences: the code starts at the first line from which a piece with the function parses.
    for start in _CODE_START.finditer(text, 0, first.end()):
        code = parser.longest_prefix(text[start.start() :])
        if code and definition.search(code):
            return code
    raise reason


def _without_reasoning(text: str) -> str:
    """Remove blocks such as `<think>...</think>`; a block without an opening tag starts at the beginning of the text.

    A tag within a line is code or prose, unless it closes a block.
    """
    pieces, done, opened = [], 0, list[str]()
    for tag in _REASONING.finditer(text):
        name = (tag["open"] or tag["close"]).lower()
        if tag["open"]:
            if not opened:
                pieces.append(text[done : tag.start()])
            if name not in opened:
                opened.append(name)
        elif name in opened:
            del opened[opened.index(name) :]
            done = tag.end()
        elif not opened and (tag["first"] is not None or tag["last"] is not None):
            pieces, done = [], tag.end()
    return text if opened else "".join([*pieces, text[done:]])


def parsable_blocks(answer: str) -> Iterator[tuple[str, str]]:
    """Yield the code of each fenced block that parses, and the line above its fence; or all of an answer without any.

    Raises:
        MalformedAnswerError: the answer is larger than MAX_ANSWER_BYTES, or has no fences and does not parse.
    """
    if len(answer.encode("utf-8", "surrogatepass")) > MAX_ANSWER_BYTES:
        raise MalformedAnswerError(f"the answer is larger than {MAX_ANSWER_BYTES} bytes")
    text = _without_reasoning(re.sub(r"\r\n?", "\n", answer.removeprefix("\ufeff")))
    parser, blocks = _Parser(text), list(_fenced_blocks(text))
    if not blocks:
        try:
            yield parser.parsable(text), ""
        except MalformedAnswerError:
            raise
        except SourceError as error:
            raise MalformedAnswerError(f"no fenced code in the answer, and it does not parse: {error}") from None
    for above, block in blocks:
        try:
            yield parser.parsable(block), above
        except MalformedAnswerError:
            raise
        except SourceError:
            continue


def _fenced_blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield (line of prose above, content) of fenced blocks as CommonMark reads them; an unclosed one ends the text."""
    fence, indent, block, above = "", 0, list[str](), ""
    for line in split_lines(text):
        found = _FENCE.match(line)
        if not fence:
            if found:
                indent, fence, block = len(found[1]), found[2], []
            elif line.strip():
                above = line.strip()
        elif found and found[2].startswith(fence) and not line[found.end() :].strip() and len(found[1]) <= indent + 3:
            yield above, "".join(block)
            fence, above = "", ""
        else:
            block.append(line)
    if fence:
        yield above, "".join(block)


class _Parser:
    """Finds text that parses in a bounded number of attempts: hostile answers must not keep the harness busy."""

    def __init__(self, text: str) -> None:
        self._attempts = min(_MAX_PARSES, max(6, _PARSE_BUDGET // (len(text) + 1)))

    def parsable(self, text: str) -> str:
        """Return the text, or the text with a class put around an indented method, if that parses.

        Raises:
            SourceError: neither parses.
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
        wrapper = f"class {WRAPPER}:\n"
        variants = [("".join([*lines[: line - 1], wrapper, *lines[line - 1 :]]), _MEMBERS)]
        if re.match(r"@|async\b|def\b", lines[0]):
            # The answer was stripped: its first line lost the indentation of the others.
            variants.insert(0, (wrapper + indentation(lines, line) + code, get_args(FunctionNode)))
        for variant, kinds in variants:
            try:
                tree = self._parse(variant)
            except SourceError as error:
                if error.line and reason.line and error.line - 1 > reason.line:
                    reason = SourceError(str(error).replace(f"line {error.line}", f"line {error.line - 1}", 1))
                    reason.line = error.line - 1
                continue
            # Other contents mean that it is not a class but a function with wrong indentation.
            if all(isinstance(item, kinds) for node in wrappers(tree) for item in (*node.body, *node.decorator_list)):
                return variant
        raise reason

    def longest_prefix(self, text: str) -> str | None:
        """Return the longest prefix of whole top-level statements that parses, without the prose below the code."""
        lines = split_lines(text)
        while lines:
            try:
                return self.parsable("".join(lines))
            except MalformedAnswerError:
                raise
            except SourceError as error:
                if error.line is None:
                    return None
                end = min(error.line, len(lines)) - 1
            # Never inside a statement: an indented or blank line is not a place to cut.
            while end > 0 and lines[end][0] in " \t\f\n":
                end -= 1
            lines = lines[:end]
        return None

    def _parse(self, code: str) -> ast.Module:
        if not self._attempts:
            raise MalformedAnswerError("code and prose cannot be told apart; put the code between ``` fences")
        self._attempts -= 1
        return parse(code)
