"""Load LMR-Bench rows, verify them, and unpack their masked repositories.

This file is self-contained: it needs `datasets` but not LMR-Bench, so you can download it from the Hub and use it. In
the package it is `lmrbench_data.loader`; `lmrbench_data.load` also loads the package's own tasks.

    from loader import load, unpack

    rows = load("org/lmr-bench@v1.0.0")     # or a folder
    unpack(rows[0], "work/dpo")             # the masked repository, ready to edit
    rows[0]["instruction"]                  # the request; the paper track shows it with `paper_text`
    rows[0]["contract"]                     # every convention; only the contract track shows it
    load("org/lmr-bench", "method")         # whole methods in place of single functions
"""

from __future__ import annotations

import functools
import hashlib
import io
import itertools
import json
import os
import re
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

if TYPE_CHECKING:
    from datasets import Dataset

SPLIT = "test"
#: Configurations: one goal function per row (the default); all functions of a paper's method; a method whose paper and
#: reference decide otherwise than the published ones; one whose paper leaves decisions open that its results settle.
Config = Literal["function", "method", "counterfactual", "underspecified"]
CONFIGS: tuple[str, ...] = get_args(Config)
FUNCTION, METHOD, COUNTERFACTUAL, UNDERSPECIFIED = CONFIGS
#: Path of the rows of the default configuration, in a folder and on the Hub.
DATA_FILE = f"data/{SPLIT}-00000-of-00001.parquet"
#: Key in the card's front matter for the identity of the dataset: {"version": ..., "sha256": ..., "recordings": ...,
#: "configs": {"method": {"sha256": ..., "recordings": ...}}}; on top are the hashes of the default configuration.
CARD_KEY = "lmrbench"

MAX_FILES = 10_000
MAX_UNPACKED_BYTES = 256 * 1024 * 1024
MAX_TABLE_BYTES = 512 * 1024 * 1024
#: A revision that never changes: a commit or a version.
PINNED = re.compile(r"[0-9a-f]{40}|v\d+\.\d+\.\d+")
_AGAIN = "download or build it again"
#: A repository on the Hub, and a revision of it.
HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+(@[\w./-]+)?", re.ASCII)
#: An instance id: safe as a file name, in a URL and in a table.
PLAIN_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
#: Required form of columns whose text becomes part of a file name, image tag, address or command.
_FORMS = {
    "instance_id": (PLAIN_NAME, "a plain name (a-z, 0-9, '.', '_', '-'; at most 100)"),
    "arxiv_id": (re.compile(r"([0-9]{4}\.[0-9]{4,5}|[a-z-]+(\.[A-Z]{2})?/[0-9]{7})?"), "an arXiv id, or empty"),
    "docker_image": (re.compile(r"(lmrbench/[\w.-]{1,100}:[\w.-]{1,100})?", re.ASCII), "lmrbench/NAME:TAG, or empty"),
    "benchmark_version": (re.compile(r"[\w.+-]{1,100}", re.ASCII), "a version"),
}
#: Invisible characters that Unicode calls printable.
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")


class LMRBenchError(Exception):
    """Root of all errors of LMR-Bench; the message is one line with the place, the problem and the fix."""

    exit_code = 1
    """Exit status of the command line (see `lmrbench_data/cli`)."""


class LoadError(LMRBenchError, ValueError):
    """A dataset or an archive is missing, damaged or hostile."""


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

    return Dataset(_read_verified(spec, config))


def load_rows(spec: str | Path, config: str = FUNCTION) -> list[dict[str, Any]]:
    """Load a dataset as `load` does, as dictionaries and without importing `datasets`."""
    return list(_read_verified(spec, config).to_pylist())


def data_file(config: str) -> str:
    """Return the path of the rows of a configuration, in a folder and on the Hub."""
    return DATA_FILE if config == FUNCTION else f"{config}/{SPLIT}-00000-of-00001.parquet"


def dataset_sha256(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the identity of a dataset: a hash of the ids and hashes of its rows, independent of their order."""
    return _hash_lines(f"{row['instance_id']} {row['row_sha256']}" for row in rows)


def recordings_sha256(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the identity of all recorded outputs, whose last bits depend on the CPU, unlike `dataset_sha256`."""
    return _hash_lines(f"{row['instance_id']} {row['recording']['sha256']}" for row in rows)


def row_sha256(row: Mapping[str, Any]) -> str:
    """Return the identity of a row: a hash of its content without recorded outputs; archives count uncompressed."""

    def canonical(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: canonical(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [canonical(item) for item in value]
        return {"sha256": archive_sha256(value)} if isinstance(value, bytes) else value

    content = {key: canonical(row[key]) for key in row if key not in ("row_sha256", "expected", "recording")}
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False, default=str).encode()).hexdigest()


def archive_sha256(archive: bytes) -> str:
    """Return the identity of a tar.gz: the hash of the tar in it."""
    return hashlib.sha256(gunzip(archive, MAX_UNPACKED_BYTES)).hexdigest()


def _hash_lines(lines: Iterable[str]) -> str:
    return hashlib.sha256("".join(f"{line}\n" for line in sorted(lines)).encode()).hexdigest()


def read_card_stamp(card: Path, where: str, config: str = FUNCTION) -> dict[str, str]:
    """Read the `lmrbench` entry of a card's front matter: benchmark version, hashes of content and recordings."""
    import yaml

    try:
        with card.open(encoding="utf-8") as file:
            header = re.match(r"---\n(.*?)\n---\n", file.read(100_000), re.DOTALL)
        stamp = yaml.safe_load(header.group(1))[CARD_KEY] if header else {}
        # Only text, because lists with references to one another would expand to gigabytes.
        configs = {**dict(stamp.get("configs") or {}), **({FUNCTION: stamp} if "sha256" in stamp else {})}
        if configs and config not in configs:
            raise NoConfigError(f"{where}: has no configuration {config!r}, only {', '.join(map(str, configs))}")
        own = {"version": stamp["version"], **{key: configs[config][key] for key in ("sha256", "recordings")}}
        return {key: "" + text for key, text in own.items()}
    except LoadError:
        raise
    except (OSError, ValueError, yaml.YAMLError, KeyError, TypeError, RecursionError) as error:
        problem = f"README.md has no `{CARD_KEY}` entry in its header: not an LMR-Bench dataset"
        raise LoadError(f"{where}: {problem}") from error


def _read_verified(spec: str | Path, config: str) -> Any:
    """Read the rows of a configuration from its Parquet file: the cache of `load_dataset` has served wrong ones."""
    stamp, data, where = _locate(str(spec), config)
    try:
        _verify(table := _read_table(data), stamp, where)
    except LoadError:
        raise
    except Exception as error:  # an untrusted file may raise anything
        raise LoadError(f"{where}: {data_file(config)} cannot be read ({_reason(error)}); {_AGAIN}") from error
    return table


def _read_table(data: Path) -> Any:
    """Read a Parquet file of bounded size; in a small one, millions of values may share a long text."""
    from pyarrow import Table, compute, concat_tables, parquet, types

    def text_size(array: Any) -> int:
        if types.is_dictionary(array.type):
            return compute.sum(compute.binary_length(array.dictionary).take(array.indices)).as_py() or 0
        parts = array.flatten() if types.is_nested(array.type) else []
        return sum(map(text_size, parts if isinstance(parts, list) else [parts]))

    # Not `read_table`, which turns parent folders named `key=value` into columns. Not in threads: an Arrow thread that
    # releases memory during Python's shutdown crashes the process.
    file = parquet.ParquetFile(data, pre_buffer=False)
    meta, tables = file.metadata, [file.schema_arrow.empty_table()]
    columns = [meta.schema.column(number) for number in range(meta.num_columns)]
    groups = [meta.row_group(number) for number in range(meta.num_row_groups)]
    chunks = [(group.column(number), column) for group in groups for number, column in enumerate(columns)]
    size = sum(chunk.total_uncompressed_size + (64 + column.length) * chunk.num_values for chunk, column in chunks)
    if size <= MAX_TABLE_BYTES:
        # As dictionaries, equal texts stay one text until the size of all is known.
        file = parquet.ParquetFile(data, pre_buffer=False, read_dictionary=[column.path for column in columns])
        for batch in file.iter_batches(16, use_threads=False):
            size += sum(map(text_size, batch.columns))
            if size > MAX_TABLE_BYTES:
                break
            tables.append(Table.from_batches([batch]).cast(tables[0].schema))
        else:
            return concat_tables(tables)
    raise ValueError(f"unpacks to more than {MAX_TABLE_BYTES} bytes")


def _locate(spec: str, config: str) -> tuple[dict[str, str], Path, str]:
    """Return the stamp of the card, the Parquet file and the name in messages of a configuration."""
    folder = Path(spec)
    if spec and folder.is_dir():
        card, data = folder / "README.md", folder / data_file(config)
        stamp = read_card_stamp(card, spec, config) if card.is_file() else {}
        if missing := [path.relative_to(folder) for path in (card, data) if not path.is_file()]:
            raise LoadError(f"{folder}: no {missing[0]}; `lmrbench dataset build` makes a dataset folder")
        return stamp, data, spec
    if HUB_NAME.fullmatch(spec):
        return _download(*spec.partition("@")[::2], config)
    fix = "use a folder, org/name[@revision], or with the package (pip install lmrbench-data) 'embedded'"
    raise LoadError(f"dataset {spec!r}: no such folder; {fix}")


def _download(name: str, revision: str, config: str) -> tuple[dict[str, str], Path, str]:
    """Download a configuration; only what never changes, a commit or a version, may come from the client's cache."""
    from huggingface_hub import HfApi, constants, errors, hf_hub_download

    where = f"{name}@{revision}" if revision else name
    # A dropped connection raises the HTTP library's own error.
    http_error: type[Exception] = getattr(errors, "HTTPError", errors.HfHubHTTPError)
    is_pinned = PINNED.fullmatch(revision)
    offline: Exception | None = None
    try:
        try:  # on its own, a download would wait long for a Hub that does not answer
            info = HfApi().dataset_info(name, revision=revision or None, timeout=hub_timeout())
            # A branch is resolved, so that card and rows come from the same, newest commit.
            revision = revision if is_pinned else str(info.sha)
        except (http_error, OSError) as error:
            if not is_pinned:
                raise
            offline = error
        options: Any = {"repo_type": "dataset", "revision": revision, "local_files_only": bool(offline)}
        stamp = read_card_stamp(Path(hf_hub_download(name, "README.md", **options)), where, config)
        data = Path(hf_hub_download(name, data_file(config), **options))
    except LoadError:
        raise
    except (http_error, OSError, ValueError, RuntimeError) as error:
        cause = offline or error
        reason = f"not a folder here, and cannot be downloaded ({_reason(cause)})"
        status = getattr(getattr(cause, "response", None), "status_code", None)
        # Xet raises RuntimeError; a download that was cut short, OSError without a number.
        unreached = isinstance(cause, (http_error, RuntimeError, ConnectionError, TimeoutError))
        unreached = unreached or getattr(cause, "errno", 0) is None
        if unreached and (status is None or status == 429 or status >= 500) and not constants.HF_HUB_OFFLINE:
            raise HubUnavailableError(f"{where}: {reason}; the Hub does not answer, try again later") from cause
        fix = "check name, revision, HF_TOKEN and HF_HUB_OFFLINE"
        if constants.HF_HUB_OFFLINE and not is_pinned:
            fix = f"HF_HUB_OFFLINE is set: name a version or commit that is in the cache, such as {name}@v1.0.0"
        raise LoadError(f"{where}: {reason}; {fix}") from cause
    if re.fullmatch(r"v\d+\.\d+\.\d+", revision) and revision != f"v{stamp['version']}":
        raise LoadError(f"{where}: the card says version {stamp['version']}; the tag was moved")
    return stamp, data, where


def hub_timeout() -> float:
    """Return the seconds within which the Hub has to answer a first request; its client may wait forever."""
    return float(os.environ.get("HF_HUB_ETAG_TIMEOUT") or 2.5)


def _verify(table: Any, stamp: Mapping[str, str], where: str) -> None:
    """Compare the rows with the card."""
    table.validate(full=True)  # that text is UTF-8
    identities = []
    for row in (row for batch in table.to_batches(max_chunksize=1) for row in batch.to_pylist()):
        check_row(row, where)
        recorded = hashlib.sha256(row["expected"]).hexdigest()
        if row_sha256(row) != row["row_sha256"] or recorded != row["recording"]["sha256"]:
            raise LoadError(f"{where}: row {row['instance_id']!r} was changed after the build; {_AGAIN}")
        if row["benchmark_version"] != stamp["version"]:
            raise LoadError(f"{where}: rows of another version than the card's, {stamp['version']}; {_AGAIN}")
        identities.append({name: row[name] for name in ("instance_id", "row_sha256", "recording")})
    if (dataset_sha256(identities), recordings_sha256(identities)) != (stamp["sha256"], stamp["recordings"]):
        raise LoadError(f"{where}: the rows do not match the card; {_AGAIN}")


def check_row(row: Mapping[str, Any], where: str) -> None:
    """Refuse a row of an untrusted dataset whose text could leave a folder or inject a command."""
    for name, (form, needed) in _FORMS.items():
        if not isinstance(row.get(name), str) or not form.fullmatch(row[name]):
            raise LoadError(f"{where}: {name} {ascii(row.get(name))[:100]} is not {needed}")
    goals = row.get("goals") or [{"file": row["goal_file"], "functions": [row["goal_function"]]}]
    references = [item["path"] for item in row.get("golden_files") or ()]
    for path in (row["repo_name"], *(item["file"] for item in goals), *references, *row["context_files"]):
        try:
            check_path(path)
        except LoadError as error:
            raise LoadError(f"{where}: row {row['instance_id']!r}: {error}") from error
    for name in itertools.chain(*(item["functions"] for item in goals)):
        if not isinstance(name, str) or not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*", name):
            raise LoadError(f"{where}: goal_function {ascii(name)[:100]} is not a function's name, or Class.method")


def _reason(error: Exception) -> str:
    """Return the type of an error and the first line of its message."""
    return f"{type(error).__name__}: {str(error).strip()}".splitlines()[0][:200].strip(": ")


class File(NamedTuple):
    """One regular file of a repository."""

    data: bytes
    executable: bool = False


def unpack(row: Mapping[str, Any], folder: str | Path) -> Path:
    """Write the masked repository of a row into `folder` (new or empty) and return the folder.

    Raises:
        LoadError: the folder is not empty, or the archive is damaged or hostile; nothing is written.
    """
    folder = Path(folder)
    if archive_sha256(row["repo_archive"]) != row["repo_sha256"]:
        raise LoadError(f"{row['instance_id']}: repo_archive does not match repo_sha256; load the dataset again")
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
    """Read an untrusted tar.gz, path to file, only as `tar_bytes` writes it: nothing else is in it for any reader."""
    content = gunzip(archive, MAX_UNPACKED_BYTES)
    try:
        files = dict(itertools.islice(_members(content), MAX_FILES + 1))
    except ValueError as error:
        raise LoadError(f"archive: not a readable tar ({_reason(error)})") from error
    folders = (str(parent) for name in files for parent in PurePosixPath(name).parents)
    # Packing checks the names; the parents of an unchecked one may be millions.
    if len(files) > MAX_FILES or tar_bytes(files) != content or any(folder in files for folder in folders):
        raise LoadError(f"archive: not as LMR-Bench packs at most {MAX_FILES} plain files; {_AGAIN}")
    return MappingProxyType(files)


def _members(content: bytes) -> Iterator[tuple[str, File]]:
    """Yield the files of a tar of `tar_bytes`; `tarfile` would expand the sparse files and endless names of others."""
    start, name = 0, b""
    while content[start : start + 1].strip(b"\0"):
        size = max(0, int(content[start + 124 : start + 135], 8))
        data = content[start + 512 : start + 512 + size]
        if content[start + 156 : start + 157] == tarfile.XHDTYPE:  # of a name that is long or not ASCII
            name = data.partition(b"=")[2][:-1]
        else:
            name = name or content[start : start + 100].rstrip(b"\0")
            yield name.decode(), File(data, content[start + 104 : start + 107] == b"755")
            name = b""
        start += 512 + -(-size // 512) * 512


def tar_bytes(files: Mapping[str, File]) -> bytes:
    """Pack files into an uncompressed tar: sorted, times 0, owner root, modes 0644 or 0755."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, file in sorted(files.items()):
            info = tarfile.TarInfo(check_path(name))
            info.size, info.mode = len(file.data), 0o755 if file.executable else 0o644
            tar.addfile(info, io.BytesIO(file.data))
    return buffer.getvalue()


def check_path(name: str) -> str:
    """Normalise a relative POSIX path that stays below its root and enters no `.git`, whose settings git would obey."""
    path = PurePosixPath(name)
    problem = ""
    if path.is_absolute() or ".." in path.parts or "\\" in name or re.match("[A-Za-z]:", name):
        problem = "it leads out of its root"
    elif not name.isprintable() or _INVISIBLE.search(name):
        problem = "it has invisible characters"
    elif len(name) > 1000 or not path.parts or any(len(part.encode()) > 255 for part in path.parts):
        problem = "it is empty or too long"
    # Names that a file system treats as `.git`: upper case, trailing dots, a stream, or the 8.3 short name.
    elif any(part.split(":")[0].rstrip(". ").casefold() in (".git", "git~1") for part in path.parts):
        problem = "it enters a .git folder"
    if problem:
        raise LoadError(f"path {ascii(name)[:100]} is not a plain path: {problem}")
    return str(path)


def gunzip(data: bytes, limit: int) -> bytes:
    """Unpack exactly one whole gzip stream of at most `limit` bytes; it may be a decompression bomb."""
    stream = zlib.decompressobj(wbits=31)
    try:
        content = stream.decompress(data, limit + 1)
    except zlib.error as error:
        raise LoadError(f"archive: not gzip, or damaged ({error})") from error
    if len(content) > limit:
        raise LoadError(f"archive: more than {limit} bytes unpacked")
    if not stream.eof or stream.unused_data:
        raise LoadError("archive: the gzip stream is cut short, or something follows it")
    return content
