"""The layout of the results dataset, and the limits of the runs in it."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.hub_client import hub_errors
from lmrbench_data.base.proportions import TRACKS
from lmrbench_data.base.text import one_line, plural

from ..judge.judgement_log import FILE as JUDGEMENTS
from ..predictions.prediction import AnswerKey
from ..runs.folder import FACTS, PREDICTIONS, RESULTS

if TYPE_CHECKING:
    from huggingface_hub import HfApi

MIB = 1024 * 1024
#: The files that a submission may add below `runs/<run_id>/`, with their largest size in bytes.
ALLOWED = {
    FACTS: 1 * MIB,
    PREDICTIONS: 256 * MIB,
    RESULTS: 256 * MIB,
    JUDGEMENTS: 256 * MIB,
}
#: Limits of what the leaderboard can show of a run; an entry is a model, setting and track.
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


class HubFile(NamedTuple):
    """A file of a repository on the Hub: the hash of its content, and its size in bytes."""

    sha: str
    size: int


def published_facts(facts: Mapping[str, Any], run_id: str) -> bytes:
    """Return the run.json that is published: facts about the run, none about the machine."""
    published = {name: facts[name] for name in _PUBLISHED_FACTS if name in facts}
    published["run_id"] = run_id
    return (json.dumps(published, indent=2) + "\n").encode()


def record_path(run_id: str) -> str:
    """Return the path of the record of a verified run."""
    return f"verified/{run_id}.json"


def list_files(api: "HfApi", repo_id: str, revision: str) -> dict[str, HubFile]:
    """Return the files of a revision by path."""
    from huggingface_hub.hf_api import RepoFile

    files = {}
    for item in api.list_repo_tree(repo_id, repo_type="dataset", revision=revision, recursive=True):
        if isinstance(item, RepoFile):
            files[item.path] = HubFile(item.blob_id, item.size)
    return files


def check_free(
    api: "HfApi", repo_id: str, run_id: str, where: str, fix: str
) -> tuple[str, dict[str, HubFile]]:
    """Check that main has no file of this run; return its head and its files.

    Args:
        where: the place that messages name.
        fix: what the user can do if the run exists.

    Raises:
        InputError: there is a file of this run.
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
    """Return the reasons why results cannot be published, for example more than a board shows."""
    if not rows:
        return ["it has no results"]
    faults = _track_faults(rows)
    samples = Counter(AnswerKey.of(row).row._replace(sample=0) for row in rows)
    entries = {key._replace(instance_id="") for key in samples}
    if len(rows) > MAX_ROWS:
        faults.append(f"it has more than {MAX_ROWS} rows; submit it in parts")
    if max(samples.values()) > MAX_SAMPLES:
        faults.append(f"it has more than {MAX_SAMPLES} samples of an instance; submit fewer")
    if len(entries) > MAX_ENTRIES:
        faults.append(
            f"it has more than {MAX_ENTRIES} models, settings and tracks; submit it in parts"
        )
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
