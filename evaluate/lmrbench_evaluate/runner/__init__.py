"""The files that go into the sandbox beside the rebuilt repository, as text; the harness imports none of them.

`bootstrap.py` unpacks the workspace, `runner.py` runs the cases, `encoding.py` turns their outputs into bytes,
`lmrbench_cases.py` is what cases import. `probe.py` measures the machine and has a sandbox of its own. They
need Python 3.11 and the standard library; torch, NumPy and pandas are used only where the task itself uses them.
"""

import hashlib
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_FILES = ("runner.py", "encoding.py", "lmrbench_cases.py")


def bootstrap() -> str:
    """The program that unpacks the workspace and starts the runner: the `-c` argument of `python -I`."""
    return (_HERE / "bootstrap.py").read_text(encoding="utf-8")


def probe() -> str:
    """The program that tells what share of a processor it gets: the `-c` argument of `python`, before some seconds."""
    return (_HERE / "probe.py").read_text(encoding="utf-8")


def runner_files() -> dict[str, bytes]:
    """What goes into the workspace's `harness/`, by name."""
    return {name: (_HERE / name).read_bytes() for name in _FILES}


def runner_sha256() -> str:
    """Identity of all code that runs in the sandbox beside the task's own."""
    return hashlib.sha256(b"".join([bootstrap().encode(), *runner_files().values()])).hexdigest()
