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
    from lmrbench_evaluate.reports.report import Report

    from .api.evaluation import evaluate
    from .api.models import generate, judge, run_agent
    from .api.run import Run, open_run, report
    from .api.scorer import Score, Scorer
    from .base.errors import ArgumentError, InfraError, InputError, LMRBenchError, LoadError
    from .base.jobs import Progress
    from .base.version import __version__
    from .dataset.load import load
    from .loader import unpack

#: Where each public name lives.
_HOMES = {
    "evaluate": ".api.evaluation",
    **dict.fromkeys(("generate", "judge", "run_agent"), ".api.models"),
    **dict.fromkeys(("Run", "open_run", "report"), ".api.run"),
    **dict.fromkeys(("Score", "Scorer"), ".api.scorer"),
    **dict.fromkeys(("ArgumentError", "InfraError", "InputError", "LMRBenchError", "LoadError"), ".base.errors"),
    "Report": "lmrbench_evaluate.reports.report",
    "load": ".dataset.load",
    "unpack": ".loader",
    "Progress": ".base.jobs",
    "__version__": ".base.version",
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
    "Score",
    "Scorer",
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
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
