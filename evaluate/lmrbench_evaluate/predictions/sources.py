"""Read raw prediction rows and their places from a file, a pipe, a saved dataset, a dataset on the Hub, or memory.

An unreadable row becomes a `BadRow`; `prediction` checks the contents of the others.
"""

import gzip
import json
import math
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias, cast

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.limited_reader import Reader, UnreadableError, UnreadableRow
from lmrbench_data.base.text import error_line
from lmrbench_data.loader import hub_timeout

from .saved_datasets import arrow_files, is_saved_dataset
from .standard_input import NAME, WORD, Piped

if TYPE_CHECKING:
    import pandas as pd

WORDS = ("gold", "masked")
SUFFIXES = (".jsonl", ".json", ".parquet", ".jsonl.gz", ".json.gz")
#: First bytes of binary files.
_MAGIC = {b"\x1f\x8b": "gzip", b"PAR1": "Parquet", b"PK\x03\x04": "zip"}
#: A source of predictions: a path, a name on the Hub, `gold` or `masked`; piped input; or rows in memory.
Source: TypeAlias = "str | Path | Piped | Iterable[Mapping[str, Any]] | pd.DataFrame"
MAX_ROW_BYTES = 8 * 1024 * 1024
#: Limit of a .json file, which is parsed whole; JSONL and Parquet are read row by row.
MAX_JSON_BYTES = 256 * 1024 * 1024
#: Limits of a binary table, which can declare any number of rows, and expand to many times its size.
MAX_PARQUET_ROWS, MAX_PARQUET_BYTES, MAX_EXPANSION = 1_000_000, 1024 * 1024 * 1024, 50
#: Limit of an unpacked file: a bomb of a few megabytes holds as many gigabytes.
MAX_UNPACKED_BYTES = 2 * 1024**3


@dataclass(frozen=True)
class BadRow:
    """A row that cannot be evaluated."""

    place: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


def source_name(source: Source) -> str:
    """Return the name of a source for messages and run.json; `memory` for rows in memory."""
    if isinstance(source, Piped) or (isinstance(source, str) and source == WORD):
        return NAME
    return str(source) if isinstance(source, str | Path) else "memory"


def check_source(source: Source) -> None:
    """Fail early if a source cannot exist.

    Raises:
        InputError: it is neither a word, a file, a saved dataset, the name of a Hub dataset, nor rows.
    """
    if isinstance(source, Piped):
        return
    if not isinstance(source, str | Path):
        if isinstance(source, Mapping | bytes) or not isinstance(source, Iterable):
            raise InputError(f"predictions: a path or rows are needed, not {type(source).__name__}")
        return
    source = str(source)
    path = Path(source)
    if source in (*WORDS, WORD) or path.is_file() or is_saved_dataset(path):
        return
    if path.is_dir():
        kinds = ", ".join(SUFFIXES)
        raise InputError(
            f"predictions {source!r}: is a directory that `save_to_disk` did not write; give a file in it ({kinds})"
        )
    if path.exists():
        raise InputError(f"predictions {source!r}: not a regular file; save the rows to a file first")
    if source.endswith(SUFFIXES) or not re.fullmatch(r"[\w.-]+/[\w.-]+(@[\w./-]+)?", source):
        kinds = ", ".join(SUFFIXES)
        raise InputError(f"predictions {source!r}: no such file; give {kinds}, org/name, `gold` or `masked`")


def raw_rows(source: Source) -> Iterator[tuple[str, Any]]:
    """Yield place and row of everything in a checked source; a row is any JSON value or a BadRow.

    Raises:
        InputError: the source as a whole cannot be read.
    """
    if isinstance(source, Piped):
        return _rows_named(NAME, source.path)
    if not isinstance(source, str | Path):
        return memory_rows(source)
    path = Path(source)
    if path.is_dir():
        return _saved_rows(path)
    if not path.is_file():
        return _hub_rows(str(source))
    return _file_rows(path)


def _file_rows(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the rows of a file, whose content has to match its name.

    Raises:
        InputError: the content is of another kind.
    """
    with path.open("rb") as file:
        start = file.read(4)
    kind = next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), "text")
    said = {".gz": "gzip", ".parquet": "Parquet"}.get(path.suffix, "text")
    if kind == "zip":
        raise InputError(f"{path}: is a zip archive; unpack it and give the file in it")
    if kind != said and (kind != "text" or said == "gzip"):  # damaged Parquet gets its own message
        fix = {
            "gzip": "name it .jsonl.gz or .json.gz",
            "Parquet": "name it .parquet",
            "text": "remove .gz from its name",
        }
        raise InputError(f"{path}: is {kind}, but its name says otherwise; {fix[kind]}")
    if said == "Parquet":
        return _parquet_rows(path)
    return _json_rows(path) if path.name.removesuffix(".gz").endswith(".json") else _jsonl_rows(path)


def _open(path: Path) -> "IO[bytes]":
    return cast("IO[bytes]", gzip.open(path)) if path.suffix == ".gz" else path.open("rb")


def memory_rows(source: "Iterable[Mapping[str, Any]] | pd.DataFrame") -> Iterator[tuple[str, Any]]:
    """Yield the rows of a list, a `datasets.Dataset` or a DataFrame, whose NaN becomes None."""
    frame: Any = source
    records: Iterable[Any] = frame.to_dict("records") if hasattr(source, "iloc") else frame
    for index, row in enumerate(records):
        if isinstance(row, Mapping):
            yield f"row {index}", {name: _from_frame(value) for name, value in row.items()}
        else:
            yield f"row {index}", row


def _from_frame(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def _jsonl_rows(path: Path) -> Iterator[tuple[str, Any]]:
    number = 0
    try:
        with _open(path) as file:
            while line := file.readline(MAX_ROW_BYTES + 1):
                number += 1
                place = f"{path}:{number}"
                if len(line) > MAX_ROW_BYTES:
                    while not line.endswith(b"\n") and (line := file.readline(1 << 20)):
                        _check_unpacked(path, file)  # skipped piece by piece, never held whole
                    yield place, BadRow(place, f"line longer than {MAX_ROW_BYTES // 2**20} MiB")
                elif line.strip():
                    yield place, _parse_json(place, line)
                _check_unpacked(path, file)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{path}: damaged after line {number} ({error_line(error)}); save it again") from error


def _check_unpacked(path: Path, file: "IO[bytes]") -> None:
    if path.suffix == ".gz" and file.tell() > MAX_UNPACKED_BYTES:
        raise InputError(f"{path}: unpacks to more than {MAX_UNPACKED_BYTES // 2**30} GiB; split it")


def _parse_json(place: str, line: bytes) -> Any:
    try:
        return json.loads(line.decode("utf-8-sig").rstrip())
    except UnicodeDecodeError as error:
        return BadRow(place, f"not UTF-8 (byte {error.start})")
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}" if "\n" in error.doc else f"column {error.colno}"
        return BadRow(place, f"not JSON: {error.msg} ({where})")
    except ValueError as error:
        return BadRow(place, f"not JSON: {error}")
    except RecursionError:
        return BadRow(place, "not JSON that can be read: nested too deeply")


def _json_rows(path: Path) -> Iterator[tuple[str, Any]]:
    try:
        with _open(path) as file:
            # Nothing of a file that is too large is read, and no more than the limit of a compressed one.
            is_large = path.stat().st_size > MAX_JSON_BYTES
            data = b"" if is_large else file.read(MAX_JSON_BYTES + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{path}: damaged ({error_line(error)}); save it again") from error
    if is_large or len(data) > MAX_JSON_BYTES:
        raise InputError(f"{path}: larger than {MAX_JSON_BYTES // 2**20} MiB; write one row per line to a .jsonl file")
    content = _parse_json(str(path), data)
    if isinstance(content, BadRow):
        raise InputError(f"{content}; name a file with one row per line .jsonl")
    if isinstance(content, dict) and "instance_id" in content:
        content = [content]
    if isinstance(content, dict):  # the older form of SWE-bench: instance id → row
        for key, value in content.items():
            yield f"{path}[{key!r}]", {"instance_id": key, **value} if isinstance(value, dict) else value
    elif isinstance(content, list):
        for index, value in enumerate(content):
            yield f"{path}[{index}]", value
    else:
        raise InputError(f"{path}: neither a list of rows nor an object of rows")


def _parquet_rows(path: Path) -> Iterator[tuple[str, Any]]:
    with Reader() as reader:
        rows = reader.parquet_rows(path, max_rows=MAX_PARQUET_ROWS, max_bytes=_max_bytes(path))
        yield from _with_places(rows, path, path, 0)


def _saved_rows(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the rows of a saved dataset, numbered through all files of a split."""
    with Reader() as reader:
        for folder, files in arrow_files(path):
            count = 0
            for file in files:
                rows = reader.arrow_rows(file, max_rows=MAX_PARQUET_ROWS, max_bytes=_max_bytes(file))
                for item in _with_places(rows, folder, file, count):
                    count += 1
                    yield item


def _with_places(rows: Iterator[Any], table: Path, file: Path, before: int) -> Iterator[tuple[str, Any]]:
    """Yield rows from a child process, which reads them because a file can expand to gigabytes or crash its reader.

    Args:
        table: the name of the rows in messages.
        file: the file that they are read from.
        before: number of rows of the table in earlier files.
    """
    number = before
    try:
        for number, raw in enumerate(rows, start=before + 1):
            place = f"{table} row {number}"
            yield place, BadRow(place, raw.reason) if isinstance(raw, UnreadableRow) else raw
    except UnreadableError as error:
        raise InputError(f"{file}: {error} (after row {number})") from error


def _max_bytes(path: Path) -> int:
    """Return the limit of an expanded table: answers may repeat, but 50 KB must not fill a disk."""
    return max(MAX_PARQUET_BYTES, MAX_EXPANSION * path.stat().st_size)


def _rows_named(name: str, path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the rows of a file under the name that the user knows, not that of our copy.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        for place, raw in _file_rows(path):
            place = place.replace(str(path), name)
            yield place, BadRow(place, raw.reason) if isinstance(raw, BadRow) else raw
    except InputError as error:
        raise InputError(str(error).replace(str(path), name)) from error


def _hub_rows(source: str) -> Iterator[tuple[str, Any]]:
    """Yield the rows of all prediction files of a dataset repository at one commit."""
    from huggingface_hub import HfApi, errors, hf_hub_download

    name, _, revision = source.partition("@")
    # The HTTP library's own error, which a dropped connection raises.
    http_error: type[Exception] = getattr(errors, "HTTPError", errors.HfHubHTTPError)
    try:
        info = HfApi().dataset_info(name, revision=revision or None, timeout=hub_timeout())
        files = sorted(
            file.rfilename
            for file in info.siblings or ()
            if file.rfilename.endswith((".jsonl", ".jsonl.gz", ".parquet"))
        )
        paths = {file: Path(hf_hub_download(name, file, repo_type="dataset", revision=info.sha)) for file in files}
    except (http_error, OSError, ValueError) as error:
        reason = f"{type(error).__name__}: {error_line(error)}"
        raise InputError(f"predictions {source!r}: no such file, and not on the Hub ({reason})") from error
    if not paths:
        raise InputError(f"predictions {source!r}: the Hub dataset holds no .jsonl or .parquet file")
    for file, path in paths.items():
        yield from _rows_named(f"{source}/{file}", path)
