"""Read the variants of a method: folders with the goal functions that differ, put in place of the reference's."""

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.source import SourceError, block_end, find_function, first_line, parse, split_lines
from lmrbench_data.tasks.task import Method, Task

from ..rebuild.answer import splice_function


def variant_files(task: Task, method: Method, folder: Path) -> dict[str, str]:
    """Return the goal files of the reference with the functions of a variant in them.

    Raises:
        InputError: a file of the variant is not a goal file, is not Python, or defines no goal function.
    """
    files = task.golden_files(method)
    for file in sorted(folder.rglob("*.py")):
        path = file.relative_to(folder).as_posix()
        if path not in files:
            raise InputError(f"{file}: {path} is not a goal file; known are {', '.join(files)}")
        try:
            source = file.read_text(encoding="utf-8")
            names = [name for name in method.goals[path] if _defines(source, name)]
            if not names:
                raise InputError(f"{file}: defines none of the goal functions of {path}")
            for name, part in _parts(source, names):
                files[path] = splice_function(files[path], name, part)
        except (SourceError, UnicodeDecodeError) as error:
            raise InputError(f"{file}: {error}") from error
    return files


def _defines(source: str, name: str) -> bool:
    parse(source)
    try:
        find_function(source, name)
    except SourceError:
        return False
    return True


def _parts(source: str, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Split a variant's file into one answer per function.

    Imports and top-level helpers come with the first function, new members of a class with its first method.
    """
    lines = split_lines(source)

    def text(node: ast.stmt) -> str:
        return "".join(lines[first_line(node) - 1 : block_end(lines, node)])

    first = {_owner(name): name for name in reversed(names)}
    for name in names:
        owner, pieces = _owner(name), []
        for node in parse(source).body:
            if isinstance(node, ast.ClassDef) and node.name in first:
                if node.name == owner:
                    members = [
                        text(member)
                        for member in node.body
                        if (full := f"{owner}.{getattr(member, 'name', '')}") == name
                        or (name == first[owner] and full not in names)
                    ]
                    pieces.append(f"class {owner}:\n" + "\n".join(members))
            elif (own := getattr(node, "name", None)) in names:
                pieces += [text(node)] if own == name else []
            elif name == names[0]:
                pieces.append(text(node))
        yield name, "\n".join(pieces)


def _owner(name: str) -> str:
    """Return the class of a method; empty for a function."""
    return name.rpartition(".")[0]
