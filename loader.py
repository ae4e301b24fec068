"""Load LMR-Bench rows and unpack their masked repositories; what was loaded is checked against what was asked for.

This file stands alone: it needs `datasets`, and nothing of LMR-Bench (only the spec `embedded` needs the package), so
it can be downloaded from the Hub and used as it is. The package has it as `lmrbench_data.loader`.

    from loader import load, unpack

    rows = load("org/lmr-bench@v1.0.0")     # or a folder, or "embedded"
    unpack(rows[0], "work/dpo")             # the masked repository, ready to edit
    rows[0]["instruction"]                  # what to implement; with `paper_text`, all that the paper track shows
    rows[0]["contract"]                     # every convention: for the contract track only
"""

from __future__ import annotations

import hashlib
import json
import re
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pyarrow
    from datasets import Dataset

    from lmrbench_data.rows import DatasetRow

SPLIT = "test"
#: Where a dataset keeps its rows, in a folder as on the Hub.
DATA_FILE = f"data/{SPLIT}-00000-of-00001.parquet"
#: The card's front matter states the content of the dataset under this key: {"version": ..., "sha256": ...}.
CARD_KEY = "lmrbench"

MAX_FILES = 10_000
MAX_UNPACKED_BYTES = 256 * 1024 * 1024
_BLOCK = 512
_AGAIN = "download or build it again"
#: What an instance may be called: a name that is safe as a file's, in a URL and in a table.
PLAIN_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
#: Letters and marks that Unicode calls printable and that nobody sees.
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
#: Columns that row_sha256 leaves out: itself and what a run of the reference returned.
_NOT_IN_IDENTITY = frozenset({"row_sha256", "expected", "recording"})


class LMRBenchError(Exception):
    """Root of all errors of LMR-Bench; the message is one line that says what is wrong, where and how to fix it."""

    #: Exit status of the command line (see `lmrbench_data/cli`).
    exit_code = 1


class LoadError(LMRBenchError, ValueError):
    """A dataset or an archive is not what it should be."""


class HubUnavailableError(LoadError):
    """The Hub does not answer; the same call may succeed later."""

    exit_code = 3


# --- datasets -----------------------------------------------------------------------------------------------------


def load(spec: str | Path = "embedded") -> Dataset:
    """Load the rows that `spec` names and verify them.

    Args:
        spec: `embedded` (the installed package's own tasks), a folder made by `lmrbench dataset build`, or
            `org/name[@revision]` on the Hub.

    Returns:
        The split as a `datasets.Dataset`, one row a task instance.

    Raises:
        LoadError: nothing is there, or the rows differ from what the card at that place states.
        InputError: a task of the installed package is malformed (`embedded` only).
    """
    from datasets import Dataset

    return Dataset(_read_verified(spec))


def load_rows(spec: str | Path = "embedded") -> list[DatasetRow]:
    """`load` as plain dictionaries, without importing `datasets`."""
    rows: list[DatasetRow] = _read_verified(spec).to_pylist()
    return rows


def dataset_sha256(rows: Iterable[Mapping[str, Any]]) -> str:
    """The identity of a dataset: a hash over the ids and hashes of its rows, whatever their order."""
    return _hash_lines(f"{row['instance_id']} {row['row_sha256']}" for row in rows)


def recordings_sha256(rows: Iterable[Mapping[str, Any]]) -> str:
    """The identity of all recorded outputs. Apart from `dataset_sha256`: last bits of floats depend on the CPU."""
    return _hash_lines(f"{row['instance_id']} {row['recording']['sha256']}" for row in rows)


def row_sha256(row: Mapping[str, Any]) -> str:
    """The identity of a row: a hash over what was written by people or follows from it, not over recorded outputs.

    Archives count by the files in them: how they are compressed depends on the machine's zlib.

    Raises:
        LoadError: an archive is damaged.
    """

    def canonical(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: canonical(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [canonical(item) for item in value]
        return {"sha256": archive_sha256(value)} if isinstance(value, bytes) else value

    content = {name: canonical(value) for name, value in row.items() if name not in _NOT_IN_IDENTITY}
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False, default=str).encode()).hexdigest()


def archive_sha256(archive: bytes) -> str:
    """The identity of a tar.gz: the hash of the tar in it.

    Raises:
        LoadError: not gzip, damaged, or too large.
    """
    return hashlib.sha256(gunzip(archive, MAX_UNPACKED_BYTES)).hexdigest()


def _hash_lines(lines: Iterable[str]) -> str:
    return hashlib.sha256("".join(f"{line}\n" for line in sorted(lines)).encode()).hexdigest()


def read_card_stamp(card: Path, where: str) -> dict[str, str]:
    """The `lmrbench` entry of a card's front matter: benchmark version, hash of the content, hash of the recordings.

    Raises:
        LoadError: the card cannot be read or has no such entry.
    """
    import yaml

    try:
        header = re.match(r"---\n(.*?)\n---\n", card.read_text(encoding="utf-8"), re.DOTALL)
        stamp = yaml.safe_load(header.group(1))[CARD_KEY] if header else {}
        return {name: str(stamp[name]) for name in ("version", "sha256", "recordings")}
    except (OSError, UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError) as error:
        raise LoadError(
            f"{where}: README.md has no `{CARD_KEY}` entry in its header: not an LMR-Bench dataset"
        ) from error


def _read_verified(spec: str | Path) -> pyarrow.Table:
    """The table behind a spec, read straight from its Parquet file.

    `load_dataset` would keep a cache of its own, which has been seen to serve other rows than those asked for: older
    ones for a rebuilt folder, those of `main` for another revision. Here nothing lies between the file and the caller.
    """
    if str(spec) == "embedded":
        return _embedded()
    import pyarrow
    import pyarrow.parquet

    card, data, where = _locate(str(spec))
    stamp = read_card_stamp(card, where)
    try:
        # This one file; `read_table` may take folders above it that are named `key=value` for columns.
        table = pyarrow.parquet.ParquetFile(data).read()
    except (pyarrow.ArrowException, OSError) as error:
        raise LoadError(f"{where}: {DATA_FILE} cannot be read ({_reason(error)}); {_AGAIN}") from error
    _verify(table, stamp, where)
    return table


def _embedded() -> pyarrow.Table:
    """The installed package's own tasks, made into rows now: under a second, and nothing that could go stale."""
    try:
        from lmrbench_data.build import build_table
    except ImportError as error:
        raise LoadError("dataset 'embedded' needs the package: pip install lmrbench-data") from error
    return build_table()


def _locate(spec: str) -> tuple[Path, Path, str]:
    """(card, Parquet file, name for messages) of a spec."""
    folder = Path(spec)
    if spec and folder.is_dir():
        for name in ("README.md", DATA_FILE):
            if not (folder / name).is_file():
                raise LoadError(f"{folder}: no {name}; `lmrbench dataset build` makes a dataset folder")
        return folder / "README.md", folder / DATA_FILE, spec
    if re.fullmatch(r"[\w.-]+/[\w.-]+(@[\w./-]+)?", spec):
        return _download(*spec.partition("@")[::2])
    raise LoadError(f"dataset {spec!r}: no such folder; give a folder, org/name[@revision] or 'embedded'")


def _download(name: str, revision: str) -> tuple[Path, Path, str]:
    from huggingface_hub import HfApi, constants, errors, hf_hub_download

    where = f"{name}@{revision}" if revision else name
    # The HTTP library's own error: what a dropped connection raises.
    http_error: type[Exception] = getattr(errors, "HTTPError", errors.HfHubHTTPError)
    try:
        if not re.fullmatch(r"[0-9a-f]{40}|v\d+\.\d+\.\d+", revision):
            # A branch moves: its commit is asked for first, so that card and rows are of one, and never an old one.
            revision = HfApi().dataset_info(name, revision=revision or None).sha or "main"
        card, data = (
            Path(hf_hub_download(name, file, repo_type="dataset", revision=revision))
            for file in ("README.md", DATA_FILE)
        )
    except (http_error, OSError, ValueError) as error:
        reason = f"not a folder here, and cannot be downloaded ({_reason(error)})"
        status = getattr(getattr(error, "response", None), "status_code", None)
        unreached = isinstance(error, (http_error, errors.LocalEntryNotFoundError, ConnectionError, TimeoutError))
        if constants.HF_HUB_OFFLINE:
            raise LoadError(f"{where}: {reason}; unset HF_HUB_OFFLINE") from error
        if unreached and (status is None or status == 429 or status >= 500):
            raise HubUnavailableError(f"{where}: {reason}; the Hub does not answer, try again later") from error
        raise LoadError(f"{where}: {reason}; check name, revision and HF_TOKEN") from error
    version = read_card_stamp(card, where)["version"]
    if re.fullmatch(r"v\d+\.\d+\.\d+", revision) and revision != f"v{version}":
        raise LoadError(f"{where}: the card says version {version}; the tag was moved")
    return card, data, where


def _verify(table: pyarrow.Table, stamp: Mapping[str, str], where: str) -> None:
    """Compare what was read with what the card states.

    Raises:
        LoadError: a row was changed, or these are not the rows of the card.
    """
    identities = []
    for batch in table.to_batches(max_chunksize=1):
        for row in batch.to_pylist():
            names = ("instance_id", "row_sha256", "benchmark_version", "recording")
            identity = {name: row.get(name) for name in names}
            recorded = (identity["recording"] or {}).get("sha256")
            if row_sha256(row) != identity["row_sha256"] or hashlib.sha256(row["expected"]).hexdigest() != recorded:
                raise LoadError(f"{where}: row {identity['instance_id']!r} was changed after the build; {_AGAIN}")
            check_instance_id(identity["instance_id"], where)
            if identity["benchmark_version"] != stamp["version"]:
                version = identity["benchmark_version"]
                raise LoadError(f"{where}: rows of version {version}, where the card says {stamp['version']}")
            identities.append(identity)
    if (dataset_sha256(identities), recordings_sha256(identities)) != (stamp["sha256"], stamp["recordings"]):
        raise LoadError(f"{where}: the rows are not those of the card; {_AGAIN}")


def check_instance_id(instance_id: object, where: str) -> None:
    """Files and folders are named after instances, and a dataset may be a stranger's.

    Raises:
        LoadError: not a plain name.
    """
    if not isinstance(instance_id, str) or not PLAIN_NAME.fullmatch(instance_id):
        shown = ascii(instance_id)[:100]
        raise LoadError(f"{where}: instance_id {shown} is not a plain name (a-z, 0-9, '.', '_', '-'; at most 100)")


def _reason(error: Exception) -> str:
    """The kind of an error and its first line."""
    line = next(iter(str(error).strip().splitlines()), "")
    return f"{type(error).__name__}: {line}"[:200].strip(": ")


# --- archives -----------------------------------------------------------------------------------------------------


class File(NamedTuple):
    """One regular file of a repository."""

    data: bytes
    executable: bool = False


def unpack(row: Mapping[str, Any], folder: str | Path) -> Path:
    """Write the masked repository of a row into `folder` (new or empty) and return the folder.

    Raises:
        LoadError: the folder has content, or the archive is damaged or hostile (nothing is written then).
    """
    folder = Path(folder)
    if archive_sha256(row["repo_archive"]) != row["repo_sha256"]:
        raise LoadError(f"{row['instance_id']}: repo_archive does not match repo_sha256; load the dataset again")
    files = read_archive(row["repo_archive"])
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise LoadError(f"{folder}: not an empty folder; give a new one, nothing is overwritten")
    write_files(files, folder)
    return folder


def write_files(files: Mapping[str, File], folder: Path) -> None:
    """Write files, as `read_archive` returns them, below a folder that nobody else writes to."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, file in files.items():
        path = folder / check_path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.data)
        path.chmod(0o755 if file.executable else 0o644)


def read_archive(archive: bytes, *, max_bytes: int = MAX_UNPACKED_BYTES, max_files: int = MAX_FILES) -> dict[str, File]:
    """The files of a tar.gz by relative POSIX path; the archive may be hostile.

    Raises:
        LoadError: not a gzipped tar, damaged or cut short, a member that is no regular file or folder or has a special
            mode, a path that leaves the root, leads into `.git`, hides a character or occurs twice, or more than
            `max_bytes` unpacked or `max_files` members.
    """
    files: dict[str, File] = {}
    folders: set[str] = set()
    for member, name, data in _members(gunzip(archive, max_bytes), max_files):
        if member.type == tarfile.DIRTYPE:
            folders.add(check_path(name, allow_root=True))
            continue
        name = check_path(name)
        if name in files:
            raise LoadError(f"archive: {name[:100]!r} is there twice")
        files[name] = File(data, bool(member.mode & 0o111))
    folders.update(str(parent) for name in files for parent in PurePosixPath(name).parents)
    if both := folders & files.keys():
        raise LoadError(f"archive: {min(both)[:100]!r} is both a file and a folder")
    return files


def check_path(name: str, *, allow_root: bool = False) -> str:
    """`name` in normal form, if it is a relative POSIX path that stays below its root and hides nothing.

    Raises:
        LoadError: absolute, empty, with `..`, a backslash, a drive, a character that cannot be seen, or too long; or it
            leads into a `.git` folder, whose configuration git would obey.
    """
    path = PurePosixPath(name)
    unsafe = path.is_absolute() or ".." in path.parts or "\\" in name or re.match("[A-Za-z]:", name)
    if unsafe or len(name) > 1000 or (not path.parts and not allow_root):
        raise LoadError(f"archive: path {name[:100]!r} is not a plain path below the root")
    if not name.isprintable() or _INVISIBLE.search(name):
        raise LoadError(f"archive: path {name[:40]!a} is not a plain path: it has characters that cannot be seen")
    if any(len(part.encode()) > 255 for part in path.parts):
        raise LoadError(f"archive: path {name[:100]!r} is not a plain path: a part of it is longer than 255 bytes")
    if any(_is_git(part) for part in path.parts):
        raise LoadError(f"archive: path {name[:100]!r} is not a plain path: git would take it for its own folder")
    return str(path)


def _is_git(part: str) -> bool:
    """Whether some file system takes a name for `.git`: in capitals, with dots or a stream behind, or cut to eight."""
    return part.split(":")[0].rstrip(". ").casefold() in (".git", "git~1")


def _members(tar: bytes, most: int) -> Iterator[tuple[tarfile.TarInfo, str, bytes]]:
    """(header, path, content) of each file and folder, in order.

    `tarfile` reads single headers only. Its own walk follows sizes and extension records wherever they lead (some back
    to the start, without end) and takes a damaged header for the end, so that other readers see other files.
    """
    position, long_path = 0, ""
    for _ in range(most + 1):
        if tar[position : position + _BLOCK] == bytes(_BLOCK):
            rest = len(tar) - position
            if rest < 2 * _BLOCK or tar.count(0, position) != rest or long_path:
                raise LoadError("archive: the tar does not end where it says")
            return
        try:
            member = tarfile.TarInfo.frombuf(tar[position : position + _BLOCK], "utf-8", "strict")
        except (tarfile.TarError, ValueError) as error:
            raise LoadError(f"archive: not a readable tar, or cut short ({error})") from error
        position += _BLOCK
        data = tar[position : position + max(member.size, 0)]
        if len(data) != member.size:
            raise LoadError(f"archive: {member.name[:100]!r} is cut short")
        position += -(-member.size // _BLOCK) * _BLOCK
        if member.type == tarfile.XHDTYPE:
            long_path = _pax_path(data)
            continue
        if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE):
            raise LoadError(f"archive: {member.name[:100]!r} is not a plain file (no links, devices or extensions)")
        if member.mode & 0o7000:
            raise LoadError(f"archive: {member.name[:100]!r} has a special mode (set-user-id, set-group-id or sticky)")
        yield member, long_path or member.name, data
        long_path = ""
    raise LoadError(f"archive: more than {most} members")


def _pax_path(data: bytes) -> str:
    """The path in an extension header: the only extension that `lmrbench_data.archive` writes."""
    record = re.fullmatch(rb"([0-9]{1,4}) path=([^\0]+)\n", data) if len(data) < 8192 else None
    if not record or int(record.group(1)) != len(data):
        raise LoadError("archive: an extension header that is not a long path")
    try:
        return record.group(2).decode("utf-8")
    except UnicodeDecodeError as error:
        raise LoadError(f"archive: a path is not UTF-8 ({error})") from error


def gunzip(data: bytes, limit: int) -> bytes:
    """Unpack one gzip stream that may be a bomb.

    Raises:
        LoadError: not gzip, damaged or cut short, followed by something, or more than `limit` bytes unpacked.
    """
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
