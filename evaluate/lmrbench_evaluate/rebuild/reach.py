"""Find the Python files of a repository that may run."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence


def reachable(files: Mapping[str, str], goals: Collection[str], cases: Sequence[str]) -> set[str]:
    """Return the Python files that may run: those that the cases mention, or that these mention.

    The word `more` reaches every `more.py` and `more/__init__.py`, in an import as in a string.

    Args:
        files: path → text.
        goals: files that the cases reach in any event.
        cases: sources of the code that calls the goal functions.
    """
    modules = {path: _module_name(path) for path in files}
    reached = set(goals)
    waiting = [*(files[path] for path in goals), *cases]
    while waiting:
        words = words_in([waiting.pop()])
        new = {path for path, module in modules.items() if module in words} - reached
        waiting += [files[path] for path in new]
        reached |= new
    return reached


def _module_name(path: str) -> str:
    """Return the last part of a Python module's name; empty for other files."""
    parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
    is_module = path.endswith(".py") and all(part.isidentifier() for part in parts)
    return parts[-1] if is_module else ""


def words_in(texts: Iterable[str]) -> set[str]:
    """Return every word of these texts that could be a Python name."""
    return set(re.findall(r"[^\W\d]\w*", "\n".join(texts)))
