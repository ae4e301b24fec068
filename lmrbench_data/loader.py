"""Load LMR-Bench rows, verify them, and unpack their masked repositories.

This file is self-contained: it needs `datasets` but not LMR-Bench, so you can download it from the
Hub and use it. In the package, `lmrbench_data.load` also loads the package's own tasks.

    from loader import load, unpack

    rows = load("org/lmr-bench@v1.0.0")     # or a folder
    unpack(rows[0], "work/dpo")             # the masked repository, ready to edit
    rows[0]["instruction"]                  # the request; the paper track adds `paper_text`
    rows[0]["contract"]                     # every convention; only the contract track shows it
    load("org/lmr-bench", "method")         # whole methods in place of single functions
"""

from __future__ import annotations

import contextlib
import errno
import functools
import gzip
import hashlib
import io
import json
import os
import re
import tarfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

if TYPE_CHECKING:
    from datasets import Dataset

SPLIT = "test"
#: Configurations: one goal function per row (the default); all functions of a paper's method; a
#: method whose paper and reference decide otherwise than the published ones; one whose paper leaves
#: decisions open that its results settle.
Config = Literal["function", "method", "counterfactual", "underspecified"]
CONFIGS: tuple[str, ...] = get_args(Config)
FUNCTION, METHOD, COUNTERFACTUAL, UNDERSPECIFIED = CONFIGS
#: Path of the rows of the default configuration, in a folder and on the Hub.
DATA_FILE = f"data/{SPLIT}-00000-of-00001.parquet"
#: Key in the card's header for the identity of the dataset: {"version": ..., "sha256": ...,
#: "recordings": ..., "configs": {"method": {"sha256": ..., "recordings": ...}}}; the hashes at the
#: top are those of the default configuration.
CARD_KEY = "lmrbench"

#: Limit of a dataset's files.
MAX_FILE_BYTES = 512 * 1024 * 1024
_VERSION = r"v\d+\.\d+\.\d+"
#: A revision that never changes: a commit or a version.
PINNED = re.compile(rf"[0-9a-f]{{40}}|{_VERSION}")
_AGAIN = "download or build it again"
#: A repository on the Hub, and a revision of it.
HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+(@[\w./-]+)?", re.ASCII)
#: Column → form and description, if its text becomes part of a file name, address or command.
_FORMS = {
    "instance_id": (
        "[a-z0-9][a-z0-9._-]{0,99}",
        "a plain name (a-z, 0-9, '.', '_', '-'; at most 100)",
    ),
    "arxiv_id": (r"([0-9]{4}\.[0-9]{4,5}|[a-z-]+(\.[A-Z]{2})?/[0-9]{7})?", "an arXiv id, or empty"),
    "docker_image": (r"(lmrbench/[\w.-]{1,100}:[\w.-]{1,100})?", "lmrbench/NAME:TAG, or empty"),
    "benchmark_version": (r"[\w.+-]{1,100}", "a version"),
}
#: Invisible characters that Unicode calls printable.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


class LMRBenchError(Exception):
    """Root of all errors of LMR-Bench; the message is one line: the place, the problem, the fix."""

    exit_code = 1
    """Exit status of the command line (see `lmrbench/cli`)."""


class LoadError(LMRBenchError, ValueError):
    """A dataset or an archive is missing or damaged, or names a path outside its folder."""


class NoConfigError(LoadError):
    """A dataset lacks a configuration."""


class HubUnavailableError(LoadError):
    """The Hub does not answer; the same call may succeed later."""

    exit_code = 3


def load(spec: str | Path, config: str = FUNCTION) -> Dataset:
    """Load and verify a dataset as a `datasets.Dataset`, one row per instance.

    Args:
        spec: a folder written by `lmrbench dataset build`, or `org/name[@revision]` on the Hub.
        config: one of `CONFIGS`.

    Raises:
        LoadError: the dataset is missing, or its rows do not match its card.
    """
    from datasets import Dataset

    table, _ = _read_verified(str(spec), config)
    return Dataset(table)


def load_rows(spec: str | Path, config: str = FUNCTION) -> list[dict[str, Any]]:
    """Load a dataset as `load` does, as dictionaries and without importing `datasets`."""
    _, rows = _read_verified(str(spec), config)
    return rows


def data_file(config: str) -> str:
    """Return the path of the rows of a configuration, in a folder and on the Hub."""
    return DATA_FILE if config == FUNCTION else DATA_FILE.replace("data", config, 1)


def dataset_sha256(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the identity of a dataset: a hash of ids and hashes of rows, whatever their order."""
    return _hash_lines(f"{row['instance_id']} {row['row_sha256']}" for row in rows)


def recordings_sha256(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the identity of all recorded outputs, whose last bits depend on the CPU."""
    return _hash_lines(f"{row['instance_id']} {row['recording']['sha256']}" for row in rows)


def row_sha256(row: Mapping[str, Any]) -> str:
    """Return the identity of a row: a hash of its content without recorded outputs."""
    recorded = ("row_sha256", "expected", "recording")
    content = {name: _hashable(value) for name, value in row.items() if name not in recorded}
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _hashable(value: Any) -> Any:
    """Return a value with archives replaced by the hashes of what is compressed in them."""
    if isinstance(value, Mapping):
        return {key: _hashable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_hashable(item) for item in value]
    return {"sha256": archive_sha256(value)} if isinstance(value, bytes) else value


def archive_sha256(archive: bytes) -> str:
    """Return the identity of a tar.gz: the hash of the tar in it."""
    return hashlib.sha256(gunzip(archive)).hexdigest()


def _hash_lines(lines: Iterable[str]) -> str:
    return hashlib.sha256("".join(f"{line}\n" for line in sorted(lines)).encode()).hexdigest()


def _read_verified(spec: str, config: str) -> tuple[Any, list[dict[str, Any]]]:
    """Read the table and the rows of a configuration.

    They come from its Parquet file, because the cache of `load_dataset` has served wrong ones.
    """
    folder = Path(spec)
    if not spec or not _is_folder(folder):
        folder = _download(spec, config)
    stamp = read_card_stamp(folder / "README.md", spec, config)
    tag = spec.partition("@")[2]
    is_version = folder != Path(spec) and re.fullmatch(_VERSION, tag)
    if is_version and tag != f"v{stamp['version']}":
        raise LoadError(f"{spec}: the card says version {stamp['version']}; the tag was moved")
    name = data_file(config)
    if not (folder / name).is_file():
        raise LoadError(f"{spec}: no {name}; `lmrbench dataset build` makes a dataset folder")
    try:
        table = _read_table(folder / name)
        rows = table.to_pylist()
        _verify(rows, stamp, spec)
    except LoadError:
        raise
    except Exception as error:  # a damaged file may raise anything
        raise LoadError(f"{spec}: {name} cannot be read ({_reason(error)}); {_AGAIN}") from error
    return table, rows


def _is_folder(path: Path) -> bool:
    """Return whether a path is a folder; False if it is longer than the system allows."""
    try:
        return path.is_dir()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return False
        raise


def read_card_stamp(card: Path, where: str, config: str = FUNCTION) -> dict[str, str]:
    """Read the benchmark's version and the hashes of a configuration from a card's header."""
    import yaml

    try:
        with card.open(encoding="utf-8") as file:
            _, header, _ = file.read(100_000).split("---\n", 2)
        stamp = yaml.safe_load(header)[CARD_KEY]
        configs = dict(stamp.get("configs", {}))
        if "sha256" in stamp:
            configs[FUNCTION] = stamp
        if configs and config not in configs:
            names = ", ".join(configs)
            raise NoConfigError(f"{where}: has no configuration {config!r}, only {names}")
        hashes = configs[config]
        facts = {
            "version": stamp["version"],
            "sha256": hashes["sha256"],
            "recordings": hashes["recordings"],
        }
        if not all(isinstance(text, str) for text in facts.values()):
            raise TypeError("version and hashes are text")
    except NoConfigError:
        raise
    except Exception as error:  # a header may hold anything
        raise LoadError(
            f"{where}: no README.md, or no `{CARD_KEY}` entry in its header: "
            "not an LMR-Bench dataset"
        ) from error
    return facts


def _read_table(data: Path) -> Any:
    from pyarrow import parquet

    if data.stat().st_size > MAX_FILE_BYTES:
        raise ValueError(f"larger than {MAX_FILE_BYTES} bytes")
    # Not `read_table`, which turns parent folders named `key=value` into columns. An open file,
    # because a name with a colon is read as an address. Not in threads: an Arrow thread that
    # releases memory during Python's shutdown crashes the process.
    with data.open("rb") as file:
        return parquet.ParquetFile(file, pre_buffer=False).read(use_threads=False)


def _verify(rows: list[dict[str, Any]], stamp: Mapping[str, str], where: str) -> None:
    """Compare the rows with the card."""
    for row in rows:
        check_row(row, where)
        recorded = hashlib.sha256(row["expected"]).hexdigest()
        if row_sha256(row) != row["row_sha256"] or recorded != row["recording"]["sha256"]:
            raise LoadError(
                f"{where}: row {row['instance_id']!r} was changed after the build; {_AGAIN}"
            )
        version = stamp["version"]
        if row["benchmark_version"] != version:
            raise LoadError(
                f"{where}: rows of another version than the card's, {version}; {_AGAIN}"
            )
    if (dataset_sha256(rows), recordings_sha256(rows)) != (stamp["sha256"], stamp["recordings"]):
        raise LoadError(f"{where}: the rows do not match the card; {_AGAIN}")


def check_row(row: Mapping[str, Any], where: str) -> None:
    """Refuse a row whose text could leave a folder or inject a command."""
    for column, (form, description) in _FORMS.items():
        text = row.get(column)
        if not isinstance(text, str) or not re.fullmatch(form, text, re.ASCII):
            raise LoadError(f"{where}: {column} {ascii(text)[:100]} is not {description}")
    goals = row.get("goals") or [{"file": row["goal_file"], "functions": [row["goal_function"]]}]
    paths = [row["repo_name"], *row["context_files"], *(goal["file"] for goal in goals)]
    paths += [item["path"] for item in row.get("golden_files", ())]
    try:
        for path in paths:
            check_path(path)
        for goal in goals:
            _check_functions(goal["functions"])
    except LoadError as error:
        raise LoadError(f"{where}: row {row['instance_id']!r}: {error}") from error


def _check_functions(names: Iterable[str]) -> None:
    for name in names:
        if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*", name):
            raise LoadError(
                f"goal_function {ascii(name)[:100]} is not a function's name, or Class.method"
            )


def _download(spec: str, config: str) -> Path:
    """Download a configuration; only a commit or a version may come from the client's cache."""
    if not HUB_NAME.fullmatch(spec):
        raise LoadError(
            f"dataset {spec[:200]!r}: no such folder; use a folder, org/name[@revision], or with "
            "the package (pip install lmrbench) 'embedded'"
        )
    from huggingface_hub import HfApi, snapshot_download

    name, _, revision = spec.partition("@")
    is_pinned = PINNED.fullmatch(revision)
    files = ["README.md", data_file(config)]
    fetch = functools.partial(snapshot_download, name, repo_type="dataset", allow_patterns=files)
    try:
        # `snapshot_download` alone would wait long for a Hub that does not answer, or take an old
        # commit of a branch.
        info = HfApi().dataset_info(name, revision=revision or None, timeout=hub_timeout())
        return Path(fetch(revision=revision if is_pinned else info.sha))
    except Exception as error:  # the client's HTTP library, and Xet, raise other types, too
        if is_pinned:
            with contextlib.suppress(OSError):
                return Path(fetch(revision=revision, local_files_only=True))
        raise _download_error(spec, error) from error


def _download_error(spec: str, error: Exception) -> LoadError:
    from huggingface_hub import constants

    problem = f"{spec}: not a folder here, and cannot be downloaded ({_reason(error)})"
    if _is_unreachable(error) and not constants.HF_HUB_OFFLINE:
        return HubUnavailableError(f"{problem}; the Hub does not answer, try again later")
    return LoadError(
        f"{problem}; check name, revision and access (`hf auth login`); offline, name a version or "
        "commit in the cache"
    )


def _is_unreachable(error: Exception) -> bool:
    """Return whether a request failed because of the network or a busy or broken server."""
    response = getattr(error, "response", None)
    if response is not None:
        return bool(response.status_code == 429 or response.status_code >= 500)
    if isinstance(error, OSError):  # without a number: a download that was cut short
        return error.errno is None or isinstance(error, (ConnectionError, TimeoutError))
    return not isinstance(error, ValueError)


def hub_timeout() -> float:
    """Return the seconds for a first answer of the Hub, whose client may wait forever."""
    return float(os.environ.get("HF_HUB_ETAG_TIMEOUT") or 2.5)


def _reason(error: Exception) -> str:
    """Return the type of an error and the first line of its message, or the Hub's own sentence."""
    message = getattr(error, "server_message", None) or str(error).strip()
    return f"{type(error).__name__}: {message}".splitlines()[0][:300].strip(": ")


class File(NamedTuple):
    """One regular file of a repository."""

    data: bytes
    executable: bool = False


def unpack(row: Mapping[str, Any], folder: str | Path) -> Path:
    """Write the masked repository of a row into `folder` (new or empty) and return the folder.

    Raises:
        LoadError: the folder is not empty, or the archive is damaged; nothing is written.
    """
    folder = Path(folder)
    if archive_sha256(row["repo_archive"]) != row["repo_sha256"]:
        raise LoadError(
            f"{row['instance_id']}: repo_archive does not match repo_sha256; load the dataset again"
        )
    files = read_archive(row["repo_archive"])
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise LoadError(f"{folder}: not an empty folder; use a new one")
    write_files(files, folder)
    return folder


def write_files(files: Mapping[str, File], folder: Path) -> None:
    """Write the files from `read_archive` below a folder that nobody else writes to."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, file in files.items():
        path = folder / check_path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.data)
        path.chmod(0o755 if file.executable else 0o644)


@functools.lru_cache(4)  # each answer to a row needs the same ones several times
def read_archive(archive: bytes) -> Mapping[str, File]:
    """Read a tar.gz of plain files in memory: path to file.

    Raises:
        LoadError: it is damaged, holds a link or a special file, or a path leads outside.
    """
    files: dict[str, File] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(gunzip(archive)), mode="r:") as tar:
            for member in tar:
                is_plain = member.isreg() and not member.issparse()
                content = tar.extractfile(member) if is_plain else None
                if content is None:
                    name = ascii(member.name)[:100]
                    raise LoadError(f"archive: {name} is not a plain file; {_AGAIN}")
                files[check_path(member.name)] = File(content.read(), bool(member.mode & 0o100))
    except LoadError:
        raise
    except (tarfile.TarError, ValueError) as error:
        raise LoadError(f"archive: not a readable tar ({_reason(error)}); {_AGAIN}") from error
    return MappingProxyType(files)


def check_path(name: str) -> str:
    """Normalise a relative POSIX path that stays below its root and enters no `.git`."""
    path = PurePosixPath(name)
    problem = ""
    if path.is_absolute() or ".." in path.parts or "\\" in name:
        problem = "it leads out of its root"
    elif re.match("[A-Za-z]:", name):
        problem = "it begins with a drive"
    elif not name.isprintable() or _INVISIBLE.search(name):
        problem = "it has invisible characters"
    elif len(name) > 1000 or not path.parts or any(len(part.encode()) > 255 for part in path.parts):
        problem = "it is empty or too long"
    elif any(map(_is_git_folder, path.parts)):
        problem = "it enters a .git folder"
    if problem:
        raise LoadError(f"path {ascii(name)[:100]} is not a plain path: {problem}")
    return str(path)


def _is_git_folder(part: str) -> bool:
    """Return whether a file system may take a name for `.git`, whose settings git would obey."""
    return part.split(":")[0].rstrip(". ").casefold() in (".git", "git~1")


def gunzip(data: bytes) -> bytes:
    """Unpack gzip data."""
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise LoadError(f"archive: not gzip, or damaged ({error}); {_AGAIN}") from error
