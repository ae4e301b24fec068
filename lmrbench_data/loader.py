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

    from lmrbench_data.dataset.rows import DatasetRow

SPLIT = "test"
#: Where a dataset keeps its rows, in a folder as on the Hub.
DATA_FILE = f"data/{SPLIT}-00000-of-00001.parquet"
#: The card's front matter states the content of the dataset under this key: {"version": ..., "sha256": ...}.
CARD_KEY = "lmrbench"

MAX_FILES = 10_000
MAX_UNPACKED_BYTES = 256 * 1024 * 1024
#: Of a dataset: bytes in memory, bytes of all archives unpacked, and single values in all columns.
MAX_TABLE_BYTES, MAX_ARCHIVES_BYTES, MAX_VALUES = 512 * 1024 * 1024, 4 * 1024**3, 2_000_000
MAX_CARD = 100_000
_BLOCK = 512
_AGAIN = "download or build it again"
#: What an instance may be called: a name that is safe as a file's, in a URL and in a table.
PLAIN_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
#: Columns whose text ends up in the name of a file or an image, in an address or a command, and the form it must have.
_FORMS = {
    "instance_id": (PLAIN_NAME, "a plain name (a-z, 0-9, '.', '_', '-'; at most 100)"),
    "arxiv_id": (re.compile(r"([0-9]{4}\.[0-9]{4,5}|[a-z-]+(\.[A-Z]{2})?/[0-9]{7})?"), "an arXiv id, or empty"),
    "docker_image": (re.compile(r"(lmrbench/[\w.-]{1,100}:[\w.-]{1,100})?", re.ASCII), "lmrbench/NAME:TAG, or empty"),
    "benchmark_version": (re.compile(r"[\w.+-]{1,100}", re.ASCII), "a version"),
    "goal_function": (re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*"), "the name of a function, or Class.method"),
}
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
        with card.open(encoding="utf-8") as file:
            header = re.match(r"---\n(.*?)\n---\n", file.read(MAX_CARD), re.DOTALL)
        stamp = yaml.safe_load(header.group(1))[CARD_KEY] if header else {}
        # Only text: lists that refer to one another would unfold to gigabytes of it.
        return {name: "" + stamp[name] for name in ("version", "sha256", "recordings")}
    except (OSError, ValueError, yaml.YAMLError, KeyError, TypeError, RecursionError) as error:
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
    card, data, where = _locate(str(spec))
    stamp = read_card_stamp(card, where)
    try:
        table = _read_bounded(data)
        _verify(table, stamp, where)
    except LoadError:
        raise
    except Exception as error:  # a stranger's file may raise anything in here
        raise LoadError(f"{where}: {DATA_FILE} cannot be read ({_reason(error)}); {_AGAIN}") from error
    return table


def _read_bounded(path: Path) -> pyarrow.Table:
    """The rows of a Parquet file that may be a bomb.

    A footer may lie about sizes and counts. Arrow believes the headers of the pages, so these are added up first.

    Raises:
        Exception: it unfolds to too much, is not of the form in which datasets are written, or cannot be read.
    """
    import pyarrow.parquet

    if path.stat().st_size > MAX_TABLE_BYTES:
        raise ValueError(f"larger than {MAX_TABLE_BYTES} bytes")
    content = path.read_bytes()
    # This one file; `read_table` may take folders above it that are named `key=value` for columns.
    # In this thread alone: one of Arrow's that lets go of `content` while Python ends takes the process with it.
    file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(content), pre_buffer=False)
    about = file.metadata
    # For files of other writers Arrow reads past the end of a column.
    if not about.created_by.startswith("parquet-cpp-arrow") or not all(map(_is_plain, file.schema_arrow.types)):
        raise ValueError("not written by pyarrow, or with types that rows do not have")
    if not about.num_rows:
        raise ValueError("no rows")
    size, values = 0, abs(about.num_rows)
    for chunk in (about.row_group(i).column(k) for i in range(about.num_row_groups) for k in range(about.num_columns)):
        at = min(chunk.dictionary_page_offset or chunk.data_page_offset, chunk.data_page_offset)
        end, longest = at + chunk.total_compressed_size, 0
        values += abs(chunk.num_values)
        while at < end:
            page, at = _thrift_struct(content, at) if at > 0 else ({}, 0)
            kind, unfolded, packed = (page.get(field, -1) for field in (1, 2, 3))
            details = page.get({0: 5, 2: 7, 3: 8}.get(kind, 0), {})
            count, encoding = details.get(1, -1), details.get(4 if kind == 3 else 2)
            at += packed
            if min(unfolded, packed, count) < 0 or at > end or encoding not in (0, 2, 3, 8):
                raise ValueError("a page of a form that datasets do not have")
            # Each value may be the longest text of the dictionary.
            longest = unfolded if kind == 2 else longest
            size += unfolded + (0 if kind == 2 else count * longest)
            values += count
            if size > MAX_TABLE_BYTES or values > MAX_VALUES:
                raise ValueError(f"unfolds to more than {MAX_TABLE_BYTES} bytes or {MAX_VALUES} values")
    table = file.read(use_threads=False)
    table.validate(full=True)  # text that is UTF-8
    return table


def _is_plain(kind: pyarrow.DataType) -> bool:
    """Whether a type is made of text, bytes and numbers, which take no more memory than their pages have."""
    if str(kind).startswith(("list<", "struct<")):
        return all(_is_plain(kind.field(index).type) for index in range(kind.num_fields))
    return str(kind) in ("string", "binary", "int64", "double", "bool")


def _thrift_struct(data: bytes, at: int) -> tuple[dict[int, Any], int]:
    """(fields by number, where it ends) of a struct in Thrift's compact protocol, as far as headers of pages need it.

    Raises:
        ValueError, IndexError: something that Arrow does not write, and other readers might take for something else.
    """
    found: dict[int, Any] = {}
    field = 0
    while head := data[at]:
        at, field, kind = at + 1, field + (head >> 4), head & 15
        if head < 16 or field > 15 or kind not in (1, 2, 5, 6, 8, 12):
            raise ValueError("a page without a header of its own")
        if kind == 12:
            found[field], at = _thrift_struct(data, at)
        elif kind > 2:
            value = shift = 0
            while shift == 0 or data[at - 1] > 127:
                value |= (data[at] & 127) << shift
                at, shift = at + 1, shift + 7
            at += value if kind == 8 else 0
            found[field] = value >> 1 ^ -(value & 1)
    return found, at + 1


def _embedded() -> pyarrow.Table:
    """The installed package's own tasks, made into rows now: under a second, and nothing that could go stale."""
    try:
        from lmrbench_data.dataset.build import build_table
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
        LoadError: a row was changed, is not safe to use, or these are not the rows of the card.
    """
    identities, unpacked = [], 0
    for row in (row for batch in table.to_batches(max_chunksize=1) for row in batch.to_pylist()):
        check_row(row, where)
        # A gzip stream ends with its size; where that is wrong, the first archive to be unpacked says so.
        unpacked += sum(int.from_bytes(value[-4:], "little") for value in row.values() if isinstance(value, bytes))
        if unpacked > MAX_ARCHIVES_BYTES:
            raise LoadError(f"{where}: its archives unfold to more than {MAX_ARCHIVES_BYTES} bytes")
        recorded = hashlib.sha256(row["expected"]).hexdigest()
        if row_sha256(row) != row["row_sha256"] or recorded != row["recording"]["sha256"]:
            raise LoadError(f"{where}: row {row['instance_id']!r} was changed after the build; {_AGAIN}")
        if (version := row["benchmark_version"]) != stamp["version"]:
            raise LoadError(f"{where}: rows of version {version}, where the card says {stamp['version']}")
        identities.append({name: row[name] for name in ("instance_id", "row_sha256", "recording")})
    if (dataset_sha256(identities), recordings_sha256(identities)) != (stamp["sha256"], stamp["recordings"]):
        raise LoadError(f"{where}: the rows are not those of the card; {_AGAIN}")


def check_row(row: Mapping[str, Any], where: str) -> None:
    """Refuse a row whose text would lead out of a folder or into a command: a dataset may be a stranger's.

    Raises:
        LoadError: a name or path of it is not a plain one.
    """
    for name, (form, needed) in _FORMS.items():
        if not isinstance(row.get(name), str) or not form.fullmatch(row[name]):
            raise LoadError(f"{where}: {name} {ascii(row.get(name))[:100]} is not {needed}")
    for path in (row["repo_name"], row["goal_file"], *row["context_files"]):
        try:
            check_path(path)
        except LoadError as error:
            raise LoadError(f"{where}: row {row['instance_id']!r}: {error}") from error


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
    """The path in an extension header: the only extension that `lmrbench_data.base.archive` writes."""
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
