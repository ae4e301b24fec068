"""Load LMR-Bench rows and unpack their masked repositories; what was loaded is checked against what was asked for.

This file stands alone: it needs `datasets` and nothing else of LMR-Bench (only the spec `embedded` needs the package),
so it can be downloaded from the Hub and used as it is. The package has it as `lmrbench_data.loader`.

    from loader import load, unpack

    rows = load("org/lmr-bench@v1.0.0")     # or a folder, or "embedded"
    unpack(rows[0], "work/dpo")             # the masked repository, ready to edit
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import re
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from datasets import Dataset

SPLIT = "test"
#: The card's front matter states the content of the dataset under this key: {"version": ..., "sha256": ...}.
CARD_KEY = "lmrbench"

MAX_FILES = 10_000
MAX_UNPACKED_BYTES = 256 * 1024 * 1024


class LoadError(ValueError):
    """A dataset or an archive is not what it should be; the message says what, where and how to mend it."""

    exit_code = 1


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
    """
    spec = str(spec)
    if spec == "embedded":
        try:
            from lmrbench_data.evaluate.embedded import ensure_embedded
        except ImportError as error:
            raise LoadError("dataset 'embedded' needs the package: pip install lmrbench-data") from error
        return _load_folder(ensure_embedded())
    if Path(spec).is_dir():
        return _load_folder(Path(spec))
    if re.fullmatch(r"[\w.-]+/[\w.-]+(@[\w./-]+)?", spec):
        return _load_hub(*spec.partition("@")[::2])
    raise LoadError(f"dataset {spec!r}: no such folder; give a folder, org/name[@revision] or 'embedded'")


def dataset_sha256(rows: Iterable[Mapping[str, Any]]) -> str:
    """The identity of a dataset: a hash over the ids and hashes of its rows, whatever their order."""
    lines = sorted(f"{row['instance_id']} {row['row_sha256']}\n" for row in rows)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def row_sha256(row: Mapping[str, Any]) -> str:
    """The hash of a row's content: all columns but `row_sha256` itself."""

    def canonical(value: Any) -> Any:
        if isinstance(value, bytes):
            return {"sha256": hashlib.sha256(value).hexdigest()}
        if isinstance(value, Mapping):
            return {key: canonical(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [canonical(item) for item in value]
        return value

    content = {name: canonical(value) for name, value in row.items() if name != "row_sha256"}
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def read_card_stamp(card: str, where: str) -> dict[str, str]:
    """The `lmrbench` entry of a card's front matter: benchmark version and content hash."""
    import yaml

    header = re.match(r"---\n(.*?)\n---\n", card, re.DOTALL)
    stamp = (yaml.safe_load(header.group(1)) or {}).get(CARD_KEY) if header else None
    if not isinstance(stamp, dict) or not {"version", "sha256"} <= stamp.keys():
        raise LoadError(f"{where}: no `{CARD_KEY}` entry in the card's header, so this is not an LMR-Bench dataset")
    return {key: str(value) for key, value in stamp.items()}


def _load_folder(folder: Path) -> Dataset:
    card = folder / "README.md"
    if not card.is_file():
        raise LoadError(f"{folder}: no README.md; `lmrbench dataset build` makes a dataset folder")
    stamp = read_card_stamp(card.read_text(encoding="utf-8"), str(card))
    return _verified(_load_dataset(str(folder.resolve()), None), stamp, str(folder))


def _load_hub(name: str, revision: str) -> Dataset:
    from huggingface_hub import HfApi, hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, LocalEntryNotFoundError

    where = f"{name}@{revision}" if revision else name
    try:
        if not revision:
            # Pinned before anything is read, so that card and rows are of one commit.
            revision = HfApi().dataset_info(name).sha or "main"
        card = hf_hub_download(name, "README.md", repo_type="dataset", revision=revision)
    except (HfHubHTTPError, LocalEntryNotFoundError, EntryNotFoundError, OSError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise LoadError(f"{where}: cannot read the dataset card ({reason}); check name, revision and HF_TOKEN") from error
    stamp = read_card_stamp(Path(card).read_text(encoding="utf-8"), where)
    if re.fullmatch(r"v\d+\.\d+\.\d+", revision) and revision != f"v{stamp['version']}":
        raise LoadError(f"{where}: the card says version {stamp['version']}; the tag was moved")
    return _verified(_load_dataset(name, revision), stamp, where)


def _load_dataset(path: str, revision: str | None) -> Dataset:
    from datasets import load_dataset

    try:
        with quiet_datasets():
            return load_dataset(path, revision=revision, split=SPLIT)
    except Exception as error:  # `datasets` raises many kinds here; each means that the place holds no such dataset
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise LoadError(f"{path}: `datasets` cannot load it ({type(error).__name__}: {reason})") from error


@contextlib.contextmanager
def quiet_datasets() -> Iterator[None]:
    """Without the progress bars and warnings of `datasets`: callers show their own."""
    from datasets import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars
    from datasets.utils.logging import get_verbosity, set_verbosity, set_verbosity_error

    verbosity, hidden = get_verbosity(), are_progress_bars_disabled()
    set_verbosity_error()
    disable_progress_bars()
    try:
        yield
    finally:
        set_verbosity(verbosity)
        if not hidden:
            enable_progress_bars()


def _verified(rows: Dataset, stamp: Mapping[str, str], where: str) -> Dataset:
    """`rows`, if they are the ones that the card states; `datasets` may have served others from its cache."""
    for row in rows:
        if row_sha256(row) != row.get("row_sha256"):
            raise LoadError(f"{where}: row {row.get('instance_id')!r} was changed after the build; build or download again")
        if row["benchmark_version"] != stamp["version"]:
            raise LoadError(f"{where}: got version {row['benchmark_version']} where the card says {stamp['version']}")
    if dataset_sha256(rows.select_columns(["instance_id", "row_sha256"])) != stamp["sha256"]:
        raise LoadError(f"{where}: the rows are not those of the card; build again, or clear the `datasets` cache")
    return rows


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
    if hashlib.sha256(row["repo_archive"]).hexdigest() != row["repo_sha256"]:
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
        LoadError: not a gzipped tar, a member that is no regular file or folder, a path that leaves the root or
            stands twice, or more than `max_bytes` unpacked or `max_files` members.
    """
    files: dict[str, File] = {}
    # Unpacked under a limit before tarfile sees it: a header, too, can claim any size.
    content = _gunzip(archive, max_bytes)
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as tar:
            for count, member in enumerate(tar, start=1):
                if count > max_files:
                    raise LoadError(f"archive: more than {max_files} members")
                if member.isdir():
                    check_path(member.name.rstrip("/") or ".", allow_root=True)
                    continue
                if not member.isreg() or member.issparse():
                    raise LoadError(f"archive: {member.name!r} is no regular file (links and devices are refused)")
                name = check_path(member.name)
                if name in files:
                    raise LoadError(f"archive: {name!r} stands twice")
                reader = tar.extractfile(member)
                data = reader.read() if reader else b""
                if len(data) != member.size:
                    raise LoadError(f"archive: {name!r} is cut short")
                files[name] = File(data, bool(member.mode & 0o111))
    except (tarfile.TarError, UnicodeError, ValueError, OverflowError, EOFError) as error:
        if isinstance(error, LoadError):
            raise
        raise LoadError(f"archive: not a readable tar ({error})") from error
    for name in files:
        for parent in PurePosixPath(name).parents:
            if str(parent) in files:
                raise LoadError(f"archive: {str(parent)!r} is both a file and a folder")
    return files


def check_path(name: str, *, allow_root: bool = False) -> str:
    """`name` in normal form, if it is a relative POSIX path that stays below its root.

    Raises:
        LoadError: absolute, empty, with `..`, a backslash, a drive, a control character or more than 1,000 characters.
    """
    path = PurePosixPath(name)
    unsafe = path.is_absolute() or ".." in path.parts or re.search(r"[\\\x00-\x1f\x7f]|^[A-Za-z]:", name)
    if unsafe or len(name) > 1000 or (not path.parts and not allow_root):
        raise LoadError(f"archive: path {name[:100]!r} is not a plain path below the root")
    return str(path)


def _gunzip(archive: bytes, limit: int) -> bytes:
    stream = zlib.decompressobj(wbits=31)
    try:
        content = stream.decompress(archive, limit + 1)
    except zlib.error as error:
        raise LoadError(f"archive: not gzip ({error})") from error
    if len(content) > limit:
        raise LoadError(f"archive: more than {limit} bytes unpacked")
    if not stream.eof:
        raise LoadError("archive: the gzip stream is cut short")
    return content
