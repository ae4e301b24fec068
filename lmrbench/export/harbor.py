"""Task folders for Harbor: the workspace of an agent, the reference, and our verifier.

```
DIR/registry.json      a dataset of Harbor for each configuration
DIR/<instance>/
  task.toml            resources, limits, metadata
  instruction.md       TASK.md
  environment/         Dockerfile, and workspace/ for the agent: TASK.md, paper.md and repo/
  tests/               Dockerfile, test.sh, harness.zip (our modules), row.json.gz (cases, outputs)
  solution/            solve.sh, and the reference's files
```

Harbor verifies in another container, which gets only `repo/` from the agent's. A harness without
that feature runs the same test.sh in the agent's container.
"""

import functools
import importlib
import io
import itertools
import json
import os
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmrbench_data.base.configurations import configuration_of
from lmrbench_data.base.errors import InputError
from lmrbench_data.base.jobs import Progress
from lmrbench_data.base.templates import environment
from lmrbench_data.base.version import __version__
from lmrbench_data.dataset.load import load_rows, rows_by_config
from lmrbench_data.dataset.rows import DatasetRow, check_contracts, choose_rows, golden_files_of
from lmrbench_data.loader import File, write_files
from lmrbench_data.tasks.environments import registry_tag
from lmrbench_evaluate.runner import runner_sha256
from lmrbench_evaluate.sandbox.base import START_S
from lmrbench_evaluate.sandbox.meter import wall_limit

from ..generation.settings import AgentSettings
from ..generation.workspace import REPO, TASK, workspace_files
from .settings import HarborSettings
from .verifier import ROW, row_bytes

#: Folder of the workspace in the container.
WORKDIR = "/app"
#: Memory beside that of tested code, for the harness or for an agent that runs inside.
_MORE_MEMORY_MB = 1024
#: The earliest time that a zip can state.
_EPOCH = (1980, 1, 1, 0, 0, 0)
#: The system and mode of the files of a zip.
_UNIX = 3
_FILE_MODE = 0o100644 << 16
#: Folders of an installed package that are data.
_DATA = ("benchmark", "cards")
_ENVIRONMENT = f"FROM {{image}}\nWORKDIR {WORKDIR}\nCOPY workspace/ {WORKDIR}/\n"
#: From Harbor 0.26 on, commands of the verifier run in the environment's work folder, too.
_TESTS = f"FROM {{image}}\nWORKDIR {WORKDIR}\nCOPY . /tests/\n"
_TEST_SH = f"""#!/bin/sh
# Grades {WORKDIR}/{REPO} with LMR-Bench's own modules; writes reward.json and verdict.json.
set -eu
umask 022
work=$(mktemp -d)
python3 -I -m zipfile -e /tests/harness.zip "$work"
mkdir -p /logs/verifier
run='import sys; sys.path.insert(0, sys.argv.pop(1)); \
from lmrbench.export.verifier import main; main()'
exec python3 -I -c "$run" "$work" /tests {WORKDIR}/{REPO} /logs/verifier
"""
_SOLVE_SH = f"""#!/bin/sh
# Writes the reference.
set -eu
cp -R "$(dirname "$0")/files/." {WORKDIR}/{REPO}/
"""


def export_harbor(settings: HarborSettings, progress: Progress | None = None) -> list[str]:
    """Write a task folder for each row, and the registry, all or nothing; return the instances.

    Raises:
        InputError: `settings.out` is not a new or empty folder.
    """
    progress = progress or Progress()
    rows = _rows(settings)
    out = settings.out.resolve()
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{settings.out}: is not an empty folder; name a new one, or remove it")
    out.mkdir(parents=True, exist_ok=True)
    progress.start(len(rows))
    # Inside the folder, which is not replaced: it may be the user's current folder.
    with tempfile.TemporaryDirectory(dir=out, prefix=".") as staging:
        write_tasks(rows, settings, Path(staging), progress)
        write_registry(rows, Path(staging))
        for path in sorted(Path(staging).iterdir()):
            os.replace(path, out / path.name)
    return [row["instance_id"] for row in rows]


def write_tasks(
    rows: Sequence[DatasetRow], settings: HarborSettings, folder: Path, progress: Progress
) -> None:
    """Write the task folder of each row into a folder."""
    for row in rows:
        files = harbor_task(row, track=settings.track, network=settings.network)
        write_files(files, folder / row["instance_id"])
        progress.step(configuration_of(row).name)


def write_registry(rows: Sequence[DatasetRow], folder: Path, tasks: str = "") -> None:
    """Write `registry.json`, by which Harbor finds the tasks.

    Args:
        tasks: where the task folders are below `folder`, with a slash at the end.
    """
    registry = json.dumps(_registry(rows, tasks), indent=1)
    (folder / "registry.json").write_text(registry + "\n", encoding="utf-8")


def _registry(rows: Sequence[DatasetRow], tasks: str) -> list[dict[str, Any]]:
    """Return Harbor's index: a dataset for each configuration."""
    datasets: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        config = configuration_of(row).name
        version = row["benchmark_version"]
        dataset = datasets.setdefault((config, version), _dataset(config, version))
        name = row["instance_id"]
        dataset["tasks"].append({"name": name, "path": f"{tasks}{name}"})
    return [datasets[key] for key in sorted(datasets)]


def _dataset(config: str, version: str) -> dict[str, Any]:
    return {
        "name": config,
        "version": version,
        "description": f"LMR-Bench, configuration {config}",
        "tasks": [],
    }


def _rows(settings: HarborSettings) -> list[DatasetRow]:
    """Return the rows to export, from one configuration or from all that the dataset has."""
    if settings.config is None:
        tables = rows_by_config((), settings.dataset, every=True)
        rows = list(itertools.chain(*tables.values()))
    else:
        rows = load_rows(settings.dataset, settings.config, settings.instances)
    rows = choose_rows(rows, settings.instances)
    check_contracts(rows, settings.track)
    return rows


def harbor_task(row: DatasetRow, *, track: str = "paper", network: str = "none") -> dict[str, File]:
    """Return the files of a row's task folder, by path."""
    image = registry_tag(row["docker_image"])
    workspace = workspace_files(row, track=track, has_network=network == "public")
    # Harbor strips a first line with a canary, so that agents do not see it.
    top = f"<!-- {row['canary']} -->\n\nYour workspace is `{WORKDIR}`.\n\n"
    instruction = top.encode() + workspace[TASK].data
    files = {
        "task.toml": _file(_toml(row, track, network)),
        "instruction.md": File(instruction),
        "environment/Dockerfile": _file(_ENVIRONMENT.format(image=image)),
        "tests/Dockerfile": _file(_TESTS.format(image=image)),
        "tests/test.sh": _file(_TEST_SH, executable=True),
        "tests/harness.zip": File(_harness_zip()),
        f"tests/{ROW}": File(row_bytes(row)),
        "solution/solve.sh": _file(_SOLVE_SH, executable=True),
    }
    for name, file in workspace.items():
        files[f"environment/workspace/{name}"] = file
    for name, text in golden_files_of(row).items():
        files[f"solution/files/{name}"] = _file(text)
    return files


def _file(text: str, *, executable: bool = False) -> File:
    return File(text.encode(), executable)


def _toml(row: DatasetRow, track: str, network: str) -> str:
    """Return task.toml."""
    templates = environment(Path(__file__).parent, q=_quoted)
    tests = row["tests"]
    return templates.get_template("task.toml.j2").render(
        row=row,
        config=configuration_of(row).name,
        track=track,
        harness_version=__version__,
        runner_sha256=runner_sha256(),
        memory_mb=tests["memory_mb"] + _MORE_MEMORY_MB,
        network_mode="public" if network == "public" else "no-network",
        agent_s=AgentSettings.model_fields["timeout_s"].default,
        # Our own limits end a run first. An overloaded machine gets a second try.
        verifier_s=2 * (START_S + wall_limit(tests["timeout_s"])),
    )


def _quoted(text: str) -> str:
    """Return a string as TOML."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


@functools.cache
def _harness_zip() -> bytes:
    """Return the code of all packages, so a verdict comes from the same modules.

    Equal code gives equal bytes.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, path in sorted(_modules().items()):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.create_system = _UNIX
            info.external_attr = _FILE_MODE
            archive.writestr(info, path.read_bytes(), zipfile.ZIP_DEFLATED, 9)
    return buffer.getvalue()


def _modules() -> dict[str, Path]:
    modules = {}
    for name in ("lmrbench", "lmrbench_data", "lmrbench_evaluate"):
        package = Path(str(importlib.import_module(name).__file__)).resolve().parent
        for path in package.rglob("*.py"):
            if path.relative_to(package).parts[0] not in _DATA:
                modules[path.relative_to(package.parent).as_posix()] = path
    return modules
