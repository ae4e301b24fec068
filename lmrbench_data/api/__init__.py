"""The Python API: evaluate, judge and report without writing a file by hand; the command line calls the same functions.

import lmrbench_data as lmr

row = {"instance_id": "dpo-preference-loss", "model_name_or_path": "me", "track": "paper", "function": answer}
run = lmr.evaluate([row], instances=["dpo-preference-loss"])
run.to_pandas()
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .evaluation import evaluate
    from .models import generate, judge, run_agent
    from .run import Run, open_run, report
    from .scorer import Score, Scorer

#: Where each name lives; it is imported when it is first used.
_HOMES = {
    "evaluate": ".evaluation",
    **dict.fromkeys(("generate", "judge", "run_agent"), ".models"),
    **dict.fromkeys(("Run", "open_run", "report"), ".run"),
    **dict.fromkeys(("Score", "Scorer"), ".scorer"),
}

__all__ = ["Run", "Score", "Scorer", "evaluate", "generate", "judge", "open_run", "report", "run_agent"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name], __name__), name)
    globals()[name] = value
    return value
