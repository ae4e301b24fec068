"""Write `lmrbench_data/__init__.pyi`, the types of the public names, from their homes and from settings.

make stubs
"""

import inspect
import subprocess
import sys
import types
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import lmrbench as lmr

FILE = Path(lmr.__file__).with_suffix(".pyi")
_TOP = '''"""The types of the public names; `make stubs` writes this file."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from lmrbench_evaluate.runs.engine import Engine
from lmrbench_evaluate.sandbox.base import Sandbox
'''


def stub() -> str:
    """Return the stub: functions whose keywords are fields of settings are written out, other names imported."""
    parts = [_TOP]
    for name in lmr.__all__:
        value, home = getattr(lmr, name), lmr._HOMES[name]
        if hasattr(value, "__signature__"):
            parts.append(_function(name, inspect.signature(value)))
        else:
            parts.insert(1, f"from {home} import {name} as {name}\n")
    text = "".join(parts)
    for command in ("check --select=I --fix", "format"):
        ruff = [sys.executable, "-m", "ruff", *command.split(), "--quiet", f"--stdin-filename={FILE}", "-"]
        text = subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout
    return text


def _function(name: str, signature: inspect.Signature) -> str:
    items, is_marked = [], False
    for item in signature.parameters.values():
        if item.kind is item.KEYWORD_ONLY and not is_marked:
            items, is_marked = [*items, "*"], True
        default = item.default if item.default is None or isinstance(item.default, str | int | float | tuple) else ...
        shown = "..." if default is ... else repr(default)
        items.append(f"{item.name}: {_type(item.annotation)}" + ("" if item.default is item.empty else f" = {shown}"))
    return f"def {name}({', '.join(items)}) -> {_type(signature.return_annotation)}: ...\n"


def _type(kind: Any) -> str:
    """Return a type as users may write it: a path may be text, and a tuple a list."""
    arguments = get_args(kind)
    if isinstance(kind, str):
        return kind
    if kind in (None, types.NoneType):
        return "None"
    if kind is Path:
        return "str | Path"
    if get_origin(kind) in (Union, types.UnionType):
        return " | ".join(dict.fromkeys(part for item in arguments for part in _type(item).split(" | ")))
    if get_origin(kind) is Literal:
        return f"Literal[{', '.join(map(repr, arguments))}]"
    if get_origin(kind) is tuple:
        return f"list[{_type(arguments[0])}] | tuple[{_type(arguments[0])}, ...]"
    return kind.__name__ + (f"[{', '.join(map(_type, arguments))}]" if arguments else "")


if __name__ == "__main__":
    FILE.write_text(stub(), encoding="utf-8")
