"""Start a benchmark of one's own: a folder with benchmark.yaml and a copy of the installed environments."""

import json
import re
import shutil
import uuid
from datetime import UTC, datetime
from pathlib import Path

from ..base.errors import ArgumentError, InputError
from ..base.files import write_atomically
from ..base.paths import benchmark_folder


def new_benchmark(folder: Path, *, title: str, name: str = "") -> Path:
    """Write `benchmark.yaml` and `environments/` into a folder that has neither; return the folder.

    The environments are copies, so the images that exist already are used.

    Args:
        title: the benchmark's title for readers, at the top of its card.
        name: name of the dataset folder to build (default: that of the folder).

    Raises:
        InputError: the folder is already a benchmark.
        ArgumentError: the name is not valid.
    """
    if (folder / "benchmark.yaml").exists() or (folder / "environments").exists():
        raise InputError(f"{folder}: is already a benchmark; nothing is overwritten")
    name = name or re.sub(r"[^a-z0-9._-]+", "-", folder.resolve().name.lower()).strip("-._")
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", name) or name == "lmr-bench":
        raise ArgumentError("name", f"{name!r}: choose one of your own, of the form my-bench")
    if not title.strip():
        raise ArgumentError("title", "is empty")
    shutil.copytree(benchmark_folder() / "environments", folder / "environments")
    facts = {
        "name": name,
        "title": " ".join(title.split()),
        "version": "0.1.0",
        "date": datetime.now(UTC).date().isoformat(),
        "canary": f"{name} canary GUID {uuid.uuid4()}",
    }
    head = "# The benchmark as a whole. The version changes whenever a row does; the canary is fixed for ever.\n"
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in facts.items()]
    write_atomically(folder / "benchmark.yaml", head + "".join(lines))
    return folder
