"""LMR-Bench: can language models reproduce language-modelling research?

    import lmrbench as lmr

    rows = lmr.load()                                   # the benchmark, a `datasets.Dataset`
    run = lmr.evaluate("predictions.jsonl")             # verdicts, in a run folder
    run.to_pandas()

Importing this package is cheap: each name is imported when it is first used. `__init__.pyi` shows
their types.
"""

import importlib
from typing import Any

#: The public names of each module.
_NAMES = {
    ".api.evaluation": "evaluate",
    ".api.models": "generate judge run_agent",
    ".api.run": "Run open_run report",
    ".api.scorer": "Score Scorer",
    ".generation.agents.agent_runs": "AgentSummary",
    ".generation.sampling": "SamplingSummary",
    "lmrbench_data.base.errors": "ArgumentError InfraError InputError LMRBenchError LoadError",
    "lmrbench_data.base.jobs": "Progress",
    "lmrbench_data.base.version": "__version__",
    "lmrbench_data.dataset.load": "load",
    "lmrbench_data.loader": "unpack",
    "lmrbench_evaluate.reports.report": "Report",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
