"""The layout of the results dataset, the records on its main branch, and the files of the Space."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmrbench_data.base import names, proportions
from lmrbench_data.base.errors import InputError
from lmrbench_data.base.files import write_atomically
from lmrbench_data.base.hub_client import hub_errors
from lmrbench_data.base.paths import cards_folder
from lmrbench_data.base.proportions import TRACKS
from lmrbench_data.base.text import one_line, plural

from ..predictions.prediction import AnswerKey
from ..reports import stats
from . import record as record_format
from .record import Record

if TYPE_CHECKING:
    from huggingface_hub import HfApi

MIB = 1024 * 1024
#: The files that a submission may add below `runs/<run_id>/`, with their largest size in bytes.
ALLOWED = {
    "run.json": 1 * MIB,
    "predictions.jsonl": 256 * MIB,
    "results.jsonl": 256 * MIB,
    "judgements.jsonl": 256 * MIB,
}
NEEDED = ("run.json", "predictions.jsonl")
#: The modules that the Space gets a copy of: they import nothing of ours.
SPACE_MODULES = (names, proportions, record_format, stats)
#: Folder of the Space with the records of local runs.
LOCAL = "local"
#: Limits of a run: what the leaderboard can show.
MAX_ROWS = 50_000
MAX_ENTRIES = 100
MAX_SAMPLES = 1000
_PUBLISHED_FACTS = (
    "run_id",
    "dataset",
    "config",
    "dataset_sha256",
    "benchmark_version",
    "harness_version",
    "sandbox",
    "official_sandbox",
    "isolation",
    "timeout_scale",
    "fresh_seed_count",
    "scope",
    "difficulties",
    "images",
    "limits",
    "complete",
    "started_at",
    "finished_at",
)


def published_facts(facts: Mapping[str, Any], run_id: str) -> bytes:
    """Return the run.json that is published: facts about the run, none about the machine."""
    published = {name: facts[name] for name in _PUBLISHED_FACTS if name in facts}
    published["run_id"] = run_id
    return (json.dumps(published, indent=2) + "\n").encode()


def record_path(run_id: str) -> str:
    """Return the path of the record of a verified run."""
    return f"verified/{run_id}.json"


def list_files(api: "HfApi", repo_id: str, revision: str) -> dict[str, tuple[str, int]]:
    """List the files of a revision: path → (hash of the content, size in bytes)."""
    from huggingface_hub.hf_api import RepoFile

    tree = api.list_repo_tree(repo_id, repo_type="dataset", revision=revision, recursive=True)
    return {item.path: (item.blob_id, item.size) for item in tree if isinstance(item, RepoFile)}


def check_free(
    api: "HfApi", repo_id: str, run_id: str, where: str, fix: str
) -> tuple[str, dict[str, tuple[str, int]]]:
    """Return the head of main and its files; InputError if there are files of this run.

    Args:
        where: the place in messages.
        fix: what to do about a run that is there.
    """
    with hub_errors(where):
        head = str(api.dataset_info(repo_id, revision="main").sha)
        files = list_files(api, repo_id, head)
    for name in sorted(files):
        in_folder = f"{name}/".startswith(f"runs/{run_id}/")
        if in_folder or name in (record_path(run_id), f"data/{run_id}.parquet"):
            raise InputError(f"{where}: run {run_id} exists already ({name}); {fix}")
    return head, files


def shown(text: Any) -> str:
    """Return text of a submission as one short line without invisible characters."""
    return one_line(text)[:120]


def table_faults(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return why results cannot be published: none, no track, or more than the board shows."""
    if not rows:
        return ["it has no results"]
    faults = _track_faults(rows)
    samples = Counter(AnswerKey.of(row).row._replace(sample=0) for row in rows)
    entries = {key._replace(instance_id="") for key in samples}
    if len(rows) > MAX_ROWS:
        faults.append(f"it has more than {MAX_ROWS} rows; submit it in parts")
    if max(samples.values()) > MAX_SAMPLES:
        faults.append(f"it has more than {MAX_SAMPLES} samples of an instance")
    if len(entries) > MAX_ENTRIES:
        faults.append(f"it has more than {MAX_ENTRIES} models, settings and tracks")
    return faults


def _track_faults(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    trackless = [row for row in rows if row["track"] not in TRACKS]
    if not trackless:
        return []
    return [
        f"{len(trackless)} of {plural(len(rows), 'row')} without a track"
        f" ({one_line(AnswerKey.of(trackless[0]))}); set `track` to {' or '.join(TRACKS)}"
        " in these predictions and evaluate again"
    ]


def write_space(folder: Path, local: Sequence[Record] = ()) -> list[Path]:
    """Write the files of a Space repository into a folder, new or empty; return these files.

    Args:
        local: records to show in place of those of a results dataset.
    """
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder}: is not an empty folder; name a new one, or remove it")
    contents = {}
    for path in sorted((cards_folder() / "space").iterdir()):
        if path.is_file():
            contents[path.name] = path.read_bytes()
    for module in SPACE_MODULES:
        path = Path(str(module.__file__))
        contents[f"base/{path.name}"] = path.read_bytes()
    for record in local:
        contents[f"{LOCAL}/{record.run_id}.json"] = record.model_dump_json().encode()
    for name, content in contents.items():
        write_atomically(folder / name, content)
    return [folder / name for name in contents]
