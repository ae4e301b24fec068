"""LMR-Bench's evaluation side: prediction rows in, verdicts out.

The verdict core is at the top, and data flows one way through it, one module an arrow: `predictions` → `answer` and
`workspace` (rebuild the repository) → `sandbox` (run it) → `decode` and `compare` → `verdict`; `evaluator` wires them.
Around it are the rooms: `runner` (what goes into the sandbox), `sandbox`, `runs` (many predictions, one folder),
`tasks` (record and check the benchmark's own tasks), `judge`, `reports`, `hub`.

Calling the package evaluates predictions: `lmrbench_data.evaluate(...)` is `lmrbench_data.api.evaluate`.
"""

if __name__ == "evaluate":  # from the root of a checkout, where this folder would hide Hugging Face's library
    raise ImportError(
        "this folder is LMR-Bench's: import lmrbench_data.evaluate; for Hugging Face's, leave the checkout"
    )

from ..verbs import make_callable  # after the line that says where one is

make_callable(__name__)
