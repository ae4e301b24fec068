"""Find the Python code in a model's answer: between fences or between prose, indented or not.

One rule holds for all answers: of the blocks that parse, the last one that defines a function at its top level is the
answer for this function. Blocks of imports, definitions and constants before it belong to it; others are left out.
"""

import ast
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple, get_args

from lmrbench_data.base.source import FunctionNode, MalformedAnswerError, SourceError, indentation, parse, split_lines
from lmrbench_data.base.splice import WRAPPER, wrappers
from lmrbench_data.base.text import join_names

_FENCE = re.compile(r"([ \t]*)(`{3,}(?=[^`]*$)|~{3,})")
#: Marks of chat templates, such as <|im_end|>, which servers should have removed.
_TOKEN = r"(?:<[|\uff5c][\w\u2581./:-]{1,50}[|\uff5c]>|</?s>|<(?:start|end)_of_turn>|<eos>|\[/?INST\])"
_TOKENS = re.compile(rf"(?P<start>^[ \t]*{_TOKEN}++)|{_TOKEN}++(?P<end>[ \t]*+$)?", re.MULTILINE)
#: Names of the marks around the thoughts of a reasoning model.
THOUGHTS = "(?:seed:)?(?:think(?:ing)?|thoughts?|reasoning)"
#: Thoughts begin on a line of their own; they may have begun before the text.
_THOUGHTS_START = re.compile(rf"^{_TOKEN}*[ \t]*[<\[](?P<name>{THOUGHTS})[>\]]", re.MULTILINE | re.IGNORECASE)
_THOUGHTS_CLOSE = re.compile(rf"[<\[]/(?P<name>{THOUGHTS})[>\]]", re.IGNORECASE)
_THOUGHTS_END = re.compile(
    rf"^[ \t]*[<\[]/(?:{THOUGHTS})[>\]]|[<\[]/(?:{THOUGHTS})[>\]][ \t]*$", re.MULTILINE | re.IGNORECASE
)
_CODE_START = re.compile(
    r"^[ \t]*(?:@[ \t]*\w|(?:async[ \t]+)?def[ \t]+\w|class[ \t]+\w+[ \t]*[:(\[]"
    r"|import[ \t]+[\w.]+[ \t]*(?:$|[,;#\\]|as\b)|from[ \t]+[\w.]+[ \t]+import\b)",
    re.MULTILINE,
)
#: Each costs up to the parse of a whole reply; replies of looping models have thousands of places to try.
_TRIES = 8
#: Statements of a block that goes with the answer behind it.
_SUPPORT = (*get_args(FunctionNode), ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)
_MEMBERS = (*_SUPPORT, ast.Expr)


class Block(NamedTuple):
    """A piece of code of an answer."""

    number: int
    """Its place among the fenced blocks, from 1."""
    above: str
    """The line of prose above its fence."""
    code: str
    """It ends in LF; an indented method without a class has a class named WRAPPER around it."""
    tree: ast.Module | None
    """None if it does not parse."""
    defines: bool
    """Whether it defines a goal function at its top level."""
    reason: str = ""
    """The reason why it does not parse."""

    @property
    def is_support(self) -> bool:
        """Whether it holds nothing but imports, definitions and constants."""
        return self.tree is not None and all(
            isinstance(node, _SUPPORT) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
            for node in self.tree.body
        )


def read_blocks(answer: str, goals: Collection[str], defines: Callable[[ast.Module], bool]) -> list[Block]:
    """Return the blocks of an answer in order, at least one of which defines a goal function.

    Args:
        goals: names of the goal functions.
        defines: tells whether code defines a goal function at its top level.

    Raises:
        MalformedAnswerError: none does.
    """
    text, mention = re.sub(r"\r\n?", "\n", answer.removeprefix("\ufeff")), _mention(goals)
    which = repr(min(goals)) if len(goals) == 1 else "any of the masked functions"
    if not mention.search(text):
        raise MalformedAnswerError(f"no definition of {which} in the answer")
    # Reasoning may hold drafts; the answer follows it.
    answer = _THOUGHTS_END.split(_without_thoughts(text))[-1]
    answer = answer if mention.search(answer) else text
    # The first of three places that has the function: the whole answer, fenced blocks, code between prose.
    whole = _read_block(defines, 1, "", text, answer, _without_tokens(answer))
    blocks = [whole] if whole.tree else _read_fenced(answer, defines)
    if not any(mention.search(block.code) for block in blocks):
        blocks = _read_prose(_without_tokens(answer), mention, defines) or blocks
    if any(block.defines for block in blocks):
        return blocks
    faulty = [whole, *(block for block in blocks if mention.search(block.code))]
    reasons = [block.reason for block in faulty if block.reason]
    raise MalformedAnswerError(reasons[-1] if reasons else f"no top-level definition of {which} in the answer")


def before_cut(answer: str, goals: Collection[str]) -> str:
    """Return a reply that was cut at the token limit up to the end of its last closed block.

    Raises:
        MalformedAnswerError: there is none, the cut is in thoughts, or another goal function begins behind the block.
    """
    text = re.sub(r"\r\n?", "\n", answer)
    end = max((end for *_, end in _fenced_blocks(text)), default=0)
    if not end or _mention(goals).search(text, end) or _THOUGHTS_START.search(_without_thoughts(text)):
        raise MalformedAnswerError("the reply was cut off before the answer ended")
    return text[:end]


def _mention(goals: Collection[str]) -> re.Pattern[str]:
    """Return the pattern of the first line of a goal function."""
    names = "|".join(sorted({goal.rpartition(".")[2] for goal in goals}))
    return re.compile(rf"^{_TOKEN}*[ \t\f]*(?:async[ \t]+)?def[ \t]+(?:{names})\b", re.MULTILINE)


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


def _fenced_blocks(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield fenced blocks as CommonMark reads them: the line of prose above, the content, and where the block ends.

    An unclosed block is the last, and ends at 0.
    """
    fence, indent, block, above, end = "", 0, list[str](), "", 0
    for raw in split_lines(text):
        end += len(raw)
        mark = _FENCE.match(line := _without_tokens(raw))
        if not fence:
            if mark:
                indent, fence, block = len(mark[1]), mark[2], []
            elif line.strip():
                above = line.strip()
        elif mark and mark[2].startswith(fence) and not line[mark.end() :].strip() and len(mark[1]) <= indent + 3:
            yield above, "".join(block), end
            fence, above = "", ""
        else:
            block.append(raw)
    if fence:
        yield above, "".join(block), 0


def _read_fenced(text: str, defines: Callable[[ast.Module], bool]) -> list[Block]:
    """Read the fenced blocks of an answer."""
    pieces = enumerate(_fenced_blocks(text), start=1)
    return [_read_block(defines, n, above, piece, _without_tokens(piece)) for n, (above, piece, _) in pieces]


def _read_block(defines: Callable[[ast.Module], bool], number: int, above: str, *versions: str) -> Block:
    """Read the first version of a block that parses."""
    reason = ""
    for version in dict.fromkeys(versions):
        try:
            code, tree = _parse(version)
        except SourceError as error:
            reason = str(error)
        else:
            return Block(number, above, code, tree, defines(tree))
    return Block(number, above, versions[0], None, False, reason)


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
        if all(isinstance(item, kinds) for node in wrappers(tree) for item in (*node.body, *node.decorator_list)):
            return variant, tree
    raise reason


def _wrapped(code: str, lines: list[str], line: int) -> Iterator[tuple[str, tuple[type[ast.AST], ...]]]:
    """Yield code with a class around what is indented from a line on, and the kinds of statements in it."""
    wrapper = f"class {WRAPPER}:\n"
    if re.match(r"@|async\b|def\b", lines[0]):
        # The answer was stripped: its first line lost the indentation of the others.
        yield wrapper + indentation(lines, line) + code, get_args(FunctionNode)
    yield "".join([*lines[: line - 1], wrapper, *lines[line - 1 :]]), _MEMBERS


def _without_tokens(text: str) -> str:
    """Remove the marks of chat templates at the starts and ends of lines."""
    return _TOKENS.sub(lambda run: "" if run["start"] or run["end"] is not None else run[0], text)


def _without_thoughts(text: str) -> str:
    """Remove the blocks of thoughts that are closed."""
    last_close = {close["name"].lower(): close.start() for close in _THOUGHTS_CLOSE.finditer(text)}
    kept, position = "", 0
    for start in _THOUGHTS_START.finditer(text):
        name = start["name"].lower()
        if position <= start.start() and start.end() <= last_close.get(name, -1):
            closes = _THOUGHTS_CLOSE.finditer(text, start.end())
            kept += text[position : start.start()]
            position = next(close.end() for close in closes if close["name"].lower() == name)
    return kept + text[position:]


def _read_prose(text: str, mention: re.Pattern[str], defines: Callable[[ast.Module], bool]) -> list[Block]:
    """Read a reply without fences: its code starts at the first line from which a piece with the goal parses."""
    first = mention.search(text)
    end = first.end() if first else 0
    starts = [start.start() for start in _CODE_START.finditer(text, 0, end)]
    tries, position = 0, 0
    for number, start in enumerate(starts):
        # A piece that ends before the goal ends there for every start inside it.
        if start >= position and (tries < _TRIES or number >= len(starts) - _TRIES):
            tries += 1
            code, tree, length = _longest_prefix(text[start:])
            if tree and defines(tree):
                return [Block(1, "", code, tree, True)]
            position = start + length
    return []


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
