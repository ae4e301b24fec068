"""The files that go into the sandbox beside the rebuilt repository, as text; the harness imports none of them.

`bootstrap.py` unpacks the workspace, `runner.py` runs the cases, `encoding.py` turns their outputs into bytes, and
cases import `lmrbench_cases.py`. The files `warm_*.py` serve many answers in one container. `probe.py` measures the
machine in a sandbox of its own. They need Python 3.11 and the standard library; they use torch, NumPy and pandas only
where the task does.
"""

import hashlib
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_FILES = ("runner.py", "encoding.py", "lmrbench_cases.py")
_WARM_FILES = ("warm_job.py", "warm_zygote.py", "warm_cleaning.py", "warm_supervisor.py")


def source(name: str) -> str:
    """Return the text of one of these files."""
    return (_HERE / name).read_text(encoding="utf-8")


def warm_files() -> dict[str, str]:
    """Return the modules of a warm container, in the order in which they import each other."""
    return {name: source(name) for name in (*reversed(_FILES), *_WARM_FILES)}


def runner_files() -> dict[str, bytes]:
    """Return the files of the workspace's `harness/` by name."""
    return {name: (_HERE / name).read_bytes() for name in _FILES}


def runner_sha256() -> str:
    """Return the identity of all code that runs in the sandbox beside the task's."""
    return hashlib.sha256(b"".join([source("bootstrap.py").encode(), *runner_files().values()])).hexdigest()
