"""Build the dataset: tasks become rows, and rows a folder for `load_dataset` and `push_to_hub`.

Two builds of the same tree are byte-identical. The card's header contains the content hash, which is part of the key of
the `datasets` cache, so `datasets` never serves a changed build from a stale cache.
"""

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from ..base.archive import pack
from ..base.errors import InputError, LoadError
from ..base.files import replace_folder
from ..base.jobs import Progress
from ..loader import (
    CONFIGS,
    File,
    NoConfigError,
    archive_sha256,
    data_file,
    dataset_sha256,
    read_card_stamp,
    recordings_sha256,
    row_sha256,
)
from ..tasks.manifest import Benchmark, load_benchmark
from ..tasks.recordings import Recording, read_recording
from ..tasks.task import Instance, Task
from .card import Table, render_card, render_eval_yaml
from .columns import columns, schema
from .rows import DatasetRow, DeclaredCase, RowChoice, config_of

#: Files of a dataset folder; a build may lack the rows of a configuration.
FILES = ("README.md", "eval.yaml", "loader.py", *map(data_file, CONFIGS))
_LOADER = Path(__file__).resolve().parents[1] / "loader.py"


def build_rows(tasks: Iterable[Task], progress: Progress | None = None) -> list[DatasetRow]:
    """Build the rows of tasks from their recordings, sorted by instance id; nothing runs."""
    tasks, progress = list(tasks), progress or Progress()
    progress.start(sum(len(task.instances) for task in tasks))
    rows = []
    for task in tasks:
        benchmark, tag = load_benchmark(task.folder.parent), task.image_tag
        for item in task.instances:
            rows.append(build_row(task, item, benchmark, tag, read_recording(task, item)))
            progress.step(item.instance_id)
    return sorted(rows, key=lambda row: row["instance_id"])


def build_row(
    task: Task, instance: Instance, benchmark: Benchmark, docker_image: str, recording: Recording
) -> DatasetRow:
    """Build the row of one instance."""
    archive = pack(task.masked_repo(instance))
    tests = instance.tests
    is_altered = (
        instance.configuration.is_altered
    )  # such rows have no link to the real paper but its title
    row: dict[str, Any] = {
        "instance_id": instance.instance_id,
        "category": instance.category,
        "paper_title": task.paper["title"],
        "paper_url": "" if is_altered else task.paper["url"],
        "arxiv_id": "" if is_altered else task.paper["arxiv_id"] or "",
        "venue": task.paper["venue"],
        "year": task.paper["year"],
        "upstream_repo": "" if is_altered else task.upstream_repo,
        "instruction": task.instruction_of(instance),
        "paper_text": task.paper_of(instance, recording.tables),
        "repo_name": task.repo_name,
        "repo_archive": archive,
        "repo_sha256": archive_sha256(archive),
        "context_files": list(instance.context_files),
        "evidence": task.evidence(instance),
        "tests_archive": pack({"cases.py": File(task.cases(instance))}),
        "expected": recording.outputs,
        "recording": {
            "sha256": recording.sha256,
            "image": recording.image,
            "sandbox": recording.sandbox,
            "cpu": recording.cpu,
        },
        "tests": {
            "seeds": list(tests.seeds),
            "timeout_s": tests.timeout_s,
            "memory_mb": tests.memory_mb,
            "cases": [cast(DeclaredCase, dict(case)) for case in recording.cases],
        },
        "test_protocol": "cases",
        "docker_image": docker_image,
        "benchmark_version": benchmark.version,
        "license": task.license,
        "canary": benchmark.canary,
        "row_sha256": "",
    }
    row |= instance.columns(task.golden_files(instance))
    if is_altered:
        row["choices"] = list(_choices(task, instance))
    full = {**row, "row_sha256": row_sha256(row)}
    return cast(
        DatasetRow, {column.name: full[column.name] for column in columns() if column.name in full}
    )


def _choices(task: Task, instance: Instance) -> Iterator[RowChoice]:
    """Yield the choices of a paper with the recorded outputs of their options."""
    options = {item.instance_id: item for item in task.options}
    for choice in task.choices:
        recordings = {
            option: read_recording(task, options[task.option_id(choice, option)])
            for option in choice.options
        }
        yield {
            "name": choice.name,
            "question": choice.question,
            "published": choice.published,
            "stated": instance.option_of(choice),
            "open": choice.name in instance.open,
            "cases": [
                case["name"]
                for case in recordings[choice.published].cases
                if choice.is_tested_by(case)
            ],
            "options": [
                {"name": option, "expected": found.outputs} for option, found in recordings.items()
            ],
        }


def write_dataset(rows: Iterable[DatasetRow], folder: Path, benchmark: Benchmark) -> str:
    """Write the dataset folder (FILES) with rows of any configurations, which replaces an older build.

    Returns:
        The content hash of the first configuration.
    """
    folder = folder.resolve()
    refuse_foreign(folder)
    rows = list(rows)
    groups = {name: [row for row in rows if config_of(row) == name] for name in CONFIGS}
    configs = {name: group for name, group in groups.items() if group}
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Built in a temporary folder and moved, so that an interrupted build does not damage the old one.
    try:
        staging = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-"))
    except OSError as error:  # name the caller's folder, not the temporary one
        raise type(error)(error.errno, error.strerror, str(folder)) from error
    try:
        tables = {
            name: _write_table(name, found, staging / data_file(name))
            for name, found in configs.items()
        }
        (staging / "README.md").write_text(render_card(tables, benchmark), encoding="utf-8")
        (staging / "loader.py").write_bytes(_LOADER.read_bytes())
        (staging / "eval.yaml").write_text(render_eval_yaml(benchmark, tables), encoding="utf-8")
        staging.chmod(0o755)
        replace_folder(staging, folder)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return next(iter(tables.values())).sha256


def refuse_foreign(folder: Path) -> None:
    """Refuse to replace anything but an earlier build without other files (notes, a `.git`)."""
    fix = "use an empty folder"
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InputError(f"{folder}: is a file; {fix}")
    files = [path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]
    ours = {folder / name for name in FILES}
    if foreign := [
        path for path in files if path not in ours and path.parent != folder / "__pycache__"
    ]:
        raise InputError(
            f"{folder}: contains other files ({foreign[0].relative_to(folder)}); {fix}"
        )
    if files:
        try:
            read_card_stamp(folder / "README.md", str(folder))
        except NoConfigError:
            return  # a private set
        except LoadError as error:
            raise InputError(f"{error}; {fix}") from error


def _write_table(config: str, rows: Sequence[DatasetRow], path: Path) -> Table:
    """Write the rows of a configuration as Parquet."""
    import pyarrow as pa
    import pyarrow.parquet
    from datasets import Features

    path.parent.mkdir(parents=True)
    features = Features.from_arrow_schema(schema(config))
    table = pa.Table.from_pylist(list(rows), schema=features.arrow_schema)
    pa.parquet.write_table(table, path)
    return Table(
        rows=rows,
        sha256=dataset_sha256(rows),
        recordings=recordings_sha256(rows),
        features=features,
        path=data_file(config),
        num_bytes=table.nbytes,
        download_bytes=path.stat().st_size,
    )
