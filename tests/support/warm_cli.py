"""A warm `subprocess.run` for Python commands: a fork of a server that has imported libraries and this project.

The server imports no library that reads the environment on import (`huggingface_hub`, `datasets`).
"""

import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

LIBRARIES = [
    *("pytest", "typer", "rich.table", "rich.progress", "jinja2", "jsonschema", "yaml", "filelock", "numpy", "pandas"),
    *("pyarrow.parquet", "pyarrow.dataset", "pyarrow.json", "fsspec.asyn", "fsspec.archive", "dill", "xxhash"),
    *("fsspec.implementations.local", "fsspec.implementations.dirfs", "multiprocess.pool", "multiprocessing.pool"),
    *("httpx", "openai", "docker", "tqdm.auto", "tqdm.contrib.concurrent", "unittest.mock", "xml.dom.minidom"),
    *("lmrbench.cli", "lmrbench.generation.sampling", "lmrbench.checks.check"),
    *("lmrbench_evaluate.judge.judging", "lmrbench_evaluate.reports.html", "lmrbench_evaluate.hub.verify"),
]
_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(LIBRARIES)


def run(
    command: Sequence[object],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 120,
) -> subprocess.CompletedProcess[str]:
    """Behave like `subprocess.run` with `[".../lmrbench", ...]` or `[sys.executable, "-c", program, ...]`.

    Its output is captured as text.
    """
    words = [os.fspath(word) for word in command]  # type: ignore[call-overload]
    with tempfile.TemporaryDirectory() as folder:
        streams = [Path(folder, name) for name in ("stdout", "stderr")]
        for stream in streams:
            stream.touch()
        environment = dict(os.environ if env is None else env)
        process = _SERVER.Process(target=_become, args=(words, cwd or Path.cwd(), environment, streams))
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(words, timeout)
        outputs = [stream.read_text() for stream in streams]
    return subprocess.CompletedProcess(words, process.exitcode, *outputs)


def _become(words: list[str], folder: Path, environment: Mapping[str, str], streams: Sequence[Path]) -> None:
    """Run the command in this process."""
    for number, path in enumerate((os.devnull, *streams)):
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND)
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    is_program = words[1:2] == ["-c"]
    program = words[2] if is_program else "from lmrbench.cli import main; main()"
    sys.argv = ["-c", *words[3:]] if is_program else words
    exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})
