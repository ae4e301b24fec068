"""Parse untrusted Python source and find functions by qualified name, with exact positions.

Edits use the positions of `ast`, so the rest of a file keeps every comment, space and line ending.
The source may come from a model: it is parsed, never executed or imported.
"""

import ast
import re
import threading
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from .errors import InputError

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_FILENAME = "<parsed, not run>"
# Warnings about literals concern the author of the source, not our users.
warnings.filterwarnings("ignore", module=re.escape(_FILENAME))
#: The declaration of a file's encoding (PEP 263), and a first line below which it may stand.
_COOKIE = re.compile(r"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.ASCII)
_NO_CODE = re.compile(r"[ \t\f]*(?:#|$)")
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
#: The statements around another one, outermost first.
_Parents: TypeAlias = tuple[ast.stmt, ...]

_PARSER = threading.Lock()


class SourceError(InputError):
    """Source cannot be parsed, or does not define a function exactly once."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line
        """1-based line of a syntax error, where there is one."""


class MalformedAnswerError(SourceError):
    """An answer cannot be applied; the message gives its author the reason."""


@dataclass(frozen=True)
class Target:
    """A function's place in a file: its node and the enclosing statements."""

    node: FunctionNode
    parents: _Parents


def first_line(node: ast.stmt) -> int:
    """1-based first line of a statement, decorators included."""
    decorators = node.decorator_list if isinstance(node, _DEFINITIONS) else []
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def python_text(data: bytes) -> str:
    """Decode a Python file, which must be UTF-8 to Python too: the parsed text is what runs.

    Raises:
        SourceError: the file is not UTF-8 or declares another encoding.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SourceError(
            f"not UTF-8: {error.reason} at byte {error.start}; only UTF-8 is read"
        ) from None
    check_encoding(text)
    return text


def check_encoding(source: str) -> None:
    """Refuse source that declares another encoding than UTF-8: `ast` ignores it, Python does not.

    Raises:
        SourceError: naming the line.
    """
    lines = re.split(r"\r\n?|\n", source.removeprefix("\ufeff"), maxsplit=2)[:2]
    for number, line in enumerate(lines, start=1):
        if cookie := _COOKIE.match(line):
            name = cookie[1].lower().replace("_", "-")
            if name not in ("utf8", "utf-8") and not name.startswith("utf-8-"):
                raise SourceError(
                    f"line {number} declares the encoding {cookie[1][:40]!r}; only UTF-8 is read"
                )
        if not _NO_CODE.match(line):
            return


def parse(source: str) -> ast.Module:
    """Parse source; that of a model only in a child (`limited_calls`).

    The parser's time is quadratic in some lengths.

    Raises:
        SourceError: not Python, or nested so deeply that the parser gives up.
    """
    try:
        # Python 3.11 shares the recursion depth among threads; concurrent parses fail with
        # "AST constructor recursion depth mismatch".
        with _PARSER:
            return ast.parse(source.removeprefix("\ufeff"), _FILENAME)
    except SyntaxError as error:
        place = f" in line {error.lineno}" if error.lineno else ""
        raise SourceError(f"syntax error{place}: {error.msg}", error.lineno) from None
    except UnicodeEncodeError as error:
        line = source.count("\n", 0, error.start) + 1
        message = "the code contains a lone surrogate: not valid Unicode"
        raise SourceError(message, line) from None
    except (ValueError, MemoryError, RecursionError) as error:
        raise SourceError(f"cannot be parsed: {type(error).__name__} {error}".rstrip()) from None


def find_function(source: str, qualified_name: str) -> Target:
    """Find the only definition of `qualified_name` (`f`, `Class.method`, `Outer.Inner.method`).

    The search includes `if`, `try`, `with`, `match` and loops, but neither the bodies of functions
    nor companions (`is_companion`).

    Raises:
        SourceError: it is missing or defined twice, or the source cannot be parsed.
    """
    try:
        targets = list(_targets(parse(source).body, qualified_name.split("."), ()))
    except RecursionError:  # thousands of nested `elif`
        raise SourceError("blocks are nested too deeply") from None
    if not targets:
        raise SourceError(f"no function {qualified_name!r} in it")
    if len(targets) > 1:
        lines = ", ".join(str(target.node.lineno) for target in targets)
        count = f"{len(targets)} definitions of {qualified_name!r} (lines {lines})"
        raise SourceError(f"{count}; expected exactly one")
    return targets[0]


def is_companion(node: FunctionNode) -> bool:
    """Return whether a definition stands beside another one: an overload, setter or deleter."""
    names = [getattr(item, "attr", getattr(item, "id", "")) for item in node.decorator_list]
    return "overload" in names or is_accessor(node)


def is_accessor(node: ast.stmt) -> bool:
    """Return whether a statement gives the property of its name a setter or a deleter."""
    return isinstance(node, FunctionNode) and any(
        isinstance(item, ast.Attribute)
        and item.attr in ("setter", "deleter")
        and getattr(item.value, "id", "") == node.name
        for item in node.decorator_list
    )


def _targets(body: list[ast.stmt], path: list[str], parents: _Parents) -> Iterator[Target]:
    """Yield the definitions of a function at a dotted path, but not its companions."""
    name, *rest = path
    for node in body:
        if isinstance(node, ast.ClassDef):
            if rest and node.name == name:
                yield from _targets(node.body, rest, (*parents, node))
        elif isinstance(node, FunctionNode):
            if not rest and node.name == name and not is_companion(node):
                yield Target(node, parents)
        else:
            for block in _blocks(node):
                yield from _targets(block, path, (*parents, node))


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the blocks of a compound statement, such as `if` and `try`."""
    for field in ("body", "orelse", "finalbody"):
        yield getattr(node, field, [])
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def split_lines(source: str) -> list[str]:
    """Split source into lines with their ends as Python's parser does: at LF, CRLF and CR alone."""
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", source)


def indentation(lines: list[str], line: int) -> str:
    """The white space at the start of a 1-based line, including form feeds."""
    text = lines[line - 1]
    return text[: len(text) - len(text.lstrip(" \t\f"))]


def _column(lines: list[str], line: int) -> int:
    """The start column of a 1-based line: tabs advance to multiples of 8, form feeds reset to 0."""
    return len(indentation(lines, line).rpartition("\f")[2].expandtabs())


def block_end(lines: list[str], node: ast.stmt) -> int:
    """The last 1-based line of a block, with comments below it that are indented deeper."""
    assert node.end_lineno is not None
    head = _column(lines, node.lineno)
    end = node.end_lineno
    for number in range(end + 1, len(lines) + 1):
        text = lines[number - 1].strip()
        if not text:
            continue
        if not text.startswith("#") or _column(lines, number) <= head:
            break
        end = number
    return end


def split_bom(source: str) -> tuple[str, str]:
    """Split source into its byte order mark, if any, and the rest."""
    return ("\ufeff", source[1:]) if source.startswith("\ufeff") else ("", source)


def newline_of(source: str) -> str:
    """The line ending of a file's first line; LF if it has none."""
    match = re.search(r"\r\n|\r|\n", source)
    return match.group() if match else "\n"


def reindent(block: str, old: str, new: str) -> str:
    """Move a block of code from one indentation to another; the contents of strings do not change.

    Args:
        block: complete statements, all starting with the indentation `old`.
    """
    if old == new:
        return block
    in_strings = _lines_in_strings(block, is_indented=bool(old))
    moved = []
    for number, line in enumerate(split_lines(block), start=1):
        if number in in_strings or not line.strip():
            moved.append(line)
        elif line.startswith(old):
            moved.append(new + line.removeprefix(old))
        else:  # a comment or a continued line to the left of its block
            moved.append(new + line.lstrip(" \t"))
    return "".join(moved)


def _lines_in_strings(block: str, is_indented: bool) -> set[int]:
    """Return the 1-based lines of a block that start inside a string."""
    above = "if True:\n" if is_indented else ""
    shift = above.count("\n")
    tree = parse(above + block)
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
        ):
            end = (node.end_lineno or 0) - shift
            lines.update(range(node.lineno + 1 - shift, end + 1))
    return lines


def class_bodies(body: Sequence[ast.stmt], path: Sequence[str]) -> Iterator[list[ast.stmt]]:
    """Yield the bodies of the classes at a dotted path."""
    for node in body:
        if isinstance(node, ast.ClassDef) and node.name == path[0]:
            if len(path) == 1:
                yield node.body
            else:
                yield from class_bodies(node.body, path[1:])


def bound_names(body: Iterable[ast.stmt]) -> Iterator[str]:
    """Yield the names that functions, classes and assignments bind."""
    for node in body:
        if isinstance(node, FunctionNode | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                parts = ast.walk(target)
                yield from (part.id for part in parts if isinstance(part, ast.Name))


def imported_name(alias: ast.alias) -> str:
    """Return the name that a part of an import binds."""
    return alias.asname or alias.name.partition(".")[0]


def every_name(tree: ast.Module) -> set[str]:
    """Return the names that a file binds at the top and in its classes, imports included."""
    names = set[str]()
    for node in tree.body:
        names.update(bound_names([node]))
        if isinstance(node, ast.Import | ast.ImportFrom):
            names.update(map(imported_name, node.names))
        if isinstance(node, ast.ClassDef):
            names.update(f"{node.name}.{name}" for name in bound_names(node.body))
    return names
