"""Make text of a candidate harmless to show: no markers, no control tokens, nothing invisible, no remarks.

What is shown between markers cannot hold a line that ends them: their code depends on the text itself, and whatever
looks like one gets a backslash after its first character.
"""

import ast
import bisect
import functools
import hashlib
import io
import itertools
import re
import tokenize
from collections.abc import Collection, Iterator
from typing import NamedTuple

from ...source import SourceError, parse, split_lines

#: What our markers look like, and the control tokens of chat formats, which some servers honour wherever they stand.
_LOOKALIKE = re.compile(
    r"""[=＝]{3,}(?=[ \t]*(?:BEGIN|END))
    | <\| | \|> | <｜ | ｜>
    | <(?=/?(?:s|bos|eos|pad|start_of_turn|end_of_turn|think|tool_call|im_start|im_end)>)
    | <<(?=/?SYS>>)
    | \[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])""",
    re.IGNORECASE | re.VERBOSE,
)


def enclose(name: str, text: str, code: str = "") -> str:
    """`text`, made harmless, between a line that begins and a line that ends it.

    Args:
        name: what it is, in capitals.
        code: for text that nobody vouches for: what `boundary` returned.
    """
    label = f"{name} {code}".rstrip()
    return f"===== BEGIN {label} =====\n{harmless(text)}\n===== END {label} ====="


def boundary(*texts: str) -> str:
    """A code for the markers around `texts`: equal ones have an equal code, and no text can hold its own."""
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def harmless(text: str) -> str:
    """`text` with look-alikes of markers and control tokens broken, and invisible characters shown as escapes."""
    text = re.sub(r"\r\n?", "\n", text)
    text = "".join(char if char.isprintable() or char in "\n\t" else _escape(char) for char in text)
    return _LOOKALIKE.sub(lambda match: f"{match[0][0]}\\{match[0][1:]}", text)


def code_only(source: str, known: Collection[str] = ()) -> str:
    """Python source without the remarks in it: comments go, free-standing strings become `...`.

    Neither changes what a function returns, and both are where a candidate would talk to its judge. Source that cannot
    be taken apart is returned as it is.

    Args:
        source: parses, and its lines end in LF.
        known: remarks that may stay, as `remarks` returns them.
    """
    try:
        found = sorted(_remarks(source))
    except (SourceError, SyntaxError, tokenize.TokenError):
        return source
    pieces, done = [], 0
    for remark in found:
        if remark.text in known or remark.start < done:
            continue
        before = source[done : remark.start]
        if not remark.is_comment:
            pieces += [before, "..."]
            done = remark.end
            continue
        before = before.rstrip(" \t\f")
        alone = before.endswith("\n") or (not before and (done == 0 or source[done - 1] == "\n"))
        pieces.append(before)
        done = min(remark.end + 1, len(source)) if alone else remark.end  # a line of its own goes as a whole
    result = "".join([*pieces, source[done:]])
    try:
        parse(result)
    except SourceError:
        return source
    return result


def remarks(source: str) -> frozenset[str]:
    """The comments and free-standing strings of source that is trusted."""
    try:
        return frozenset(remark.text for remark in _remarks(source))
    except (SourceError, SyntaxError, tokenize.TokenError):
        return frozenset()


class _Remark(NamedTuple):
    start: int
    end: int
    is_comment: bool
    text: str
    """Without regard to white space: an answer may be indented otherwise."""


def _remarks(source: str) -> Iterator[_Remark]:
    lines = split_lines(source)
    starts = [0, *itertools.accumulate(map(len, lines))]

    @functools.cache
    def bytes_before(line: int) -> list[int]:
        """Of each character of a line that is not ASCII: how many bytes of UTF-8 stand before it."""
        return [0, *itertools.accumulate(len(char.encode()) for char in lines[line - 1])]

    def place(line: int, column: int) -> int:
        """The character at a position as `ast` counts; a line may hold thousands of them."""
        wide = not lines[line - 1].isascii()
        return starts[line - 1] + (bisect.bisect_left(bytes_before(line), column) if wide else column)

    for node in ast.walk(parse(source)):
        if isinstance(node, ast.Expr) and _is_string(node.value):
            value = node.value
            start = place(value.lineno, value.col_offset)
            end = place(value.end_lineno or 0, value.end_col_offset or 0)
            if end - start >= len("..."):  # an empty string says nothing, and no file grows
                yield _Remark(start, end, False, " ".join(source[start:end].split()))
    for token in tokenize.generate_tokens(io.StringIO(source, newline="\n").readline):
        if token.type == tokenize.COMMENT:
            start = starts[token.start[0] - 1] + token.start[1]
            yield _Remark(start, start + len(token.string), True, " ".join(token.string.split()))


def _is_string(node: ast.expr) -> bool:
    if isinstance(node, ast.JoinedStr):
        return all(isinstance(part, ast.Constant) for part in node.values)
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


def _escape(char: str) -> str:
    return char.encode("ascii", "backslashreplace").decode("ascii") if ord(char) > 127 else f"\\x{ord(char):02x}"
