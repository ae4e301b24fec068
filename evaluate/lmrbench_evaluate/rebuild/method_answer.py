"""Take the functions of a method out of a model's answer, and put them into their files.

An answer is one text with a block of code for each file. A block names its file in its first line, `# file: PATH`, or
in the line above it; a block without a file belongs to the file whose functions it defines.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lmrbench_data.base.source import (
    FunctionNode,
    MalformedAnswerError,
    block_end,
    first_line,
    parse,
    split_lines,
)

from .answer import splice_function
from .extract import parsable_blocks


@dataclass(frozen=True)
class _Block:
    """A piece of code of an answer."""

    code: str
    tree: ast.Module
    file: str
    """The goal file that it names; empty if it names none."""


def splice_functions(masked: Mapping[str, str], goals: Mapping[str, Sequence[str]], answer: str) -> dict[str, str]:
    """Return the goal files with the functions that an answer defines; functions that it lacks stay masked.

    If an answer defines a function more than once, the last definition counts. Imports, helpers and constants of a
    block go with the first of its functions, as in `splice_function`.

    Args:
        masked: path → text of the goal files.
        goals: path → qualified names of the functions to write.

    Raises:
        MalformedAnswerError: it defines none of the functions, or one of them cannot be put into its file.
    """
    blocks, chosen = _choose(goals, answer)
    files = dict(masked)
    for (number, path), names in chosen.items():
        for name, piece in _pieces(blocks[number], names):
            try:
                files[path] = splice_function(files[path], name, piece)
            except MalformedAnswerError as error:
                raise MalformedAnswerError(f"{path}::{name}: {error}") from None
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
        if fits and _definition(block.tree, name, goals[path]) is not None:
            found = number
    return found


def _definition(tree: ast.Module, name: str, goals: Sequence[str]) -> tuple[ast.stmt, ast.stmt] | None:
    """Return the top-level statement that holds a function, and its definition.

    A method may stand without its class if no other goal of the file has its name.
    """
    *owners, last = name.split(".")
    for node in tree.body:
        if owners and isinstance(node, ast.ClassDef) and node.name == owners[0]:
            body: list[ast.stmt] = node.body
            for owner in owners[1:]:
                body = next(
                    (inner.body for inner in body if isinstance(inner, ast.ClassDef) and inner.name == owner), []
                )
            for inner in body:
                if isinstance(inner, FunctionNode) and inner.name == last:
                    return node, inner
    alone = sum(goal.rpartition(".")[2] == last for goal in goals) == 1
    for node in tree.body:
        if isinstance(node, FunctionNode) and node.name == last and (not owners or alone):
            return node, node
    return None


def _pieces(block: _Block, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each function of a block with its part of the code; the first part has what belongs to none of them."""
    found = {}
    for name in names:
        place = _definition(block.tree, name, names)
        assert place is not None
        found[name] = place
    holders = {id(holder) for holder, _ in found.values()}
    lines, begun = split_lines(block.code), set[int]()
    for index, (name, (holder, node)) in enumerate(found.items()):
        others = [inner for other, (_, inner) in found.items() if other != name]
        if index:
            others += [statement for statement in block.tree.body if statement is not holder]
        else:
            others += [item for item in block.tree.body if item is not holder and id(item) in holders]
        if id(holder) in begun and isinstance(holder, ast.ClassDef):
            others += [member for member in holder.body if member is not node]
        begun.add(id(holder))
        gone = {number for item in others for number in range(first_line(item), block_end(lines, item) + 1)}
        yield name, "".join(line for number, line in enumerate(lines, 1) if number not in gone)
