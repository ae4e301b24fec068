"""Read raw prediction rows and their places from a file, a pipe, a saved dataset, the Hub, Inspect's logs, or memory.

An unreadable row becomes a `BadRow`; `prediction` checks the contents of the others.
"""

import contextlib
import gzip
import json
import math
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias, cast

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.limited import DEFAULT_LIMITS, MIB, iterate_limited
from lmrbench_data.base.text import error_line
from lmrbench_data.loader import hub_timeout

from .inspect_logs import is_log, log_rows, logs_in
from .standard_input import NAME, WORD, Piped

if TYPE_CHECKING:
    import pandas as pd

WORDS = ("gold", "masked")
SUFFIXES = (".jsonl", ".json", ".parquet", ".jsonl.gz", ".json.gz")
#: Files that `save_to_disk` writes: of a dataset, and of a dictionary of splits.
_SAVED = ("state.json", "dataset_dict.json")
_GZIP, _PARQUET = b"\x1f\x8b", b"PAR1"
#: First bytes of files that hold no rows, and what they are.
_FOREIGN = {
    b"PK\x03\x04": "a zip archive; unpack it and give the file in it",
    b"BZh": "compressed with bzip2; unpack it, or compress it with gzip",
    b"\xfd7zXZ": "compressed with xz; unpack it, or compress it with gzip",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; unpack it, or compress it with gzip",
    b"\xff\xfe": "UTF-16; save it as UTF-8",
    b"\xfe\xff": "UTF-16; save it as UTF-8",
    b"version https://git-lfs": "a Git LFS pointer; fetch the file with `git lfs pull`",
}
#: A source of predictions: a path, a name on the Hub, `gold` or `masked`; piped input; or rows in memory.
Source: TypeAlias = "str | Path | Piped | Iterable[Mapping[str, Any]] | pd.DataFrame"
MAX_ROW_BYTES = 8 * MIB
#: Limit of a .json file, which is parsed whole; JSONL and Parquet are read row by row.
MAX_JSON_BYTES = 256 * MIB
#: Limits of a binary table, which can declare any number of rows, and expand to many times its size.
MAX_PARQUET_ROWS, MAX_PARQUET_BYTES, MAX_EXPANSION = 1_000_000, 1024 * MIB, 50
#: Limit of a compressed file: a bomb of a few megabytes holds as many gigabytes.
MAX_UNPACKED_BYTES = 2048 * MIB


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
    source, kinds = str(source), ", ".join(SUFFIXES)
    path = Path(source)
    if source in (*WORDS, WORD) or path.is_file() or any((path / name).is_file() for name in _SAVED):
        return
    if path.is_dir():
        if logs_in(path):
            return
        raise InputError(
            f"predictions {source!r}: is a directory without Inspect's logs that `save_to_disk` did not write; give a "
            f"file in it ({kinds})"
        )
    if path.exists():
        raise InputError(f"predictions {source!r}: not a regular file; save the rows to a file first")
    if source.endswith(SUFFIXES) or not re.fullmatch(r"[\w.-]+/[\w.-]+(@[\w./-]+)?", source):
        raise InputError(f"predictions {source!r}: no such file; give {kinds}, org/name, `gold` or `masked`")


def raw_rows(source: Source) -> Iterator[tuple[str, Any]]:
    """Yield place and row of everything in a checked source; a row is any JSON value or a BadRow.

    Raises:
        InputError: the source as a whole cannot be read.
    """
    rows: Iterable[tuple[str, Any]]
    if isinstance(source, Piped):
        rows = _file_rows(source.path, NAME)
    elif not isinstance(source, str | Path):
        frame: Any = source
        records: Iterable[Any] = frame.to_dict("records") if hasattr(source, "iloc") else frame
        rows = ((f"row {index}", row) for index, row in enumerate(records))
    elif (path := Path(source)).is_dir():
        rows = _saved_rows(path) if any((path / name).is_file() for name in _SAVED) else log_rows(logs_in(path))
    else:
        rows = _file_rows(path, str(path)) if path.is_file() else _hub_rows(str(source))
    for place, row in rows:
        yield place, {str(name): plain(value) for name, value in row.items()} if isinstance(row, Mapping) else row


def first_columns(source: Source) -> tuple[str, ...]:
    """Return the columns of the first row of a source; empty if there is none."""
    with contextlib.suppress(InputError, OSError):
        for _, row in raw_rows(source):
            return tuple(map(str, row)) if isinstance(row, dict) else ()
    return ()


def plain(value: Any) -> Any:
    """Return a NumPy scalar as a number, and None for a missing value of pandas or NumPy."""
    if getattr(value, "ndim", None) == 0:
        value = value.item()
    is_missing = type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and math.isnan(value))
    return None if is_missing else value


def _file_rows(path: Path, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the rows of a file, whose first bytes tell what it is; messages call it `name`."""
    with _opened(path, name) as file:
        start = file.read(4096)
    if is_log(path):
        return log_rows([path])
    is_json = path.name.removesuffix(".gz").endswith(".json")
    if path.suffix in (".csv", ".tsv"):
        raise InputError(f"{name}: is {path.suffix[1:].upper()}; save it as JSON lines")
    if kind := next((kind for magic, kind in _FOREIGN.items() if start.startswith(magic)), ""):
        raise InputError(f"{name}: is {kind}")
    if not is_json and re.match(rb"\s*[\[{]\s*\n", start):
        raise InputError(f"{name}: is one JSON value over several lines; name it .json")
    if start.startswith(_PARQUET) or path.suffix == ".parquet":
        return _parquet_rows(path, name)
    return _json_rows(path, name) if is_json else _jsonl_rows(path, name)


@contextlib.contextmanager
def _opened(path: Path, name: str) -> "Iterator[IO[bytes]]":
    """Open a file, unpacked if it is compressed with gzip."""
    with path.open("rb") as file:
        is_gzip = file.read(2) == _GZIP
    try:
        with cast("IO[bytes]", gzip.open(path)) if is_gzip else path.open("rb") as file:
            yield file
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{name}: damaged ({error_line(error)}); save it again") from error


def _jsonl_rows(path: Path, name: str) -> Iterator[tuple[str, Any]]:
    number, is_cut, most = 0, False, max(MAX_UNPACKED_BYTES, path.stat().st_size)
    with _opened(path, name) as file:
        while line := file.readline(MAX_ROW_BYTES + 1):
            if file.tell() > most:
                raise InputError(f"{name}: unpacks to more than {MAX_UNPACKED_BYTES // MIB} MiB; split it")
            is_rest, is_cut = is_cut, not line.endswith(b"\n")
            if is_rest:  # of a line that is too long, which is never held whole
                continue
            number += 1
            place = f"{name}:{number}"
            if len(line) > MAX_ROW_BYTES:
                yield place, BadRow(place, f"line longer than {MAX_ROW_BYTES // MIB} MiB")
            elif line.strip():
                yield place, _parse_json(place, line)


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


def _json_rows(path: Path, name: str) -> Iterator[tuple[str, Any]]:
    with _opened(path, name) as file:
        data = file.read(MAX_JSON_BYTES + 1)
    if len(data) > MAX_JSON_BYTES:
        raise InputError(f"{name}: larger than {MAX_JSON_BYTES // MIB} MiB; write one row per line to a .jsonl file")
    content = _parse_json(name, data)
    if isinstance(content, BadRow):
        raise InputError(f"{content}; name a file with one row per line .jsonl")
    if isinstance(content, dict) and "instance_id" in content:
        content = [content]
    if isinstance(content, dict):  # the older form of SWE-bench: instance id → row
        for key, value in content.items():
            yield f"{name}[{key!r}]", {"instance_id": key, **value} if isinstance(value, dict) else value
    elif isinstance(content, list):
        for index, value in enumerate(content):
            yield f"{name}[{index}]", value
    else:
        raise InputError(f"{name}: neither a list of rows nor an object of rows")


def _saved_rows(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the rows of all splits of a dataset that `save_to_disk` wrote."""
    import datasets

    try:
        saved = datasets.load_from_disk(str(path))
        splits = {path / name: rows for name, rows in saved.items()} if isinstance(saved, dict) else {path: saved}
        for folder, rows in splits.items():
            for number, row in enumerate(rows, start=1):
                yield f"{folder} row {number}", row
    except Exception as error:  # a damaged folder may raise anything
        raise InputError(f"{path}: damaged ({error_line(error)}); save the dataset again") from error


def _parquet_rows(path: Path, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the rows of a Parquet file; a child process reads it."""
    size, number = path.stat().st_size, 0
    # Answers may repeat, but 50 KB must not fill a disk.
    most = max(MAX_PARQUET_BYTES, MAX_EXPANSION * size)
    limits = replace(DEFAULT_LIMITS, cpu_s=60 * (1 + size // 10**8), total_bytes=most)
    try:
        for number, row in enumerate(iterate_limited(read_parquet, str(path), limits=limits), start=1):
            place = f"{name} row {number}"
            yield place, BadRow(place, row) if isinstance(row, str) else row
    except InputError as error:
        raise InputError(f"{name}: {error} (after row {number})") from error


def read_parquet(path: str) -> Iterator[dict[str, Any] | str]:
    """Yield the rows of an untrusted Parquet file, in a child; a reason in place of a row that is not UTF-8.

    Raises:
        InputError: it is damaged or has too many rows.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    try:
        # In pieces: a column of an honest file can be larger than the memory of this process.
        with pq.ParquetFile(path, buffer_size=MIB) as file:
            if (count := file.metadata.num_rows) > MAX_PARQUET_ROWS:
                raise InputError(f"has {count} rows, more than {MAX_PARQUET_ROWS}")
            for batch in file.iter_batches(16, use_threads=False):
                batch.validate()
                for index in range(batch.num_rows):
                    try:
                        yield from batch.slice(index, 1).to_pylist()
                    except UnicodeDecodeError:
                        yield "holds text that is not UTF-8"
    except (InputError, MemoryError):
        raise
    except Exception as error:  # the file may raise anything, and the message may contain anything
        raise InputError(f"not readable as Parquet ({type(error).__name__})") from None


def _hub_rows(source: str) -> Iterator[tuple[str, Any]]:
    """Yield the rows of all prediction files of a dataset repository at one commit."""
    from huggingface_hub import HfApi, hf_hub_download

    from lmrbench_data.base.hub_client import hub_errors

    name, _, revision = source.partition("@")
    with hub_errors(f"predictions {source!r}: no such file; on the Hub"):
        info = HfApi().dataset_info(name, revision=revision or None, timeout=hub_timeout())
        names = sorted(file.rfilename for file in info.siblings or ())
        paths = {
            file: Path(hf_hub_download(name, file, repo_type="dataset", revision=info.sha))
            for file in names
            if file.endswith((".jsonl", ".jsonl.gz", ".parquet"))
        }
    if not paths:
        raise InputError(f"predictions {source!r}: the Hub dataset holds no .jsonl or .parquet file")
    for file, path in paths.items():
        yield from _file_rows(path, f"{source}/{file}")
