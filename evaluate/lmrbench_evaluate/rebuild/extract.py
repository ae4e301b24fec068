"""Find the Python code in a model's answer: between fences or between prose, indented or not.

One rule holds for all answers: of the blocks that parse, the last one that defines a function at
its top level is the answer for this function. Blocks of imports, definitions and constants before
it belong to it; others are left out.
"""

import ast
import itertools
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, get_args

from lmrbench_data.base.source import (
    FunctionNode,
    MalformedAnswerError,
    SourceError,
    indentation,
    parse,
    split_lines,
)
from lmrbench_data.base.splice import WRAPPER, wrappers
from lmrbench_data.base.text import plural

from .thoughts import TOKEN, Span, without_thoughts

_FENCE = re.compile(r"([ \t]*)(`{3,}(?=[^`]*$)|~{3,})")
_FENCE_START = re.compile(r"[ \t]*(?:`{3}|~{3})")
_TOKENS = re.compile(rf"(?P<start>^[ \t]*{TOKEN}++)|{TOKEN}++(?P<end>[ \t]*+$)?", re.MULTILINE)
_CODE_START = re.compile(
    r"^[ \t]*(?:@[ \t]*\w|(?:async[ \t]+)?def[ \t]+\w|class[ \t]+\w+[ \t]*[:(\[]"
    r"|import[ \t]+[\w.]+[ \t]*(?:$|[,;#\\]|as\b)|from[ \t]+[\w.]+[ \t]+import\b)",
    re.MULTILINE,
)
#: Each try may parse a whole reply; replies of looping models have thousands of places to try.
_TRIES = 8
_FUNCTIONS = get_args(FunctionNode)
#: Statements of a block that goes with the answer behind it.
_SUPPORT = (*_FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)
_MEMBERS = (*_SUPPORT, ast.Expr)
_Kinds: TypeAlias = tuple[type[ast.AST], ...]


class Block(NamedTuple):
    """A piece of code of an answer."""

    code: str
    """It ends in LF; an indented method without a class has a class named WRAPPER around it."""
    span: Span
    """Where it stands in the reply, with its fences; empty if that is not known."""
    tree: ast.Module | None = None
    """None if it does not parse."""
    reason: str = ""
    """The reason why it does not parse."""
    defines: bool = False
    """Whether it defines a goal function at its top level."""
    is_closed: bool = False
    """Whether it stands between two fences."""
    above: str = ""
    """The line of prose above its fence."""
    number: int = 1
    """Its place among the blocks, from 1."""

    @property
    def is_support(self) -> bool:
        """Whether it holds nothing but imports, definitions and constants."""
        if self.tree is None:
            return False
        return all(isinstance(node, _SUPPORT) or _is_text(node) for node in self.tree.body)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def read_blocks(
    answer: str, goals: Collection[str], defines: Callable[[ast.Module], bool], is_cut: bool = False
) -> list[Block]:
    """Return the blocks of an answer in order, at least one of which defines a goal function.

    Args:
        goals: names of the goal functions.
        defines: tells whether code defines a goal function at its top level.
        is_cut: whether the reply was cut off: only what stands before the end of its last closed
            block counts.

    Raises:
        MalformedAnswerError: none does, or a cut reply ends in thoughts or behind the beginning of
            a goal function.
    """
    text = re.sub(r"\r\n?", "\n", answer.removeprefix("\ufeff"))
    mention = _mention(goals)
    which = repr(min(goals)) if len(goals) == 1 else "any of the masked functions"
    if not mention.search(text):
        raise MalformedAnswerError(f"no definition of {which} in the answer")
    blocks, reply = _read_reply(text, _Reader(mention, defines), is_cut)
    if any(block.defines for block in blocks):
        return blocks
    where = "at the top level" if mention.search(reply) else "outside of its thoughts"
    missing = f"no definition of {which} {where} in the answer"
    raise MalformedAnswerError(_syntax_problem(blocks, mention) or missing)


def _read_reply(text: str, reader: "_Reader", is_cut: bool) -> tuple[list[Block], str]:
    """Return the blocks of a reply, and the reply without its thoughts."""
    blocks = reader.read(text)
    code = [block.span for block in blocks if block.tree]
    ends_with_code = not is_cut and _ends_with_code(text, blocks)
    reply = without_thoughts(text, reader.mention, code, ends_with_code=ends_with_code)
    if reply != text:
        blocks = reader.read(reply)
    if is_cut:
        blocks = _before_cut(blocks, reply, reader.mention)
    return blocks, reply


def _ends_with_code(text: str, blocks: Sequence[Block]) -> bool:
    """Return whether a reply ends with code that stands between two fences or without any."""
    code = [block for block in blocks if block.tree]
    if not code or text.rstrip().endswith(">"):
        return False
    start, end = code[-1].span
    is_open = _FENCE_START.match(text, start) and not code[-1].is_closed
    return not is_open and not text[end:].strip()


def _syntax_problem(blocks: Sequence[Block], mention: re.Pattern[str]) -> str:
    """Return why the last block with a goal function does not parse; empty if there is none."""
    for block in reversed(blocks):
        if block.reason and mention.search(block.code):
            return block.reason
    return ""


def _mention(goals: Collection[str]) -> re.Pattern[str]:
    """Return the pattern of the first line of a goal function, which may stand behind a mark."""
    names = "|".join(sorted({goal.rpartition(".")[2] for goal in goals}))
    return re.compile(
        rf"(?:^|[>\]\u25b7\u3011]|final)[ \t\f]*(?:async[ \t]+)?def[ \t]+(?:{names})\b",
        re.MULTILINE,
    )


def _before_cut(blocks: list[Block], reply: str, mention: re.Pattern[str]) -> list[Block]:
    end = max((block.span[1] for block in blocks if block.is_closed), default=0)
    if not end or mention.search(reply, end):
        raise MalformedAnswerError("the reply was cut off before the answer ended")
    return [block for block in blocks if block.span[1] <= end]


def join_blocks(blocks: Sequence[Block], chosen: Collection[int]) -> tuple[dict[int, str], str]:
    """Join the chosen blocks with the support before each.

    Returns:
        Number → code of the chosen blocks, and a note on the number of the others.
    """
    codes: dict[int, str] = {}
    support: list[str] = []
    left_out = 0
    for block in blocks:
        if block.number in chosen:
            codes[block.number] = "\n".join([*support, block.code])
            support = []
        elif block.is_support and not block.defines and block.number < max(chosen):
            support.append(block.code)
        else:
            left_out += 1
    return codes, f"left out: {plural(left_out, 'other block')} of code" if left_out else ""


class _Lines:
    """A reply by lines."""

    def __init__(self, text: str) -> None:
        self.lines = split_lines(text)
        self.starts = [0, *itertools.accumulate(map(len, self.lines))]
        """Where each line starts; one more for the end."""

    def text(self, first: int, end: int | None = None) -> str:
        """Return the text from a line up to another one."""
        return "".join(self.lines[first:end])

    def span(self, first: int, end: int) -> Span:
        """Return the place of this text in the reply."""
        return self.starts[first], self.starts[end]


@dataclass(frozen=True)
class _Reader:
    """Reads the code of replies."""

    mention: re.Pattern[str]
    """Matches the first line of a goal function."""
    defines: Callable[[ast.Module], bool]

    def read(self, text: str) -> list[Block]:
        """Read fenced blocks as CommonMark does, and goal functions that stand between them."""
        whole = self._block(text, (0, len(text)))
        if whole.tree:
            return [whole]
        blocks = self._read_fences(_Lines(text))
        return [block._replace(number=number) for number, block in enumerate(blocks, start=1)]

    def _read_fences(self, reply: _Lines) -> list[Block]:
        blocks: list[Block] = []
        end = 0  # the line behind the last block
        for number, line in enumerate(reply.lines):
            fence = _FENCE.match(without_tokens(line)) if number >= end else None
            if fence:
                prose = reply.text(end, number)
                blocks += self._prose(prose, reply.starts[end])
                block, end = self._fenced(reply, number, fence)
                blocks += self._unless_open(block, reply, number, prose)
        return blocks + self._prose(reply.text(end), reply.starts[end])

    def _unless_open(self, block: Block, reply: _Lines, fence: int, prose: str) -> list[Block]:
        """Return a fenced block, or the blocks behind a fence that opens none.

        Args:
            fence: the line of the fence.
            prose: the text between the block and the one before.
        """
        if block.tree is None and not block.is_closed:
            return self._prose(reply.text(fence + 1), reply.starts[fence + 1]) or [block]
        above = without_tokens(prose).rstrip().rpartition("\n")[2].strip()
        return [block._replace(above=above)]

    def _fenced(self, reply: _Lines, first: int, fence: re.Match[str]) -> tuple[Block, int]:
        """Read the block that a fence opens; return it and the line behind it.

        It ends at the first closing fence before which it parses, as others may be in strings, or
        else at the first, or with the reply.
        """
        fences = (n for n in range(first + 1, len(reply.lines)) if _closes(fence, reply.lines[n]))
        closed = []
        for end in itertools.islice(fences, _TRIES):
            text = _dedented(reply.lines[first + 1 : end], len(fence[1]))
            block = self._block(text, reply.span(first, end + 1))
            closed.append((block._replace(is_closed=True), end + 1))
            if block.tree:
                return closed[-1]
        end = len(reply.lines)
        text = _dedented(reply.lines[first + 1 :], len(fence[1]))
        block = self._block(text, reply.span(first, end))
        return closed[0] if closed and block.tree is None else (block, end)

    def _block(self, text: str, span: Span) -> Block:
        """Read a block, if need be without the marks of chat templates."""
        reason = ""
        for version in dict.fromkeys([text, without_tokens(text)]):
            try:
                code, tree = _parse(version)
            except SourceError as error:
                reason = str(error)
            else:
                return Block(code, span, tree, defines=self.defines(tree))
        return Block(text, span, reason=reason)

    def _prose(self, text: str, start: int) -> list[Block]:
        """Read the goal functions of a text without fences, which stands at `start` in the reply.

        It is code, or it has pieces of code, each of which starts at some line.
        """
        if not self.mention.search(text):
            return []
        whole = self._block(text, (start, start + len(text)))
        if whole.tree:
            return [whole]
        clean = without_tokens(text)
        blocks = []
        for code, tree, first, end in _pieces(clean, self.mention):
            if self.defines(tree):
                span = (start + first, start + end) if clean == text else (start, start)
                blocks.append(Block(code, span, tree, defines=True))
        return blocks or [whole]


def _dedented(lines: Sequence[str], width: int) -> str:
    """Return the text of a block without the indentation of its fence, as in CommonMark."""
    return "".join(re.sub(rf"^[ \t]{{0,{width}}}", "", line) for line in lines)


def _closes(fence: re.Match[str], line: str) -> bool:
    line = without_tokens(line)
    mark = _FENCE.match(line)
    if not mark or line[mark.end() :].strip():
        return False
    return mark[2].startswith(fence[2]) and len(mark[1]) <= len(fence[1]) + 3


def without_tokens(text: str) -> str:
    """Remove the marks of chat templates at the starts and ends of lines."""
    return _TOKENS.sub(lambda run: "" if run["start"] or run["end"] is not None else run[0], text)


# --- code that may be indented, or followed by prose ----------------------------------------------


def _parse(text: str) -> tuple[str, ast.Module]:
    """Parse a text, if need be with a class put around an indented method."""
    code = text.strip("\n").rstrip() + "\n"
    try:
        return code, parse(code)
    except SourceError as error:
        problem = error
    lines = split_lines(code)
    line = problem.line
    if line is None or not indentation([*lines, ""], min(line, len(lines) + 1)):
        raise problem
    for variant, kinds in _wrapped(code, lines, line):
        try:
            tree = parse(variant)
        except SourceError as error:
            problem = _further(problem, error)
            continue
        if _holds_only(tree, kinds):
            return variant, tree
    raise problem


def _further(problem: SourceError, wrapped: SourceError) -> SourceError:
    """Return the problem of code, or with a class around it if the parser then came further."""
    line = (wrapped.line or 0) - 1  # without the line of the class
    if line <= (problem.line or 0):
        return problem
    return SourceError(str(wrapped).replace(f"line {wrapped.line}", f"line {line}", 1), line)


def _holds_only(tree: ast.Module, kinds: _Kinds) -> bool:
    """Return whether the class around a method holds only these kinds of statements.

    Others mean that it is not a class but a function with wrong indentation.
    """
    for node in wrappers(tree):
        if not all(isinstance(part, kinds) for part in node.body + node.decorator_list):
            return False
    return True


def _wrapped(code: str, lines: list[str], line: int) -> Iterator[tuple[str, _Kinds]]:
    """Yield code with a class around what is indented, and the kinds of statements in the class."""
    wrapper = f"class {WRAPPER}:\n"
    if re.match(r"@|async\b|def\b", lines[0]):
        # The answer was stripped: its first line lost the indentation of the others.
        yield wrapper + indentation(lines, line) + code, _FUNCTIONS
    yield "".join([*lines[: line - 1], wrapper, *lines[line - 1 :]]), _MEMBERS


def _pieces(text: str, mention: re.Pattern[str]) -> Iterator[tuple[str, ast.Module, int, int]]:
    """Yield pieces of prose that parse, with their starts and ends.

    None starts behind the last mention of a goal function.
    """
    ends = [match.end() for match in mention.finditer(text)]
    starts = [match.start() for match in _CODE_START.finditer(text, 0, max(ends, default=0))]
    last_starts = starts[-_TRIES:]
    tries = 0
    position = 0
    for start in starts:
        # A piece that ends before a start holds none of the code behind it.
        if start < position or (tries >= _TRIES and start not in last_starts):
            continue
        tries += 1
        code, tree, length = _longest_prefix(text[start:])
        position = start + length
        if tree:
            yield code, tree, start, position


def _longest_prefix(text: str) -> tuple[str, ast.Module | None, int]:
    """Return the longest prefix of whole statements that parses, and its length in the text.

    If none is found within some tries, return the length before which the text cannot be cut.
    """
    lines = split_lines(text)
    for _ in range(_TRIES):
        prefix = "".join(lines)
        try:
            code, tree = _parse(prefix)
            return code, tree, len(prefix)
        except SourceError as error:
            if error.line is None:
                break
            lines = _cut_above(lines, error.line)
    return "", None, sum(map(len, lines))


def _cut_above(lines: list[str], line: int) -> list[str]:
    """Return the lines of the statements above a line."""
    end = min(line, len(lines)) - 1
    # Never inside a statement: an indented or blank line is not a place to cut.
    while end > 0 and lines[end][0] in " \t\f\n":
        end -= 1
    return lines[:end]
