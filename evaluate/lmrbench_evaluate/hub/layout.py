"""The layout of the results dataset: which files it holds, how large they may be, and how they are read and written."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmrbench_data.base.archive import gzip_bytes, tar_bytes
from lmrbench_data.base.hub_session import hub_errors
from lmrbench_data.loader import File

if TYPE_CHECKING:
    import pyarrow
    from huggingface_hub import HfApi

MIB = 1024 * 1024
MAX_LOGS_BYTES = 16 * MIB
#: The files that a submission may add, with their largest size in bytes.
ALLOWED = {
    "data/{run_id}.parquet": 64 * MIB,
    "runs/{run_id}/run.json": 1 * MIB,
    "runs/{run_id}/predictions.jsonl": 256 * MIB,
    "runs/{run_id}/judgements.jsonl": 256 * MIB,
    "runs/{run_id}/logs.tar.gz": 32 * MIB,
}
#: The keys of run.json that are published: facts about the run, none about the machine.
PUBLISHED_FACTS = (
    *(
        "run_id",
        "dataset",
        "config",
        "dataset_sha256",
        "benchmark_version",
        "harness_version",
        "sandbox",
        "official_sandbox",
    ),
    *("timeout_scale", "fresh_seed_count", "scope", "images", "limits", "complete", "started_at", "finished_at"),
)


def record_path(run_id: str) -> str:
    """Return the path of the record of a verified run."""
    return f"verified/{run_id}.json"


def belongs(name: str, run_id: str) -> bool:
    """Return whether a path of the results dataset belongs to a run."""
    folder = f"runs/{run_id}"
    return name in (record_path(run_id), f"data/{run_id}.parquet", folder) or name.startswith(f"{folder}/")


def list_files(api: "HfApi", repo_id: str, revision: str) -> dict[str, tuple[str, int]]:
    """List the files of a revision: path → (hash of the content, size in bytes)."""
    from huggingface_hub.hf_api import RepoFile

    tree = api.list_repo_tree(repo_id, repo_type="dataset", revision=revision, recursive=True)
    return {item.path: (item.blob_id, item.size) for item in tree if isinstance(item, RepoFile)}


def fetch(api: "HfApi", repo_id: str, name: str, sha: str) -> Path:
    """Download a file of a revision into the Hub client's cache.

    Raises:
        InputError, LostAnswerError: see `lmrbench_data.base.hub_session.hub_errors`.
    """
    with hub_errors(f"{repo_id}: {name}"):
        return Path(api.hf_hub_download(repo_id, name, repo_type="dataset", revision=sha))


def parquet_bytes(rows: Sequence[Mapping[str, Any]], columns: "pyarrow.Schema") -> bytes:
    """Write rows as a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=columns), sink)
    return bytes(sink.getvalue())


def packed_logs(folder: Path) -> bytes:
    """Pack the logs of a run into one archive, without the largest ones if it gets too large; empty without logs."""
    sizes = {path: path.stat().st_size for path in folder.rglob("*.log")}
    kept: dict[str, File] = {}
    size = 0
    for path in sorted(sizes, key=lambda path: (sizes[path], path)):
        size += sizes[path]
        if size > MAX_LOGS_BYTES:
            break
        kept[str(path.relative_to(folder))] = File(path.read_bytes())
    return gzip_bytes(tar_bytes(kept)) if kept else b""
