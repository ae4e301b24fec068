"""Put the functions that a model's answer defines into the masked files.

Models answer with prose, fences, imports, helpers, a class around the method, or an indented method. All of these are
accepted, but nothing is guessed: an answer without exactly one definition of the goal function is malformed. The answer
to a method has a block of code for each file. A block names its file in its first line, `# file: PATH`, or in the line
above it; a block without a file belongs to the file whose functions it defines.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from lmrbench_data.base.source import MalformedAnswerError, SourceError, find_function
from lmrbench_data.base.splice import covers, defines, definitions, splice_code, splice_reply

from .extract import Block, join_blocks, read_blocks


class Spliced(NamedTuple):
    """The files with an answer in them."""

    files: dict[str, str]
    note: str
    """The blocks that were left out; empty if there are none."""


def splice_function(masked: Mapping[str, str], goal_function: str, answer: str) -> Spliced:
    """Replace the goal function in the masked goal file by the one in the answer (see `splice_code`).

    Args:
        masked: path → text of the goal file.

    Raises:
        MalformedAnswerError: no definition of the goal function, more than one, a syntax error, or an encoding other
            than UTF-8.
    """
    [(path, text)] = masked.items()
    check_goal_file(path, text, goal_function)
    code, note = extract_function(answer, goal_function)
    return Spliced({path: splice_code(text, goal_function, code)}, note)


def extract_function(answer: str, goal_function: str) -> tuple[str, str]:
    """Return the code of an answer for one function, and a note on the blocks that were left out.

    Raises:
        MalformedAnswerError: no definition of the goal function.
    """
    blocks = read_blocks(answer, [goal_function], lambda tree: bool(definitions(tree, goal_function)))
    number = max(block.number for block in blocks if block.defines)
    codes, note = join_blocks(blocks, [number])
    return codes[number], note


def splice_method(masked: Mapping[str, str], goals: Mapping[str, Sequence[str]], answer: str) -> Spliced:
    """Put the functions that an answer defines into the masked goal files; functions that it lacks stay masked.

    If an answer defines a function more than once, the last definition counts. Imports, helpers and constants of a
    block go with its functions, as in `splice_reply`. A block that has all of a goal file replaces the file.

    Args:
        masked: path → text of the goal files.
        goals: path → qualified names of the functions to write.

    Raises:
        MalformedAnswerError: it defines none of the functions, or one of them cannot be put into its file.
    """
    blocks, chosen = _choose(goals, answer)
    codes, note = join_blocks(blocks, [number for number, _ in chosen])
    files = dict(masked)
    for (number, path), names in chosen.items():
        code = codes[number]
        try:
            if len(names) == len(goals[path]) and covers(code, masked[path]):
                files[path] = code
                for name in names:
                    find_function(code, name)
            else:
                files[path] = splice_reply(files[path], names, code, goals[path])
        except SourceError as error:
            raise MalformedAnswerError(f"{path}: {error}") from None
    return Spliced(files, note)


def defined_functions(answer: str, goals: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Return path and name of each function that an answer defines.

    Raises:
        MalformedAnswerError: it defines none.
    """
    return [(path, name) for (_, path), names in _choose(goals, answer)[1].items() for name in names]


def check_goal_file(name: str, source: str, goal_function: str) -> None:
    """Check that a complete goal file defines the goal function once.

    Raises:
        MalformedAnswerError: it does not, or cannot be parsed.
    """
    try:
        find_function(source.removeprefix("\ufeff"), goal_function)
    except SourceError as error:
        raise MalformedAnswerError(f"{name}: {error}") from None


def _choose(goals: Mapping[str, Sequence[str]], answer: str) -> tuple[list[Block], dict[tuple[int, str], list[str]]]:
    """Return the blocks of an answer, and the functions to take from each: (number of the block, file) → names."""
    every = [name for names in goals.values() for name in names]
    blocks = read_blocks(
        answer, every, lambda tree: any(defines(tree, name, names) for names in goals.values() for name in names)
    )
    chosen: dict[tuple[int, str], list[str]] = {}
    for path, names in goals.items():
        for name in names:
            if number := _last_definition(blocks, path, name, goals):
                chosen.setdefault((number, path), []).append(name)
    if not chosen:
        raise MalformedAnswerError("no definition of any of the masked functions in the answer")
    return blocks, chosen


def _file_of(block: Block, goals: Mapping[str, Sequence[str]]) -> str:
    """Return the goal file that the first line of a block or the line above it names; empty if neither does."""
    for line in (block.code.partition("\n")[0], block.above):
        named = [path for path in goals if re.search(rf"(?<![\w/.-]){re.escape(path)}(?![\w/])", line)]
        if named:
            return max(named, key=len)
    return ""


def _last_definition(blocks: Sequence[Block], path: str, name: str, goals: Mapping[str, Sequence[str]]) -> int:
    """Return the number of the last block that defines a function of a file; 0 if none does."""
    elsewhere = any(name in names for other, names in goals.items() if other != path)
    last = 0
    for block in blocks:
        file = _file_of(block, goals)
        fits = file == path or (not file and not elsewhere)
        if fits and block.tree and defines(block.tree, name, goals[path]):
            last = block.number
    return last
