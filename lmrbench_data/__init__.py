"""LMR-Bench: can language models reproduce language-modelling research?

    import lmrbench_data as lmr

    rows = lmr.load()                                   # the benchmark, a `datasets.Dataset`
    run = lmr.evaluate("predictions.jsonl")             # verdicts, in a run folder
    run.to_pandas()

Importing this package is cheap: each name is imported when it is first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import Run, evaluate, generate, judge, open_run, report, run_agent
    from .errors import ArgumentError, InfraError, InputError, LMRBenchError, LoadError
    from .evaluate.reports.report import Report
    from .loader import load, unpack
    from .progress import Progress
    from .version import __version__

#: Where each public name lives.
_HOMES = {
    **dict.fromkeys(("Run", "judge", "open_run", "report", "run_agent"), ".api"),
    **dict.fromkeys(("ArgumentError", "InfraError", "InputError", "LMRBenchError", "LoadError"), ".errors"),
    "Report": ".evaluate.reports.report",
    **dict.fromkeys(("load", "unpack"), ".loader"),
    "Progress": ".progress",
    "__version__": ".version",
}

__all__ = [
    "ArgumentError",
    "InfraError",
    "InputError",
    "LMRBenchError",
    "LoadError",
    "Progress",
    "Report",
    "Run",
    "__version__",
    "evaluate",
    "generate",
    "judge",
    "load",
    "open_run",
    "report",
    "run_agent",
    "unpack",
]


def __getattr__(name: str) -> Any:
    if name in ("evaluate", "generate"):  # packages that can be called
        return importlib.import_module(f".{name}", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
