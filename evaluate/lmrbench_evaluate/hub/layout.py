"""The layout of the results dataset, the records of verified runs on its main branch, and the files of the Space."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from lmrbench_data.base import names, proportions
from lmrbench_data.base.errors import InfraError, InputError
from lmrbench_data.base.files import write_atomically
from lmrbench_data.base.hub_client import hub_errors
from lmrbench_data.base.names import PLAIN
from lmrbench_data.base.paths import cards_folder
from lmrbench_data.base.proportions import TRACKS
from lmrbench_data.base.text import one_line, plural
from lmrbench_data.dataset.columns import schema
from lmrbench_data.dataset.result_rows import ResultRow

from ..predictions.prediction import AnswerKey
from ..reports import stats
from . import record as record_format
from .record import Record

if TYPE_CHECKING:
    import pyarrow
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
MAX_ROWS, MAX_ENTRIES, MAX_SAMPLES = 50_000, 100, 1000
_PUBLISHED_FACTS = (
    *(
        "run_id",
        "dataset",
        "config",
        "dataset_sha256",
        "benchmark_version",
        "harness_version",
        "sandbox",
    ),
    *(
        "official_sandbox",
        "isolation",
        "timeout_scale",
        "fresh_seed_count",
        "scope",
        "difficulties",
        "images",
    ),
    *("limits", "complete", "started_at", "finished_at"),
)


def published_facts(facts: Mapping[str, Any], run_id: str) -> bytes:
    """Return the run.json that is published: facts about the run, none about the machine."""
    kept = {name: facts[name] for name in _PUBLISHED_FACTS if name in facts}
    return (json.dumps({**kept, "run_id": run_id}, indent=2) + "\n").encode()


def published_schema() -> "pyarrow.Schema":
    """Return the columns of a Parquet file of the results dataset."""
    import pyarrow as pa

    added = ("paper_title", "paper_url", "config", "benchmark_version", "submitted_by")
    return pa.schema([*schema(row=ResultRow), *((name, pa.string()) for name in added)])


def record_path(run_id: str) -> str:
    """Return the path of the record of a verified run."""
    return f"verified/{run_id}.json"


def belongs(name: str, run_id: str) -> bool:
    """Return whether a path of the results dataset belongs to a run."""
    folder = f"runs/{run_id}"
    return name in (record_path(run_id), f"data/{run_id}.parquet", folder) or name.startswith(
        f"{folder}/"
    )


def list_files(api: "HfApi", repo_id: str, revision: str) -> dict[str, tuple[str, int]]:
    """List the files of a revision: path → (hash of the content, size in bytes)."""
    from huggingface_hub.hf_api import RepoFile

    tree = api.list_repo_tree(repo_id, repo_type="dataset", revision=revision, recursive=True)
    return {item.path: (item.blob_id, item.size) for item in tree if isinstance(item, RepoFile)}


def read_records(api: "HfApi", repo_id: str, revision: str = "main") -> dict[str, Record]:
    """Return run id → record at a commit of main, where only maintainers write; other files are left out."""
    with hub_errors(repo_id):
        # At one commit: for a branch that it cannot reach, the client returns an old state from its cache.
        sha = str(api.dataset_info(repo_id, revision=revision).sha)
        plain = re.compile(rf"verified/{PLAIN.pattern}\.json")
        paths = [name for name in list_files(api, repo_id, sha) if plain.fullmatch(name)]
        if not paths:
            return {}
        folder = api.snapshot_download(
            repo_id, repo_type="dataset", revision=sha, allow_patterns=paths
        )
    records = {}
    for path in (Path(folder, name) for name in sorted(paths)):
        try:
            record = Record.model_validate_json(path.read_bytes())
        except ValidationError:
            continue
        except FileNotFoundError as error:
            raise InfraError(f"{repo_id}: {path.name} was not downloaded; try again") from error
        if record.run_id == path.stem:
            records[path.stem] = record
    return records


def commit_title(record: Record) -> str:
    """Return the start of the title of the commit that publishes a run."""
    return f"Verified {record.run_id} [PR {record.pull_request} at "


def commit_of(api: "HfApi", repo_id: str, record: Record) -> str:
    """Return the commit that published a run, or main."""
    commits = api.list_repo_commits(repo_id, repo_type="dataset")
    return next(
        (item.commit_id for item in commits if item.title.startswith(commit_title(record))), "main"
    )


def row_name(row: Mapping[str, Any]) -> str:
    """Return the name of a result row in messages."""
    setting = f" ({shown(row['setting'])})" if row["setting"] else ""
    track = f", {row['track']} track" if row["track"] in TRACKS else ""
    return f"{shown(row['instance_id'])}, {shown(row['model_name_or_path'])}{setting}{track}, sample {row['sample']}"


def shown(text: Any) -> str:
    """Return text of a submission as one short line without invisible characters."""
    return one_line(text)[:120]


def table_faults(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return why results cannot be published: none, no track, or more than the leaderboard shows."""
    faults = [] if rows else ["it has no results"]
    if trackless := [row for row in rows if row["track"] not in TRACKS]:
        more = f" and {len(trackless) - 1} more" if len(trackless) > 1 else ""
        faults.append(
            f"{len(trackless)} of {plural(len(rows), 'row')} without a track ({row_name(trackless[0])}{more}); "
            f"set `track` to {' or '.join(TRACKS)} in these predictions and evaluate again"
        )
    samples = Counter(AnswerKey.of(row).row._replace(sample=0) for row in rows)
    if len(rows) > MAX_ROWS or max(samples.values(), default=0) > MAX_SAMPLES:
        faults.append(
            f"it has more than {MAX_ROWS} rows or {MAX_SAMPLES} samples of an instance; submit it in parts"
        )
    if len({key._replace(instance_id="") for key in samples}) > MAX_ENTRIES:
        faults.append(
            f"it has more than {MAX_ENTRIES} models, settings and tracks; submit it in parts"
        )
    return faults


def write_space(folder: Path, local: Sequence[Record] = ()) -> list[Path]:
    """Write everything that a Space repository needs into a folder, new or empty; return the files.

    Args:
        local: records to show in place of those of a results dataset.
    """
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder}: is not an empty folder; name a new one, or remove it")
    sources = {
        path.name: path for path in sorted((cards_folder() / "space").iterdir()) if path.is_file()
    }
    for module in SPACE_MODULES:
        path = Path(str(module.__file__))
        sources[f"base/{path.name}"] = path
    for name, source in sources.items():
        write_atomically(folder / name, source.read_bytes())
    for record in local:
        write_atomically(
            folder / LOCAL / f"{record.run_id}.json", record.model_dump_json().encode()
        )
    return [folder / name for name in sources]
