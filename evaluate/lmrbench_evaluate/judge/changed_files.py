"""Show the other files that an answer changed, as far as they may run; others are prose or data, and stay hidden."""

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence

from lmrbench_data.base.source import SourceError, parse
from lmrbench_data.loader import File

from .bare import NotPlainError, code_only, names_in

#: A longer string names no module.
_MAX_NAME = 200


def changed_files(
    masked: Mapping[str, File], rebuilt: Mapping[str, File], goals: Collection[str], cases: Sequence[bytes]
) -> tuple[list[tuple[str, str]], int]:
    """Return (name, text to show) of each changed Python file that may run, and the number of other changed files.

    Args:
        masked: the repository as it was given.
        rebuilt: the repository with the answer.
        goals: paths of the goal files, which are left out.
        cases: sources of the code that calls them.
    """
    changed = [path for path in sorted(masked.keys() | rebuilt.keys()) if masked.get(path) != rebuilt.get(path)]
    changed = [path for path in changed if path not in goals]
    reachable = _reachable({**masked, **rebuilt}, goals, cases) if changed else ()
    shown = [(path, _text(rebuilt, path)) for path in changed if path in reachable]
    return shown, len(changed) - len(shown)


def _text(rebuilt: Mapping[str, File], name: str) -> str:
    if name not in rebuilt:
        return "[the candidate removed this file]"
    try:
        elsewhere = b"\n".join(file.data for path, file in rebuilt.items() if path != name)
        return code_only(rebuilt[name].data.decode("utf-8"), names_in(elsewhere))
    except (UnicodeDecodeError, NotPlainError):
        return "[not shown: this is not Python that can be taken apart]"


def _reachable(files: Mapping[str, File], goals: Collection[str], cases: Sequence[bytes]) -> frozenset[str]:
    """Find the Python files that may run with the cases, because they are imported directly or indirectly.

    `import more` reaches every `more.py` in any folder, and so does the string `"more"`, which could name an import.
    """
    by_stem: dict[str, list[str]] = {}
    for path in files:
        parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
        if path.endswith(".py") and all(part.isidentifier() for part in parts):
            by_stem.setdefault(parts[-1], []).append(path)
    reached = set(goals)
    waiting = [*(files[path].data for path in goals), *cases]
    while waiting:
        for name in _module_names(waiting.pop()):
            new = [path for path in by_stem.get(name, ()) if path not in reached]
            reached.update(new)
            waiting += [files[path].data for path in new]
    return frozenset(reached)


def _module_names(source: bytes) -> Iterator[str]:
    """Yield the parts of all names in source that could name modules."""
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
