"""Find the Python code in a model's answer: between fences or between prose, indented or not.

One rule holds for all answers: of the blocks that parse, the last one that defines a function at its top level is the
answer for this function. Blocks of imports, definitions and constants before it belong to it; others are left out.
"""

import ast
import itertools
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple, get_args

from lmrbench_data.base.source import (
    FunctionNode,
    MalformedAnswerError,
    SourceError,
    indentation,
    parse,
    split_lines,
)
from lmrbench_data.base.splice import WRAPPER, wrappers
from lmrbench_data.base.text import join_names

from .thoughts import TOKEN, Span, without_thoughts

_FENCE = re.compile(r"([ \t]*)(`{3,}(?=[^`]*$)|~{3,})")
_TOKENS = re.compile(rf"(?P<start>^[ \t]*{TOKEN}++)|{TOKEN}++(?P<end>[ \t]*+$)?", re.MULTILINE)
_CODE_START = re.compile(
    r"^[ \t]*(?:@[ \t]*\w|(?:async[ \t]+)?def[ \t]+\w|class[ \t]+\w+[ \t]*[:(\[]"
    r"|import[ \t]+[\w.]+[ \t]*(?:$|[,;#\\]|as\b)|from[ \t]+[\w.]+[ \t]+import\b)",
    re.MULTILINE,
)
#: Each costs up to the parse of a whole reply; replies of looping models have thousands of places to try.
_TRIES = 8
#: Statements of a block that goes with the answer behind it.
_SUPPORT = (
    *get_args(FunctionNode),
    ast.ClassDef,
    ast.Import,
    ast.ImportFrom,
    ast.Assign,
    ast.AnnAssign,
)
_MEMBERS = (*_SUPPORT, ast.Expr)


class Block(NamedTuple):
    """A piece of code of an answer."""

    number: int
    """Its place among the blocks, from 1."""
    above: str
    """The line of prose above its fence."""
    code: str
    """It ends in LF; an indented method without a class has a class named WRAPPER around it."""
    tree: ast.Module | None
    """None if it does not parse."""
    defines: bool
    """Whether it defines a goal function at its top level."""
    span: Span
    """Where it stands in the reply, with its fences; empty if that is not known."""
    is_closed: bool = False
    """Whether it stands between two fences."""
    reason: str = ""
    """The reason why it does not parse."""

    @property
    def is_support(self) -> bool:
        """Whether it holds nothing but imports, definitions and constants."""
        return self.tree is not None and all(
            isinstance(node, _SUPPORT)
            or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
            for node in self.tree.body
        )


def read_blocks(
    answer: str, goals: Collection[str], defines: Callable[[ast.Module], bool], is_cut: bool = False
) -> list[Block]:
    """Return the blocks of an answer in order, at least one of which defines a goal function.

    Args:
        goals: names of the goal functions.
        defines: tells whether code defines a goal function at its top level.
        is_cut: whether the reply was cut off: only what stands before the end of its last closed block counts.

    Raises:
        MalformedAnswerError: none does, or a cut reply ends in thoughts or behind the beginning of a goal function.
    """
    text, mention = re.sub(r"\r\n?", "\n", answer.removeprefix("\ufeff")), _mention(goals)
    which = repr(min(goals)) if len(goals) == 1 else "any of the masked functions"
    if not mention.search(text):
        raise MalformedAnswerError(f"no definition of {which} in the answer")
    blocks = _read_reply(text, mention, defines)
    reply = without_thoughts(
        text, mention, [block.span for block in blocks if block.tree], is_cut=is_cut
    )
    if reply != text:
        blocks = _read_reply(reply, mention, defines)
    if is_cut:
        end = max((block.span[1] for block in blocks if block.is_closed), default=0)
        if not end or mention.search(reply, end):
            raise MalformedAnswerError("the reply was cut off before the answer ended")
        blocks = [block for block in blocks if block.span[1] <= end]
    if any(block.defines for block in blocks):
        return blocks
    reasons = [block.reason for block in blocks if block.reason and mention.search(block.code)]
    where = "at the top level" if mention.search(reply) else "outside of its thoughts"
    raise MalformedAnswerError(
        reasons[-1] if reasons else f"no definition of {which} {where} in the answer"
    )


def _mention(goals: Collection[str]) -> re.Pattern[str]:
    """Return the pattern of the first line of a goal function, which may stand behind a mark."""
    names = "|".join(sorted({goal.rpartition(".")[2] for goal in goals}))
    return re.compile(
        rf"(?:^|[>\]\u25b7\u3011]|final)[ \t\f]*(?:async[ \t]+)?def[ \t]+(?:{names})\b",
        re.MULTILINE,
    )


def join_blocks(blocks: Sequence[Block], chosen: Collection[int]) -> tuple[dict[int, str], str]:
    """Return number → code of the chosen blocks with the support before each, and a note on the blocks left out."""
    codes, waiting, left_out = {}, list[Block](), list[str]()
    for block in blocks:
        if block.number in chosen:
            codes[block.number] = "\n".join(piece.code for piece in (*waiting, block))
            waiting = []
        elif block.number > max(chosen):
            left_out.append(f"{block.number} (follows the answer)")
        elif block.tree is None:
            left_out.append(f"{block.number} (does not parse)")
        elif block.defines:
            left_out.append(f"{block.number} (an earlier version)")
        elif block.is_support:
            waiting.append(block)
        else:
            left_out.append(f"{block.number} (not only imports, definitions and constants)")
    return codes, f"blocks left out of the answer: {join_names(left_out, 10)}" if left_out else ""


def _read_reply(
    text: str, mention: re.Pattern[str], defines: Callable[[ast.Module], bool]
) -> list[Block]:
    """Read all code of a reply: fenced blocks as CommonMark reads them, and goal functions that stand between them."""
    whole = _read_block(defines, (0, len(text)), text)
    if whole.tree:
        return [whole]
    lines = split_lines(text)
    starts = [0, *itertools.accumulate(map(len, lines))]
    blocks, line, gap = list[Block](), 0, 0
    while line < len(lines):
        fence = _FENCE.match(without_tokens(lines[line]))
        if not fence:
            line += 1
            continue
        prose = text[starts[gap] : starts[line]]
        blocks += _read_prose(prose, starts[gap], mention, defines)
        above = without_tokens(prose).rstrip().rpartition("\n")[2].strip()
        block, gap = _read_fenced(lines, starts, line, fence, defines)
        if block.tree is None and not block.is_closed:
            blocks += _read_prose(text[starts[line + 1] :], starts[line + 1], mention, defines) or [
                block
            ]
        else:
            blocks.append(block._replace(above=above))
        line = gap
    blocks += _read_prose(text[starts[gap] :], starts[gap], mention, defines)
    return [block._replace(number=number) for number, block in enumerate(blocks, start=1)]


def _read_fenced(
    lines: list[str],
    starts: list[int],
    first: int,
    fence: re.Match[str],
    defines: Callable[[ast.Module], bool],
) -> tuple[Block, int]:
    """Read the block that a fence opens, up to its first closing fence outside of strings; return the line behind it.

    A block that is not closed ends with the reply.
    """
    candidates = list[tuple[Block, int]]()
    for line in range(first + 1, len(lines)):
        if _closes(fence, lines[line]):
            span = starts[first], starts[line + 1]
            block = _read_block(defines, span, "".join(lines[first + 1 : line]))._replace(
                is_closed=True
            )
            candidates.append((block, line + 1))
            if (
                block.tree
                or "unterminated triple-quoted" not in block.reason
                or len(candidates) == _TRIES
            ):
                break
    if not candidates:
        span = starts[first], starts[-1]
        return _read_block(defines, span, "".join(lines[first + 1 :])), len(lines)
    return candidates[-1] if candidates[-1][0].tree else candidates[0]


def _closes(fence: re.Match[str], line: str) -> bool:
    """Return whether a line is a closing fence of a block."""
    line = without_tokens(line)
    mark = _FENCE.match(line)
    if not mark or line[mark.end() :].strip():
        return False
    return mark[2].startswith(fence[2]) and len(mark[1]) <= len(fence[1]) + 3


def _read_block(defines: Callable[[ast.Module], bool], span: Span, text: str) -> Block:
    """Read a block, if need be without the marks of chat templates."""
    reason = ""
    for version in dict.fromkeys([text, without_tokens(text)]):
        try:
            code, tree = _parse(version)
        except SourceError as error:
            reason = str(error)
        else:
            return Block(1, "", code, tree, defines(tree), span)
    return Block(1, "", text, None, False, span, reason=reason)


def _parse(text: str) -> tuple[str, ast.Module]:
    """Parse a text, if need be with a class put around an indented method."""
    code = text.strip("\n").rstrip() + "\n"
    try:
        return code, parse(code)
    except SourceError as error:
        reason = error
    lines, line = split_lines(code), reason.line
    if line is None or not indentation([*lines, ""], min(line, len(lines) + 1)):
        raise reason
    for variant, kinds in _wrapped(code, lines, line):
        try:
            tree = parse(variant)
        except SourceError as error:
            if error.line and error.line - 1 > line:  # its parser came further
                line = error.line - 1
                reason = SourceError(str(error).replace(f"line {error.line}", f"line {line}", 1))
                reason.line = line
            continue
        # Other contents mean that it is not a class but a function with wrong indentation.
        if all(
            isinstance(item, kinds)
            for node in wrappers(tree)
            for item in (*node.body, *node.decorator_list)
        ):
            return variant, tree
    raise reason


def _wrapped(
    code: str, lines: list[str], line: int
) -> Iterator[tuple[str, tuple[type[ast.AST], ...]]]:
    """Yield code with a class around what is indented from a line on, and the kinds of statements in it."""
    wrapper = f"class {WRAPPER}:\n"
    if re.match(r"@|async\b|def\b", lines[0]):
        # The answer was stripped: its first line lost the indentation of the others.
        yield wrapper + indentation(lines, line) + code, get_args(FunctionNode)
    yield "".join([*lines[: line - 1], wrapper, *lines[line - 1 :]]), _MEMBERS


def without_tokens(text: str) -> str:
    """Remove the marks of chat templates at the starts and ends of lines."""
    return _TOKENS.sub(lambda run: "" if run["start"] or run["end"] is not None else run[0], text)


def _read_prose(
    text: str, start: int, mention: re.Pattern[str], defines: Callable[[ast.Module], bool]
) -> list[Block]:
    """Read the goal functions of a text without fences, which stands at `start` in the reply.

    It is code, or it has pieces of code that start at a line from which a piece with a goal function parses.
    """
    if not mention.search(text):
        return []
    whole = _read_block(defines, (start, start + len(text)), text)
    if whole.tree:
        return [whole]
    clean = without_tokens(text)
    pieces = [
        Block(
            1,
            "",
            code,
            tree,
            True,
            (start + first, start + end) if clean == text else (start, start),
        )
        for code, tree, first, end in _pieces(clean, mention)
        if defines(tree)
    ]
    return pieces or [whole]


def _pieces(text: str, mention: re.Pattern[str]) -> Iterator[tuple[str, ast.Module, int, int]]:
    """Yield pieces of prose that parse, with their starts and ends, up to the last that mentions a goal function."""
    end = max((match.end() for match in mention.finditer(text)), default=0)
    starts = [match.start() for match in _CODE_START.finditer(text, 0, end)]
    tries, position = 0, 0
    for number, start in enumerate(starts):
        # A piece that ends before a start holds none of the code behind it.
        if start >= position and (tries < _TRIES or number >= len(starts) - _TRIES):
            tries += 1
            code, tree, length = _longest_prefix(text[start:])
            position = start + length
            if tree:
                yield code, tree, start, position


def _longest_prefix(text: str) -> tuple[str, ast.Module | None, int]:
    """Return the longest prefix of whole top-level statements that parses, and its length in the text.

    If none is found within some tries, return the length before which the text cannot be cut.
    """
    lines = split_lines(text)
    for _ in range(_TRIES):
        try:
            return *_parse("".join(lines)), sum(map(len, lines))
        except SourceError as error:
            if error.line is None:
                break
            end = min(error.line, len(lines)) - 1
        # Never inside a statement: an indented or blank line is not a place to cut.
        while end > 0 and lines[end][0] in " \t\f\n":
            end -= 1
        lines = lines[:end]
    return "", None, sum(map(len, lines))
