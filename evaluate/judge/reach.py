"""Which Python files of a repository the tests can reach: what goal file and cases import, and what that imports.

Found by names alone, in favour of showing too much: `import more` reaches every `more.py`, wherever it lies, and so
does the text `"more"`, which code could import by.
"""

import ast
from collections.abc import Collection, Iterator, Mapping

from ...loader import File
from ...source import SourceError, parse

#: Text that is longer is no name of a module.
_MAX_NAME = 200


def reached_files(files: Mapping[str, File], goal: str, cases: Collection[bytes]) -> frozenset[str]:
    """The paths of Python files that may run when the cases do.

    Args:
        files: the repository; of a removed file, what it was.
        goal: the path of the goal file.
        cases: the sources of what calls it.
    """
    by_stem: dict[str, list[str]] = {}
    for path in files:
        parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
        if path.endswith(".py") and all(part.isidentifier() for part in parts):
            by_stem.setdefault(parts[-1], []).append(path)
    reached = {goal}
    waiting = [files[goal].data, *cases]
    while waiting:
        for name in _modules(waiting.pop()):
            new = [path for path in by_stem.get(name, ()) if path not in reached]
            reached.update(new)
            waiting += [files[path].data for path in new]
    return frozenset(reached)


def _modules(source: bytes) -> Iterator[str]:
    """The last parts of all names of modules that source has in it; packages on the way are among them."""
    try:
        tree = parse(source.decode("utf-8"))
    except (SourceError, UnicodeError):
        return
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                names = [alias.name for alias in node.names]
            case ast.ImportFrom():
                names = [node.module or "", *(alias.name for alias in node.names)]
            case ast.Constant(value=str(text)) if len(text) <= _MAX_NAME:
                names = [text.removesuffix(".py").replace("/", ".")]
            case _:
                continue
        for name in names:
            yield from filter(None, name.split("."))
