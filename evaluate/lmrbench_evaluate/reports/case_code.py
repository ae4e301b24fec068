"""The source of a row's cases: the code that builds a case's input and calls the tested code, with its helpers."""

import ast
from collections.abc import Iterable

from lmrbench_data.base.definitions import Module
from lmrbench_data.base.source import SourceError
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import LoadError

from ..verdict.expected import row_cases

#: Longer sources are cut.
MAX_CHARACTERS = 8000


def case_code(row: DatasetRow, names: Iterable[str]) -> dict[str, str]:
    """Return the source of cases by name, without those that the row does not have.

    A case is a function of the seed, so its input exists only as the code that makes it. The definitions of the same
    file that it names, directly or indirectly, stand before it.

    Args:
        names: names of the cases, as in results.
    """
    try:
        module = Module("cases.py", row_cases(row).decode("utf-8"))
    except (KeyError, LoadError, SourceError, UnicodeDecodeError, RecursionError):
        return {}
    found = {}
    for name in names:
        if (node := module.defined.get(f"case_{name}")) is not None:
            text = "\n\n".join(module.text(part) for part in _with_helpers(module, node))
            found[name] = text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]}\n# [...]"
    return found


def _with_helpers(module: Module, node: ast.stmt) -> list[ast.stmt]:
    """Return the definitions that a statement uses and the statement itself, in the order of the file."""
    found: dict[int, ast.stmt] = {}
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if part.lineno not in found:
            found[part.lineno] = part
            named = {item.id for item in ast.walk(part) if isinstance(item, ast.Name)}
            waiting += [module.defined[name] for name in named & module.defined.keys()]
    return [part for _, part in sorted(found.items()) if part is not node] + [node]
