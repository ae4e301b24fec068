"""LMR-Bench's evaluation side: prediction rows in, verdicts out.

The verdict core is at the top, and data flows one way through it, one module an arrow: `predictions` → `answer` and
`workspace` (rebuild the repository) → `sandbox` (run it) → `decode` and `compare` → `verdict`; `evaluator` wires them.
Around it are the rooms: `runner` (what goes into the sandbox), `sandbox`, `runs` (many predictions, one folder),
`tasks` (record and check the benchmark's own tasks), `judge`, `reports`, `hub`.

Calling the package evaluates predictions: `lmrbench_data.evaluate(...)` is `lmrbench_data.api.evaluate`.
"""

import inspect
import sys
import types
from typing import Any

if __name__ == "evaluate":  # from the root of a checkout, where this folder would hide Hugging Face's library
    raise ImportError(
        "this folder is LMR-Bench's: import lmrbench_data.evaluate; for Hugging Face's, leave the checkout"
    )


class _CallablePackage(types.ModuleType):
    """A package whose name is a verb of the Python API."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from ..api import evaluate

        return evaluate(*args, **kwargs)

    @property
    def __signature__(self) -> inspect.Signature:
        """For help and completion."""
        from ..api import evaluate

        return inspect.signature(evaluate)


sys.modules[__name__].__class__ = _CallablePackage
