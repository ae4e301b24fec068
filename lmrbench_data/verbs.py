"""Packages whose name is a verb of the Python API: `lmrbench_data.evaluate` is a package, and can be called."""

import importlib
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any


def make_callable(package: str) -> None:
    """Let calls of a package go to the function of its name in `lmrbench_data.api`."""
    root, _, verb = package.rpartition(".")

    def function() -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(importlib.import_module(f"{root}.api"), verb)
        return found

    class Verb(types.ModuleType):
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return function()(*args, **kwargs)

        @property
        def __signature__(self) -> inspect.Signature:
            """For help and completion."""
            return inspect.signature(function())

    sys.modules[package].__class__ = Verb
