"""The embedded dataset: the installed package's own tasks, built once into the user's cache."""

import hashlib
import sys
from pathlib import Path

from lmrbench_data.archive import read_tree, tar_bytes
from lmrbench_data.evaluate.sandbox import Say, open_sandbox
from lmrbench_data.evaluate.workspace import runner_sha256
from lmrbench_data.loader import DATA_FILE
from lmrbench_data.paths import benchmark_folder, cache_folder

FOLDER_NAME = "lmr-bench"


def embedded_key() -> str:
    """Identity of everything that the embedded dataset is built from."""
    package = Path(__file__).resolve()
    content = tar_bytes(read_tree(benchmark_folder()))
    builder = b"".join(path.read_bytes() for path in (package, package.parent / "record.py"))
    return hashlib.sha256(content + builder + runner_sha256().encode()).hexdigest()[:16]


def ensure_embedded(sandbox_kind: str = "auto", say: Say | None = None) -> Path:
    """The folder of the embedded dataset; built now, in a sandbox, if this version of it is not in the cache yet.

    Raises:
        InputError: a task of the installation is unsound.
        InfraError: no sandbox can run the references.
    """
    folder = cache_folder() / "datasets" / embedded_key() / FOLDER_NAME
    if (folder / DATA_FILE).is_file():
        return folder
    # Needed to build only: a second load must not pay for them.
    from lmrbench_data.build import build_rows, load_benchmark, write_dataset
    from lmrbench_data.evaluate.record import default_recorder
    from lmrbench_data.tasks import load_tasks

    report = say or _print_to_stderr
    report("building the embedded dataset once (the references run in a sandbox)")
    sandbox = open_sandbox(sandbox_kind, report)
    try:
        rows = build_rows(load_tasks(), default_recorder(sandbox, report), lambda name: report(f"  recorded {name}"))
    finally:
        sandbox.close()
    write_dataset(rows, folder, load_benchmark())
    return folder


def _print_to_stderr(line: str) -> None:
    print(line, file=sys.stderr)
