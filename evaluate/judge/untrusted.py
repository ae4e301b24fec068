"""Make text of a candidate harmless to show: no markers, no control sequences, nothing invisible, no remarks.

What is shown between markers cannot hold a line that ends them: their code depends on the text itself, and whatever
looks like one gets a backslash. Code is shown without remarks, which is proved on the result, or not at all.
"""

import ast
import bisect
import functools
import hashlib
import io
import itertools
import re
import tokenize
import unicodedata
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from ...errors import LMRBenchError
from ...source import SourceError, parse, split_lines
from .prose import Prose, same_tree, take_out

#: Where a backslash goes, in text brought to its plain form: into markers like ours, and into whatever has the form of
#: a control sequence of a chat format, known or not, which some servers honour wherever it stands. All patterns are of
#: width zero, so that sequences may overlap, and bounded, so that no text takes long.
_BREAKS = re.compile(
    r"""(?<==)(?===[=\s]{0,40}(?i:BEGIN|END))                  # our own markers
    | (?<=<)(?=\|) | (?<=\|)(?=>)                              # <|im_start|>, <|channel|>, full width or not
    | (?<=<)(?=/\s{0,9}[^\W\d])                                # </think>, </tool_response>
    | (?<=<)(?=[^\W\d][\w.:▁-]{0,80}\s{0,9}/?>)                # <think>, <start_of_turn>, <s>
    | (?<=<)(?=[^\W\d][\w.:▁-]{0,80}\s{1,9}\w{1,80}=[^<>]{0,200}>)  # <tool_call name="x">
    | (?<=<)(?=</?\w{1,80}>>)                                  # <<SYS>>
    | (?<=\[)(?=/[^\W\d])                                      # [/INST], [/THINK]
    | (?<=\[)(?=(?:INST|THINK|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_\w{1,40}|[gs]MASK|UNUSED_TOKEN_\d{1,9})\])
    | (?<=\])(?=~[!b])                                         # ]~b]system""",
    re.VERBOSE,
)
#: Where a turn would begin: `Human:` at the start of a line, also of one inside a string.
_TURN = re.compile(
    r"((?:^|\\n)[ \t>#*_\"']{0,99}[A-Z])"
    r"(?=(?i:uman|ser|ssistant|ystem|eveloper|ool|ot|odel|nstructions?|esponse|unction|I)[*_]{0,2}\s?:)",
    re.MULTILINE,
)
#: Characters that look like others but have no plain form of their own.
_LIKE = str.maketrans({**dict.fromkeys("‹〈⟨❬˂ᐸ", "<"), **dict.fromkeys("›〉⟩❭˃ᐳ", ">"), **dict.fromkeys("¦│∣❘ǀ", "|")})


class NotPlain(LMRBenchError):
    """Source that could not be freed of remarks; it must not be shown."""


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
    """`text` with look-alikes of markers and control sequences broken, and invisible characters shown as escapes."""
    text = re.sub(r"\r\n?", "\n", text)
    text = "".join(char if char.isprintable() or char in "\n\t" else _escape(char) for char in text)
    plain = text if text.isascii() else "".join(map(_plain, text)).translate(_LIKE)
    found = [match.start() for match in _BREAKS.finditer(plain)] + [match.end(1) for match in _TURN.finditer(plain)]
    places = [0, *sorted(set(found)), len(text)]
    return "\\".join(text[start:end] for start, end in itertools.pairwise(places))


def code_only(source: str, known: Collection[str] = ()) -> str:
    """Python source without the remarks in it: comments go, prose becomes `...` (see `prose`).

    Neither changes what a function returns, and both are where a candidate would talk to its judge. The rest of the
    text stays as it is where that can be; otherwise all of it is written anew from the syntax tree.

    Args:
        source: its lines end in LF.
        known: remarks that may stay, as `remarks` returns them.

    Raises:
        NotPlain: no text could be made of which it is proved that it says the same without remarks.
    """
    try:
        tree = parse(source)
        lines = _Lines(source)
        found = take_out(tree, lambda node: _words(lines.text(node)) in known)
    except (SourceError, RecursionError) as error:
        raise NotPlain(f"the code cannot be taken apart: {error}") from None
    writers: tuple[Callable[[], str], ...] = (
        lambda: _edited(source, lines, found, known),
        lambda: ast.unparse(ast.fix_missing_locations(tree)),
    )
    for write in writers:
        try:
            text = write()
            if same_tree(parse(text), tree) and all(_words(token.string) in known for token in _comments(text)):
                return text if text.endswith("\n") or not source.endswith("\n") else text + "\n"
        except (SourceError, SyntaxError, tokenize.TokenError, ValueError, RecursionError):
            continue
    raise NotPlain("the code cannot be shown without its remarks")


def remarks(source: str) -> frozenset[str]:
    """The comments and the prose of source that is trusted."""
    try:
        lines = _Lines(source)
        prose = {_words(lines.text(item.said)) for item in take_out(parse(source))}
        return frozenset(prose | {_words(token.string) for token in _comments(source)})
    except (SourceError, SyntaxError, tokenize.TokenError, RecursionError):
        return frozenset()


class _Edit(NamedTuple):
    start: int
    end: int
    text: str


def _edited(source: str, lines: "_Lines", found: Collection[Prose], known: Collection[str]) -> str:
    """The source with each remark cut out at its place."""
    edits = [_Edit(*lines.span(item.said), ast.unparse(ast.fix_missing_locations(item.left))) for item in found]
    for token in _comments(source):
        if _words(token.string) in known:
            continue
        line = lines.start(token.start[0])
        start = line + len(source[line : line + token.start[1]].rstrip(" \t\f"))
        end, alone = line + token.end[1], start == line
        edits.append(_Edit(start, min(end + 1, len(source)) if alone else end, ""))  # a line of its own goes as a whole
    pieces, done = [], 0
    for edit in sorted(edits):
        if edit.start >= done:  # not inside one that is gone
            pieces += [source[done : edit.start], edit.text]
            done = edit.end
    return "".join([*pieces, source[done:]])


def _comments(source: str) -> Iterator[tokenize.TokenInfo]:
    for token in tokenize.generate_tokens(io.StringIO(source, newline="\n").readline):
        if token.type == tokenize.ERRORTOKEN and not token.string.isspace():
            raise SyntaxError("the tokens of this source cannot be told apart")
        if token.type == tokenize.COMMENT:
            yield token


class _Lines:
    """Where the positions that `ast` gives are in a text; a line may hold thousands of them."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._lines = split_lines(source)
        self._starts = [0, *itertools.accumulate(map(len, self._lines))]
        self._bytes_before = functools.cache(self._count_bytes)

    def start(self, line: int) -> int:
        """The first character of a 1-based line."""
        return self._starts[line - 1]

    def span(self, node: ast.expr) -> tuple[int, int]:
        """First character of a node, and the one behind its last."""
        return self._place(node.lineno, node.col_offset), self._place(node.end_lineno or 0, node.end_col_offset or 0)

    def text(self, node: ast.expr) -> str:
        """The source of a node."""
        start, end = self.span(node)
        return self._source[start:end]

    def _place(self, line: int, column: int) -> int:
        wide = not self._lines[line - 1].isascii()
        return self.start(line) + (bisect.bisect_left(self._bytes_before(line), column) if wide else column)

    def _count_bytes(self, line: int) -> list[int]:
        """Of each character of a line: how many bytes of UTF-8 stand before it."""
        return [0, *itertools.accumulate(len(char.encode()) for char in self._lines[line - 1])]


def _words(remark: str) -> str:
    """A remark without regard to white space: an answer may be indented otherwise."""
    return " ".join(remark.split())


def _plain(char: str) -> str:
    """The character that one stands for in another form: full width, a letter of mathematics."""
    form = unicodedata.normalize("NFKC", char)
    return form if len(form) == 1 else char


def _escape(char: str) -> str:
    return char.encode("ascii", "backslashreplace").decode("ascii") if ord(char) > 127 else f"\\x{ord(char):02x}"
