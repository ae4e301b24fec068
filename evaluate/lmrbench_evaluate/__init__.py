"""The evaluation side of LMR-Bench: prediction rows in, verdicts out.

Data flows one way, one package per step: `predictions` (read and check rows) → `rebuild` (answer and masked repository
to a workspace) → `sandbox` (run it; `runner` is the program inside) → `verdict` (decode, compare, decide). Around this
core: `runs` (many predictions, one folder), `checks` (record and prove tasks), `judge`, `reports`, `hub`.
"""

import importlib.util
import signal

from lmrbench_data.base.errors import InputError

if not hasattr(signal, "SIGHUP") or importlib.util.find_spec("fcntl") is None:
    raise InputError("lmrbench_evaluate needs Linux or macOS; on Windows, use WSL 2")
