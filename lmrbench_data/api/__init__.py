"""The Python API: evaluate, judge and report without writing a file by hand; the command line calls the same functions.

import lmrbench_data as lmr

row = {"instance_id": "dpo-preference-loss", "model_name_or_path": "me", "track": "paper", "function": answer}
run = lmr.evaluate([row], instances=["dpo-preference-loss"])
run.to_pandas()
"""

from .evaluation import evaluate
from .models import generate, judge, run_agent
from .run import Run, open_run, report, write_report
from .scorer import Score, Scorer

__all__ = ["Run", "Score", "Scorer", "evaluate", "generate", "judge", "open_run", "report", "run_agent", "write_report"]
