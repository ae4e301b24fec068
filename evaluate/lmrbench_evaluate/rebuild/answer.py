"""Put the functions that a model's answer defines into the masked files.

Models answer with prose, fences, imports, helpers, a class around the method, or an indented
method. All of these are accepted, but nothing is guessed: an answer without exactly one definition
of the goal function is malformed. The answer to a method has a block of code for each file. A block
names its file in its first line, `# file: PATH`, or in the line above it; a block without a file
belongs to the file whose functions it defines.
"""

import ast
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from lmrbench_data.base.source import MalformedAnswerError, SourceError, find_function
from lmrbench_data.base.splice import covers, defines, splice_code, splice_reply

from .demo import without_demo
from .extract import Block, join_blocks, read_blocks


class Spliced(NamedTuple):
    """The files with an answer in them."""

    files: dict[str, str]
    note: str
    """The parts that were left out; empty if there are none."""


def splice_function(
    masked: Mapping[str, str], goal_function: str, answer: str, is_cut: bool = False
) -> Spliced:
    """Replace the goal function in the masked goal file by the one in the answer.

    Args:
        masked: path → text of the goal file.
        is_cut: whether the reply was cut at the token limit; it then has to hold all functions
            before the cut.

    Raises:
        MalformedAnswerError: no definition of the goal function, more than one, a syntax error, or
            an encoding other than UTF-8.
    """
    [(path, text)] = masked.items()
    blocks = read_blocks(answer, [goal_function], lambda tree: defines(tree, goal_function), is_cut)
    number = max(block.number for block in blocks if block.defines)
    codes, left_out = join_blocks(blocks, [number])
    code, demo = without_demo(codes[number], text)
    note = "; ".join(filter(None, [left_out, demo]))
    return Spliced({path: splice_code(text, goal_function, code)}, note)


def splice_method(
    masked: Mapping[str, str], goals: Mapping[str, Sequence[str]], answer: str, is_cut: bool = False
) -> Spliced:
    """Put the functions that an answer defines into the masked goal files; the others stay masked.

    If an answer defines a function more than once, the last definition counts. Imports, helpers and
    constants of a block go with its functions, as in `splice_reply`. A block that has all of a goal
    file replaces the file.

    Args:
        masked, is_cut: as in `splice_function`.
        goals: path → qualified names of the functions to write.

    Raises:
        MalformedAnswerError: it defines none of the functions, or one of them does not fit.
    """
    functions = list(itertools.chain(*goals.values()))
    blocks = read_blocks(answer, functions, lambda tree: _defines_any(tree, goals), is_cut)
    chosen = _choose_blocks(blocks, goals)
    if not chosen:
        raise MalformedAnswerError("no definition of any of the masked functions in the answer")
    if is_cut and sum(map(len, chosen.values())) < len(functions):
        raise MalformedAnswerError("the reply was cut off before its last function")
    codes, left_out = join_blocks(blocks, [number for number, _ in chosen])
    files = dict(masked)
    notes = {left_out: None}  # each note once
    for (number, path), names in chosen.items():
        goal_file = _GoalFile(masked[path], files[path], goals[path])
        try:
            files[path], demo = goal_file.splice(names, codes[number])
        except SourceError as error:
            raise MalformedAnswerError(f"{path}: {error}") from None
        notes[demo] = None
    return Spliced(files, "; ".join(filter(None, notes)))


class _GoalFile(NamedTuple):
    """A goal file that receives functions of an answer."""

    masked: str
    text: str
    """The masked text, perhaps with functions of other blocks."""
    goals: Sequence[str]

    def splice(self, names: Sequence[str], code: str) -> tuple[str, str]:
        """Return the file with functions of some code, and a note on what was left out."""
        remaining, note = without_demo(code, self.masked)
        if len(names) == len(self.goals) and covers(code, self.masked):
            return remaining, note
        return splice_reply(self.text, names, remaining, self.goals), note


def _defines_any(tree: ast.Module, goals: Mapping[str, Sequence[str]]) -> bool:
    pairs = ((name, names) for names in goals.values() for name in names)
    return any(defines(tree, name, names) for name, names in pairs)


def _choose_blocks(
    blocks: Sequence[Block], goals: Mapping[str, Sequence[str]]
) -> dict[tuple[int, str], list[str]]:
    """Return (block, file) → functions: each function comes from the last block that has it."""
    chosen: dict[tuple[int, str], list[str]] = {}
    files = {block.number: _file_of(block, goals) for block in blocks}
    for path, names in goals.items():
        for name in names:
            numbers = []
            for block in blocks:
                if _has(block, files[block.number], path, name, goals):
                    numbers.append(block.number)
            if numbers:
                chosen.setdefault((numbers[-1], path), []).append(name)
    return chosen


def check_goal_file(path: str, source: str, goal_functions: Sequence[str]) -> None:
    """Raise MalformedAnswerError unless a goal file parses and defines each goal function once."""
    try:
        for name in goal_functions:
            find_function(source, name)
    except SourceError as error:
        raise MalformedAnswerError(f"{path}: {error}") from None


def _file_of(block: Block, goals: Mapping[str, Sequence[str]]) -> str:
    """Return the goal file that a block's first line or the line above it names.

    Empty if neither names one, or if the block has such lines for several files.
    """
    named = [path for path in goals if re.search(_file_line(path), block.code, re.MULTILINE)]
    if len(named) > 1:
        return ""
    for line in (block.code.partition("\n")[0], block.above):
        paths = [
            path for path in goals if re.search(rf"(?<![\w/.-]){re.escape(path)}(?![\w/])", line)
        ]
        if paths:
            return max(paths, key=len)
    return ""


def _file_line(path: str) -> str:
    return rf"^# *file: *{re.escape(path)}[ \t]*$"


def _has(block: Block, file: str, path: str, name: str, goals: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a block, which names a file or none, defines a function of a file.

    The block names that file, or names none and no other file has such a function.
    """
    is_elsewhere = any(name in names for other, names in goals.items() if other != path)
    if file != path and (file or is_elsewhere):
        return False
    return block.tree is not None and defines(block.tree, name, goals[path])
