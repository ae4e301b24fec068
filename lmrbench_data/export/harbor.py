"""Task folders for Harbor: the workspace that an agent sees, the reference, and a verifier made of our modules.

```
DIR/registry.json      a dataset of Harbor for each configuration
DIR/<instance>/
  task.toml            resources, limits, metadata
  instruction.md       TASK.md
  environment/         Dockerfile, and workspace/ for the agent: TASK.md, paper.md and repo/
  tests/               Dockerfile, test.sh, harness.zip (our modules), row.json.gz (cases and expected outputs)
  solution/            solve.sh, and the reference's files
```

Harbor verifies in a container of its own that gets only `repo/` from the agent's. A harness without that feature runs
the same test.sh in the agent's container.
"""

import itertools
import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lmrbench_evaluate.runner import runner_sha256
from lmrbench_evaluate.sandbox.base import START_S
from lmrbench_evaluate.sandbox.meter import wall_limit

from ..base.configurations import configuration_of
from ..base.errors import InputError
from ..base.files import write_atomically
from ..base.jobs import Progress
from ..base.version import __version__
from ..dataset.load import load_rows, rows_by_config
from ..dataset.rows import DatasetRow, check_contracts, choose_rows, golden_files_of
from ..generation.settings import AgentSettings
from ..generation.workspace import REPO, TASK, workspace_files
from ..loader import File
from ..tasks.environments import registry_tag
from .folders import MARKER, write_folder
from .harness_zip import harness_zip
from .settings import HarborSettings
from .verifier import ROW, row_bytes

#: Folder of the workspace in the container.
WORKDIR = "/app"
_ORG = "lmr-bench"
_SCHEMA_VERSION = "1.4"
_BUILD_S = 3600
#: Marks a registry as ours.
_MADE_BY = "written by `lmrbench export harbor`"
#: Memory beside that of tested code, for the harness or for an agent that runs inside.
_MORE_MEMORY_MB = 1024
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
run='import sys; sys.path.insert(0, sys.argv.pop(1)); from lmrbench_data.export.verifier import main; main()'
exec python3 -I -c "$run" "$work" /tests {WORKDIR}/{REPO} /logs/verifier
"""
_SOLVE_SH = f"""#!/bin/sh
# Writes the reference.
set -eu
cp -R "$(dirname "$0")/files/." {WORKDIR}/{REPO}/
"""


def export_harbor(settings: HarborSettings, progress: Progress | None = None) -> list[str]:
    """Write a task folder for each row, and the registry; return the instances."""
    progress, rows = progress or Progress(), _rows(settings)
    registry = settings.out / "registry.json"
    if registry.exists() and _MADE_BY not in registry.read_text(encoding="utf-8", errors="replace"):
        raise InputError(f"{registry}: not an export of lmrbench; use an empty folder, or remove it")
    progress.start(len(rows))
    for row in rows:
        files = harbor_task(row, track=settings.track, network=settings.network)
        write_folder(settings.out / row["instance_id"], files)
        progress.step(configuration_of(row).name)
    write_atomically(registry, json.dumps(list(_datasets(settings.out)), indent=1) + "\n")
    return [row["instance_id"] for row in rows]


def _datasets(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the entries of registry.json, for all exported tasks of a folder."""
    tasks: dict[tuple[str, str], list[dict[str, str]]] = {}
    for task in sorted(path.parent for path in folder.glob(f"*/{MARKER}")):
        try:
            facts = tomllib.loads((task / "task.toml").read_text(encoding="utf-8"))
            key = facts["metadata"]["config"], facts["task"]["version"]
        except (OSError, ValueError, LookupError) as error:
            raise InputError(f"{task}: damaged ({type(error).__name__}); remove it, and export again") from error
        tasks.setdefault(key, []).append({"name": task.name, "path": task.name})
    for (config, version), found in sorted(tasks.items()):
        description = f"LMR-Bench, configuration {config}; {_MADE_BY}"
        yield {"name": config, "version": version, "description": description, "tasks": found}


def _rows(settings: HarborSettings) -> list[DatasetRow]:
    """Return the rows to export, from one configuration or from all that the dataset has."""
    if settings.config is not None:
        rows = load_rows(settings.dataset, settings.config, settings.instances)
    else:
        rows = list(itertools.chain(*rows_by_config((), settings.dataset, every=True).values()))
    rows = choose_rows(rows, settings.instances)
    check_contracts(rows, settings.track)
    return rows


def harbor_task(row: DatasetRow, *, track: str = "paper", network: str = "public") -> dict[str, File]:
    """Return the files of a row's task folder, by path."""
    image = registry_tag(row["docker_image"])
    workspace = workspace_files(row, track=track, has_network=network == "public")
    instruction = f"Your workspace is `{WORKDIR}`.\n\n".encode() + workspace[TASK].data
    return {
        "task.toml": File(_toml(_task(row, track, network)).encode()),
        "instruction.md": File(instruction),
        "environment/Dockerfile": File(_ENVIRONMENT.format(image=image).encode()),
        **{f"environment/workspace/{name}": file for name, file in workspace.items()},
        "tests/Dockerfile": File(_TESTS.format(image=image).encode()),
        "tests/test.sh": File(_TEST_SH.encode(), executable=True),
        "tests/harness.zip": File(harness_zip()),
        f"tests/{ROW}": File(row_bytes(row)),
        "solution/solve.sh": File(_SOLVE_SH.encode(), executable=True),
        **{f"solution/files/{name}": File(text.encode()) for name, text in golden_files_of(row).items()},
    }


def _task(row: DatasetRow, track: str, network: str) -> dict[str, Any]:
    """Return the content of task.toml."""
    tests, config = row["tests"], configuration_of(row).name
    policy = {"network_mode": "public" if network == "public" else "no-network"}
    # Hosts that a run opens to install an agent are then closed while it works, and closed to the verifier.
    phase = {} if network == "public" else policy
    return {
        "schema_version": _SCHEMA_VERSION,
        "artifacts": [f"{WORKDIR}/{REPO}"],
        "task": {
            "name": f"{_ORG}/{row['instance_id']}",
            "version": row["benchmark_version"],
            "description": f"Reproduce {row['paper_title']} ({config})",
            "keywords": [_ORG, config, row["category"]],
        },
        "metadata": {
            "config": config,
            "track": track,
            "category": row["category"],
            "paper_title": row["paper_title"],
            "license": row["license"],
            "canary": row["canary"],
            **{name: row[name] for name in ("cpu_budget_s", "difficulty") if name in row},
            "row_sha256": row["row_sha256"],
            "harness_version": __version__,
            "runner_sha256": runner_sha256(),
        },
        "environment": {
            "build_timeout_sec": _BUILD_S,
            "workdir": WORKDIR,
            "cpus": 1,
            "memory_mb": tests["memory_mb"] + _MORE_MEMORY_MB,
            **policy,
        },
        "agent": {"timeout_sec": AgentSettings.model_fields["timeout_s"].default, **phase},
        # Our own limits end a run first. An overloaded machine gets a second try.
        "verifier": {
            "timeout_sec": 2 * (START_S + wall_limit(tests["timeout_s"])),
            "environment_mode": "separate",
            **phase,
        },
    }


def _toml(values: Mapping[str, Any]) -> str:
    """Return values, then tables as TOML, whose strings, numbers and lists of these are those of JSON."""
    lines = []
    for name, value in sorted(values.items(), key=lambda item: isinstance(item[1], dict)):
        if isinstance(value, dict):
            lines.append(f"\n[{name}]\n{_toml(value)}")
        else:
            lines.append(f"{name} = {json.dumps(value, ensure_ascii=False)}\n".replace("\x7f", "\\u007f"))
    return "".join(lines)
