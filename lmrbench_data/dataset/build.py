"""Build the dataset: tasks become rows, and rows a folder for `load_dataset` and `push_to_hub`.

Two builds of the same tree are byte-identical. The card's header contains the content hash, which
is part of the key of the `datasets` cache, so `datasets` never serves a changed build from a stale
cache.
"""

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from ..base.archive import pack
from ..base.errors import InputError, LoadError
from ..base.files import errors_name, replace_folder
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
from .rows import DatasetRow, RowChoice, config_of

#: Files of a dataset folder; a build may lack the rows of a configuration.
FILES = ("README.md", "eval.yaml", "loader.py", *map(data_file, CONFIGS))
_LOADER = Path(__file__).resolve().parents[1] / "loader.py"


def build_rows(tasks: Iterable[Task], progress: Progress | None = None) -> list[DatasetRow]:
    """Build the rows of tasks from their recordings, sorted by instance id; nothing runs."""
    tasks = list(tasks)
    progress = progress or Progress()
    progress.start(sum(len(task.instances) for task in tasks))
    rows = []
    for task in tasks:
        for item in task.instances:
            rows.append(build_row(task, item, read_recording(task, item)))
            progress.step(item.instance_id)
    return sorted(rows, key=lambda row: row["instance_id"])


def build_row(task: Task, instance: Instance, recording: Recording) -> DatasetRow:
    """Build the row of one instance."""
    archive = pack(task.masked_repo(instance))
    benchmark = load_benchmark(task.folder.parent)
    row: dict[str, Any] = {
        "instance_id": instance.instance_id,
        "category": instance.category,
        "paper_title": task.paper["title"],
        "paper_url": task.paper["url"],
        "arxiv_id": task.paper["arxiv_id"] or "",
        "venue": task.paper["venue"],
        "year": task.paper["year"],
        "upstream_repo": task.upstream_repo,
        "instruction": instance.instruction_for(task.choices),
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
            "seeds": list(instance.tests.seeds),
            "timeout_s": instance.tests.timeout_s,
            "memory_mb": instance.tests.memory_mb,
            "cases": list(map(dict, recording.cases)),
        },
        "test_protocol": "cases",
        "docker_image": task.image_tag,
        "benchmark_version": benchmark.version,
        "license": task.license,
        "canary": benchmark.canary,
        **instance.columns(task.golden_files(instance)),
    }
    if instance.configuration.is_altered:
        row["choices"] = list(_choices(task, instance))
        # Nothing but the title links such a row to the published paper.
        row |= {"paper_url": "", "arxiv_id": "", "upstream_repo": ""}
    row["row_sha256"] = row_sha256(row)
    names = [column.name for column in columns() if column.name in row]
    return cast(DatasetRow, {name: row[name] for name in names})


def _choices(task: Task, instance: Instance) -> Iterator[RowChoice]:
    """Yield the choices of a paper with the recorded outputs of their options."""
    instances = {item.instance_id: item for item in task.options}
    for choice in task.choices:
        recordings = {}
        for option in choice.options:
            recordings[option] = read_recording(task, instances[task.option_id(choice, option)])
        cases = recordings[choice.published].cases
        yield {
            "name": choice.name,
            "question": choice.question,
            "published": choice.published,
            "stated": instance.option_of(choice),
            "open": choice.name in instance.open,
            "cases": [case["name"] for case in cases if choice.is_tested_by(case)],
            "options": [
                {"name": option, "expected": recording.outputs}
                for option, recording in recordings.items()
            ],
        }


def write_dataset(rows: Iterable[DatasetRow], folder: Path, benchmark: Benchmark) -> None:
    """Write the dataset folder (FILES) with rows of any configurations; it replaces a build."""
    folder = folder.resolve()
    refuse_foreign(folder)
    staging = _staging_folder(folder)
    try:
        with errors_name(folder):
            _write_files(list(rows), staging, benchmark)
        staging.chmod(0o755)
        replace_folder(staging, folder)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _staging_folder(folder: Path) -> Path:
    """Make a folder for a build, which must not damage the old one when it is interrupted."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with errors_name(folder):
        return Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-"))


def _write_files(rows: Sequence[DatasetRow], folder: Path, benchmark: Benchmark) -> None:
    """Write FILES into an empty folder."""
    tables: dict[str, Table] = {}
    for config in CONFIGS:
        group = [row for row in rows if config_of(row) == config]
        if group:
            tables[config] = _write_table(config, group, folder / data_file(config))
    (folder / "README.md").write_text(render_card(tables, benchmark), encoding="utf-8")
    (folder / "loader.py").write_bytes(_LOADER.read_bytes())
    (folder / "eval.yaml").write_text(render_eval_yaml(benchmark, tables), encoding="utf-8")


def refuse_foreign(folder: Path) -> None:
    """Refuse to replace anything but an earlier build without other files (notes, a `.git`)."""
    fix = "use an empty folder"
    if folder.is_file():
        raise InputError(f"{folder}: is a file; {fix}")
    names = _files_in(folder)
    for name in names:
        if name not in FILES and not name.startswith("__pycache__/"):
            raise InputError(f"{folder}: contains other files ({name}); {fix}")
    if not names:
        return
    try:
        read_card_stamp(folder / "README.md", str(folder))
    except NoConfigError:
        return  # a private set
    except LoadError as error:
        raise InputError(f"{error}; {fix}") from error


def _files_in(folder: Path) -> list[str]:
    files = [path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]
    return [path.relative_to(folder).as_posix() for path in files]


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
