"""The data side of LMR-Bench: tasks, masked repositories, and the dataset made of them.

    import lmrbench_data

    rows = lmrbench_data.load()                         # the benchmark, a `datasets.Dataset`
    lmrbench_data.unpack(rows[0], "repository")

`lmrbench` evaluates answers, asks models and reports; this package imports nothing of it.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .dataset.load import load
    from .loader import unpack

__all__ = ["load", "unpack"]
_HOMES = {"load": ".dataset.load", "unpack": ".loader"}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that importing the package is cheap."""
    if name not in _HOMES:
        problem = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(f"{problem}; what evaluates answers is in `lmrbench`")
    return getattr(importlib.import_module(_HOMES[name], __name__), name)
