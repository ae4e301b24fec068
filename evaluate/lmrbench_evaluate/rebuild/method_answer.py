"""Take the functions of a method out of a model's answer, and put them into their files.

An answer is one text with a block of code for each file. A block names its file in its first line, `# file: PATH`, or
in the line above it; a block without a file belongs to the file whose functions it defines.
"""

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lmrbench_data.base.source import MalformedAnswerError, parse
from lmrbench_data.base.splice import defines, splice_functions

from .extract import parsable_blocks


@dataclass(frozen=True)
class _Block:
    """A piece of code of an answer."""

    code: str
    tree: ast.Module
    file: str
    """The goal file that it names; empty if it names none."""


def splice_reply(masked: Mapping[str, str], goals: Mapping[str, Sequence[str]], answer: str) -> dict[str, str]:
    """Return the goal files with the functions that an answer defines; functions that it lacks stay masked.

    If an answer defines a function more than once, the last definition counts. Imports, helpers and constants of a
    block go with the first of its functions, as in `splice_functions`.

    Args:
        masked: path → text of the goal files.
        goals: path → qualified names of the functions to write.

    Raises:
        MalformedAnswerError: it defines none of the functions, or one of them cannot be put into its file.
    """
    blocks, chosen = _choose(goals, answer)
    files = dict(masked)
    for (number, path), names in chosen.items():
        try:
            files[path] = splice_functions(files[path], names, blocks[number].code)
        except MalformedAnswerError as error:
            raise MalformedAnswerError(f"{path}: {error}") from None
    return files


def defined_functions(answer: str, goals: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Return path and name of each function that an answer defines.

    Raises:
        MalformedAnswerError: it defines none.
    """
    return [(path, name) for (_, path), names in _choose(goals, answer)[1].items() for name in names]


def _choose(goals: Mapping[str, Sequence[str]], answer: str) -> tuple[list[_Block], dict[tuple[int, str], list[str]]]:
    """Return the blocks of an answer, and the functions to take from each: (number of the block, file) → names."""
    blocks = [_Block(code, parse(code), _file_of(code, above, goals)) for code, above in parsable_blocks(answer)]
    chosen: dict[tuple[int, str], list[str]] = {}
    for path, names in goals.items():
        for name in names:
            if (number := _last_definition(blocks, path, name, goals)) is not None:
                chosen.setdefault((number, path), []).append(name)
    if not chosen:
        raise MalformedAnswerError("no definition of any of the masked functions in the answer")
    return blocks, chosen


def _file_of(code: str, above: str, goals: Mapping[str, Sequence[str]]) -> str:
    """Return the goal file that the first line of a block or the line above it names."""
    for line in (code.partition("\n")[0], above):
        named = [path for path in goals if re.search(rf"(?<![\w/.-]){re.escape(path)}(?![\w/])", line)]
        if named:
            return max(named, key=len)
    return ""


def _last_definition(blocks: Sequence[_Block], path: str, name: str, goals: Mapping[str, Sequence[str]]) -> int | None:
    """Return the number of the last block that defines a function of a file."""
    elsewhere = any(name in names for other, names in goals.items() if other != path)
    found = None
    for number, block in enumerate(blocks):
        fits = block.file == path or (not block.file and not elsewhere)
        if fits and defines(block.tree, name, goals[path]):
            found = number
    return found
