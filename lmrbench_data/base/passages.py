"""Read passages of a repository by reference.

`path` is a whole file; `path#name` a function, class or constant of a Python file with the comment above it, or a
section of another file by its heading; `path#name.__doc__` the head and docstring alone; `path#__doc__` the docstring
of a file; `path:10-20` lines.
"""

import ast
import itertools
import re
from collections.abc import Mapping

from ..loader import File
from .definitions import Module
from .errors import InputError
from .source import SourceError, first_line, split_lines

#: Maximum length of a passage for judges.
MAX_PASSAGE = 6_000
_REFERENCE = re.compile(r"([^#:]+)(?:#(.+)|:(\d+)-(\d+))?")
#: Level and text of a heading in Markdown, and in TOML and INI, whose comments look like Markdown headings.
_HEADING = re.compile(r"(#+)\s+(.+?)\s*")
_TABLE = re.compile(r"()\[+\s*([^\[\]]+?)\s*\]+\s*(?:[#;].*)?")


def path_of(reference: str) -> str:
    """The file that a reference names."""
    return re.split("[#:]", reference, maxsplit=1)[0]


def read_passage(files: Mapping[str, File], reference: str) -> str:
    """Return the text of a passage.

    Args:
        files: the repository.

    Raises:
        InputError: no such file, symbol, heading or lines.
    """
    found = _REFERENCE.fullmatch(reference)
    if not found:
        raise InputError(f"{reference!r} is not a path, path#symbol or path:10-20")
    path, symbol, first, last = found.groups()
    if path not in files:
        raise InputError(f"no file {path!r}")
    try:
        source = files[path].data.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8") from None
    if symbol:
        text = _definition(path, source, symbol) if path.endswith(".py") else _section(path, source, symbol)
        if text is None:
            raise InputError(f"{path}: has no {symbol!r}")
        return text
    lines = split_lines(source)
    start, end = (int(first), int(last)) if first else (1, len(lines))
    if not 1 <= start <= end <= len(lines):
        raise InputError(f"{path}: has no lines {start}-{end}; it has {len(lines)}")
    return "".join(lines[start - 1 : end]).rstrip()


def _definition(path: str, source: str, symbol: str) -> str | None:
    try:
        module = Module(path, source)
    except SourceError as error:
        raise InputError(f"{path}: {error}") from None
    if symbol == "__doc__":
        return ast.get_docstring(module.tree)
    node = module.definition(symbol.removesuffix(".__doc__"))
    if node is None:
        return None
    text = module.head(node) if symbol.endswith(".__doc__") else module.text(node)
    above = split_lines(source)[: first_line(node) - 1]
    comments = list(itertools.takewhile(lambda line: line.lstrip().startswith("#"), reversed(above)))
    return "".join(reversed(comments)) + text


def _section(path: str, source: str, heading: str) -> str | None:
    """Return a section with its heading, up to the next heading of its level or above."""
    pattern = _HEADING if path.endswith(".md") else _TABLE
    kept: list[str] = []
    level, is_code = 0, False
    for line in split_lines(source):
        is_code ^= line.startswith("```")
        found = None if is_code else pattern.fullmatch(line.rstrip("\r\n"))
        if found and kept and len(found[1]) <= level:
            break
        if found and not kept and found[2] == heading:
            level = len(found[1])
            kept.append(line)
        elif kept:
            kept.append(line)
    return "".join(kept).rstrip() or None
