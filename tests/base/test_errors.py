"""The tree at the head of `base/errors.py` is that of the code, and the package exports exactly `__all__`."""

import ast
import builtins
import re
from pathlib import Path

import lmrbench_data as lmr
from lmrbench_data.base import errors
from lmrbench_data.loader import LMRBenchError

ROOT = Path(__file__).resolve().parents[2]


def exceptions() -> dict[str, set[str]]:
    """Name → bases of each exception that either package defines."""
    classes: dict[str, set[str]] = {}
    for package in (ROOT / "lmrbench_data", ROOT / "evaluate" / "lmrbench_evaluate"):
        for path in package.rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef):
                    bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
                    classes.setdefault(node.name, set()).update(bases)
    known = {name for name, item in vars(builtins).items() if isinstance(item, type) and issubclass(item, Exception)}
    while new := {name for name, bases in classes.items() if name not in known and bases & known}:
        known |= new
    return {name: classes[name] for name in classes.keys() & known}


def documented() -> tuple[dict[str, str], set[str]]:
    """Return (name → parent of each error in the tree, the signals that no caller meets)."""
    tree, _, signals = (errors.__doc__ or "").partition("Signals")
    parents: dict[str, str] = {}
    above: list[str] = []
    for indent, name in re.findall(r"^    ( *)(\w+)  ", tree, re.M):
        above[len(indent) // 2 :] = [name]
        parents[name] = above[-2] if len(above) > 1 else "Exception"
    return parents, set(re.findall(r"\w+", signals.partition(":")[2]))


def test_the_tree_of_errors_is_that_of_the_code() -> None:
    parents, signals = documented()
    found = exceptions()
    assert set(parents) | signals == set(found)
    assert not set(parents) & signals
    assert {name for name, parent in parents.items() if parent not in found[name]} == set()
    assert all(name.endswith("Error") for name in parents)


def test_public_names_are_what_is_exported() -> None:
    assert sorted(lmr.__all__) == sorted(lmr._HOMES)
    for name in lmr.__all__:
        item = getattr(lmr, name)
        if isinstance(item, type) and issubclass(item, BaseException):
            assert issubclass(item, LMRBenchError)
    public = {name for name in vars(lmr) if not name.startswith("_")}
    rooms = {path.stem for path in (ROOT / "lmrbench_data").iterdir()}
    assert public - rooms <= {*lmr.__all__, "TYPE_CHECKING", "Any", "importlib"}
