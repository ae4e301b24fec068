"""The embedded dataset: the installed package's own tasks, built once into the user's cache.

One is kept for each kind of sandbox in which its expected outputs were recorded. That of `docker` is preferred wherever
it exists: what a machine's own Python returns may differ from what the image returns.
"""

import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import lmrbench_data

from .archive import IGNORED_PARTS
from .evaluate.sandbox import Say, open_sandbox
from .loader import DATA_FILE
from .paths import benchmark_folder, cache_folder, cards_folder

FOLDER_NAME = "lmr-bench"


def embedded_key() -> str:
    """Identity of everything that the embedded dataset is built from: tasks, cards and the package's own code."""
    evaluate = Path(__file__).resolve().parent
    data_side = Path(lmrbench_data.__file__).resolve().parent
    digest = hashlib.sha256()
    for folder in (data_side, data_side / "schema", evaluate, evaluate / "runner"):
        for path in sorted([*folder.glob("*.py"), *folder.glob("*.json")]):
            _add(digest, path.name, path)
    for folder in (benchmark_folder(), cards_folder()):
        for name, path in sorted(_tree(folder)):
            _add(digest, name, path)
    return digest.hexdigest()[:16]


def _add(digest: "hashlib._Hash", name: str, path: Path) -> None:
    content = path.read_bytes()
    digest.update(f"{name}\0{path.stat().st_mode & 0o100}\0{len(content)}\0".encode() + content)


def _tree(folder: Path) -> Iterator[tuple[str, Path]]:
    """(relative name, file) of a tree, without the variants of tasks: rows do not depend on them, and they are many."""
    for place, folders, names in os.walk(folder):
        of_a_task = "task.yaml" in names
        folders[:] = [name for name in folders if name not in IGNORED_PARTS and not (of_a_task and name == "variants")]
        yield from ((os.path.relpath(os.path.join(place, name), folder), Path(place, name)) for name in names)


def ensure_embedded(sandbox_kind: str = "auto", say: Say | None = None) -> Path:
    """The folder of the embedded dataset; built now, in a sandbox, if this version of it is not in the cache yet.

    Args:
        sandbox_kind: where to build it: auto, docker or local. `docker` insists on a recording of that kind.

    Raises:
        InputError: a task of the installation is unsound.
        InfraError: no sandbox can run the references.
    """
    root = cache_folder() / "datasets" / embedded_key()
    for kind in ("docker",) if sandbox_kind == "docker" else ("docker", "local"):
        folder = root / kind / FOLDER_NAME
        if (folder / DATA_FILE).is_file():
            return folder
    # Needed to build only: a second load must not pay for them.
    from filelock import FileLock

    from .build import build_rows, load_benchmark, write_dataset
    from .evaluate.tasks.record import default_recorder
    from .tasks import load_tasks

    report = say or _print_to_stderr
    sandbox = open_sandbox(sandbox_kind, report)
    folder = root / sandbox.name / FOLDER_NAME
    root.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(root / f"{sandbox.name}.lock"):
            if (folder / DATA_FILE).is_file():
                return folder  # another process has built it in the meantime
            report(f"building the embedded dataset once (the references run in the {sandbox.name} sandbox)")
            recorder = default_recorder(sandbox, report)
            rows = build_rows(load_tasks(), recorder, lambda name: report(f"  recorded {name}"), workers=2)
            write_dataset(rows, folder, load_benchmark())
    finally:
        sandbox.close()
    return folder


def _print_to_stderr(line: str) -> None:
    print(line, file=sys.stderr)
