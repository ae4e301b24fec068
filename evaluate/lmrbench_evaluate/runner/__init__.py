"""The files that go into the sandbox beside the rebuilt repository, as text; the harness imports only `seccomp.py`.

`bootstrap.py` unpacks the workspace, `runner.py` runs the cases, `encoding.py` turns their outputs into bytes, and
cases import `lmrbench_cases.py`. `zygote.py` and the files that it imports serve many answers. `probe.py` measures the
machine in a sandbox of its own. They need Python 3.11 and the standard library; they use torch, NumPy and pandas only
where the task does.
"""

import hashlib
import json
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_FILES = ("runner.py", "encoding.py", "lmrbench_cases.py")
#: Each imports only those before it.
_ZYGOTE_FILES = ("seccomp.py", "walls.py", "zygote_job.py", "zygote.py")
#: Loads modules from a JSON object (name → source), and starts the last one.
_LOADER = """
import json, sys, types
for name, text in json.loads(sys.argv[1]).items():
    module = sys.modules[name.removesuffix(".py")] = types.ModuleType(name.removesuffix(".py"))
    module.__file__ = f"/work/harness/{name}"
    exec(compile(text, name, "exec"), module.__dict__)
module.main(sys.argv[2])
"""


def source(name: str) -> str:
    """Return the text of one of these files."""
    return (_HERE / name).read_text(encoding="utf-8")


def zygote_arguments(**settings: object) -> list[str]:
    """Return the arguments for Python that start a zygote with these settings (`zygote.main`)."""
    files = {name: source(name) for name in (*reversed(_FILES), *_ZYGOTE_FILES)}
    return ["-c", _LOADER, json.dumps(files), json.dumps(settings)]


def runner_files() -> dict[str, bytes]:
    """Return the files of the workspace's `harness/` by name."""
    return {name: (_HERE / name).read_bytes() for name in _FILES}


def runner_sha256() -> str:
    """Return the identity of all code that runs in the sandbox beside the task's."""
    return hashlib.sha256(b"".join([source("bootstrap.py").encode(), *runner_files().values()])).hexdigest()
