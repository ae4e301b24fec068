"""Build the dataset: tasks become rows, rows a folder that `load_dataset` and `push_to_hub` take as it stands.

Two builds of the same tree are byte-identical. The card's header carries the content hash, which is part of the key of
the `datasets` cache, so a changed build is never served from a stale one.
"""

import dataclasses
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from .archive import pack
from .card import render_card, render_eval_yaml
from .environments import load_environments
from .errors import InputError
from .loader import DATA_FILE, SPLIT, File, LoadError, dataset_sha256, read_card_stamp, row_sha256
from .paths import benchmark_folder
from .strict_yaml import read_yaml
from .tasks import Implementation, Task

_LOADER = Path(__file__).resolve().parent / "loader.py"


@dataclass(frozen=True)
class Recorded:
    """What running a reference yields: the cases with their comparisons, and their packed outputs."""

    cases: Sequence[Mapping[str, Any]]
    expected: bytes


class Recorder(Protocol):
    """Runs a reference and returns its outputs (`evaluate/record.py`; the data side never runs tasks itself)."""

    def __call__(self, task: Task, implementation: Implementation) -> Recorded: ...


@dataclass(frozen=True)
class Benchmark:
    """`benchmark/benchmark.yaml`: what all rows share."""

    name: str
    title: str
    version: str
    canary: str


def load_benchmark(folder: Path | None = None) -> Benchmark:
    """Read `benchmark.yaml`.

    Raises:
        InputError: missing or malformed.
    """
    path = (folder or benchmark_folder()) / "benchmark.yaml"
    data = read_yaml(path)
    keys = [item.name for item in dataclasses.fields(Benchmark)]
    if data.keys() != set(keys) or not all(isinstance(value, str) for value in data.values()):
        raise InputError(f"{path}: needs {', '.join(keys)}, each text, and nothing else")
    if not re.fullmatch(r"\d+\.\d+\.\d+", data["version"]):
        raise InputError(f"{path}: version {data['version']!r} is not of the form 1.2.3")
    return Benchmark(**data)


def features() -> Any:
    """The columns of the dataset (`datasets.Features`)."""
    from datasets import Features, List, Value

    text, number, binary = Value("string"), Value("int64"), Value("binary")
    case = {
        "name": text,
        "rtol": Value("float64"),
        "atol": Value("float64"),
        "exact": Value("bool"),
        "unordered": Value("bool"),
        "sign_invariant": Value("bool"),
        "checker": text,
    }
    return Features(
        {
            "instance_id": text,
            "category": text,
            "paper_title": text,
            "paper_url": text,
            "arxiv_id": text,
            "venue": text,
            "year": number,
            "upstream_repo": text,
            "instruction": text,
            "paper_text": text,
            "repo_name": text,
            "repo_archive": binary,
            "repo_sha256": text,
            "goal_file": text,
            "goal_function": text,
            "class_name": text,
            "context_files": List(text),
            "golden_file": text,
            "tests_archive": binary,
            "expected": binary,
            "tests": {"seeds": List(number), "timeout_s": number, "memory_mb": number, "cases": List(case)},
            "test_protocol": text,
            "docker_image": text,
            "benchmark_version": text,
            "license": text,
            "canary": text,
            "row_sha256": text,
        }
    )


def build_rows(
    tasks: Iterable[Task],
    recorder: Recorder,
    on_row: Callable[[str], None] = lambda instance_id: None,
    *,
    workers: int = 1,
) -> list[dict[str, Any]]:
    """The rows of the tasks, sorted by instance id.

    Args:
        recorder: runs references; called by several threads if there are several workers.
        on_row: told each instance id when its row is done.
        workers: how many references run at a time.

    Raises:
        InputError: a task names no known environment, or its reference cannot be recorded.
    """
    places = []
    for task in tasks:
        benchmark = load_benchmark(task.folder.parent)
        environment = load_environments(task.folder.parent).get(task.environment)
        if environment is None:
            raise InputError(f"{task.folder / 'task.yaml'}: environment: no folder environments/{task.environment}")
        places += [(task, implementation, benchmark, environment.tag) for implementation in task.implementations]
    rows = []
    pool = ThreadPoolExecutor(workers)
    try:
        recordings = [pool.submit(recorder, task, implementation) for task, implementation, *_ in places]
        for place, recording in zip(places, recordings, strict=True):
            rows.append(_row(*place, recording.result()))
            on_row(place[1].instance_id)
    finally:  # after an error the caller closes the sandbox, which ends what still runs
        pool.shutdown(wait=False, cancel_futures=True)
    return sorted(rows, key=lambda row: str(row["instance_id"]))


def _row(
    task: Task, implementation: Implementation, benchmark: Benchmark, docker_image: str, recorded: Recorded
) -> dict[str, Any]:
    archive = pack(task.masked_repo(implementation))
    tests = implementation.tests
    row: dict[str, Any] = {
        "instance_id": implementation.instance_id,
        "category": implementation.category,
        "paper_title": task.paper["title"],
        "paper_url": task.paper["url"],
        "arxiv_id": task.paper["arxiv_id"] or "",
        "venue": task.paper["venue"],
        "year": task.paper["year"],
        "upstream_repo": task.upstream_repo,
        "instruction": implementation.instruction,
        "paper_text": task.paper_text,
        "repo_name": task.repo_name,
        "repo_archive": archive,
        "repo_sha256": hashlib.sha256(archive).hexdigest(),
        "goal_file": implementation.goal_file,
        "goal_function": implementation.goal_function,
        "class_name": implementation.goal_function.rpartition(".")[0],
        "context_files": list(implementation.context_files),
        "golden_file": task.golden_file(implementation),
        "tests_archive": pack({"cases.py": File(task.cases(implementation))}),
        "expected": recorded.expected,
        "tests": {
            "seeds": list(tests.seeds),
            "timeout_s": tests.timeout_s,
            "memory_mb": tests.memory_mb,
            "cases": [dict(case) for case in recorded.cases],
        },
        "test_protocol": "cases",
        "docker_image": docker_image,
        "benchmark_version": benchmark.version,
        "license": task.license,
        "canary": benchmark.canary,
    }
    return {**row, "row_sha256": row_sha256(row)}


def write_dataset(rows: Sequence[Mapping[str, Any]], folder: Path, benchmark: Benchmark) -> str:
    """Write the dataset folder (card, eval.yaml, loader.py, Parquet); an older build at that place is replaced.

    Returns:
        The dataset's content hash.

    Raises:
        InputError: `folder` holds something that is no build of ours.
    """
    folder = folder.resolve()
    _refuse_foreign(folder)
    identity = dataset_sha256(rows)
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Built beside its place and moved there whole: a build that is stopped leaves the old one as it was.
    staging = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-"))
    try:
        parquet_bytes, memory_bytes = _write_parquet(rows, staging / DATA_FILE)
        card = render_card(
            rows,
            benchmark,
            sha256=identity,
            features=features(),
            data_files=f"data/{SPLIT}-*.parquet",
            num_bytes=memory_bytes,
            download_bytes=parquet_bytes,
        )
        (staging / "README.md").write_text(card, encoding="utf-8")
        (staging / "eval.yaml").write_text(render_eval_yaml(benchmark), encoding="utf-8")
        (staging / "loader.py").write_bytes(_LOADER.read_bytes())
        staging.chmod(0o755)
        _put_in_place(staging, folder)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return identity


def _refuse_foreign(folder: Path) -> None:
    """Nothing but an earlier build of ours is ever replaced; one with other files in it (notes, a `.git`) is not."""
    mend = "give --out a new folder, nothing is overwritten"
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InputError(f"{folder}: a file is there; {mend}")
    files = [path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]
    ours = {folder / name for name in ("README.md", "eval.yaml", "loader.py", DATA_FILE)}
    if foreign := [path for path in files if path not in ours and path.parent != folder / "__pycache__"]:
        raise InputError(f"{folder}: has other content ({foreign[0].relative_to(folder)}); {mend}")
    if files:
        try:
            read_card_stamp(folder / "README.md", str(folder))
        except LoadError as error:
            raise InputError(f"{error}; {mend}") from error


def _put_in_place(staging: Path, folder: Path) -> None:
    old = staging.with_name(f"{staging.name}-old")
    try:
        if folder.exists():
            os.replace(folder, old)
        os.replace(staging, folder)
    except BaseException:
        if old.exists() and not folder.exists():
            os.replace(old, folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _write_parquet(rows: Sequence[Mapping[str, Any]], path: Path) -> tuple[int, int]:
    """Write rows; return the sizes of the file and of the table in memory."""
    from datasets import Dataset, are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    path.parent.mkdir(parents=True)
    dataset = Dataset.from_list([dict(row) for row in rows], features=features())
    shown = not are_progress_bars_disabled()
    disable_progress_bars()
    try:
        dataset.to_parquet(str(path))
    finally:
        if shown:
            enable_progress_bars()
    return path.stat().st_size, dataset.data.nbytes
