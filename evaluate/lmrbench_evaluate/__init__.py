"""The evaluate module of LMR-Bench: prediction rows in, verdicts out.

Data flows one way, one package for each step: `predictions` (read and check rows) → `rebuild` (put
the answer into its masked repository) → `sandbox` (run it; `runner` is the program inside) →
`verdict` (decode, compare, decide). Around this core: `runs` (many predictions, one folder),
`judge`, `reports`, `hub`.
"""

import importlib.util
import signal

from lmrbench_data.base.errors import InputError

if not hasattr(signal, "SIGHUP") or importlib.util.find_spec("fcntl") is None:
    raise InputError("lmrbench_evaluate needs Linux or macOS; on Windows, use WSL 2")
