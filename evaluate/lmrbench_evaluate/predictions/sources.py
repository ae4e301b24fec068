"""Read raw prediction rows and their places from a file, the Hub, Inspect's logs, or memory.

An unreadable row becomes a `BadRow`; `prediction` checks the contents of the others.
"""

import contextlib
import json
import logging
import math
import reprlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.files import is_too_long
from lmrbench_data.base.text import cut, error_line, join_names
from lmrbench_data.loader import HUB_NAME, PINNED, hub_timeout

from .inspect_logs import is_log, log_rows, logs_in

if TYPE_CHECKING:
    import pandas as pd

WORDS = ("gold", "masked")
SUFFIXES = (".jsonl", ".json", ".parquet")
_KINDS = ", ".join(SUFFIXES)
_NO_FILE = f"no such file; expected {_KINDS}, org/name, `gold` or `masked`"
_log = logging.getLogger(__name__)
#: Files of predictions in a repository on the Hub.
ON_HUB = (".jsonl", ".parquet")
#: A source of predictions: a path, a name on the Hub, `gold` or `masked`, or rows in memory.
Source: TypeAlias = "str | Path | Iterable[Mapping[str, Any]] | pd.DataFrame"
#: What to do about JSON that is not one value.
_FIX = (
    "`jq --compact-output . FILE > lines.jsonl` writes one row per line, of which only bad ones are"
    " left out"
)
#: Fields that every row has, as text.
_FIELDS = ("instance_id", "model_name_or_path")
#: Levels of a row's values; what is deeper is left out, because it could be read but not written
#: again.
MAX_DEPTH = 50
#: Digits of a whole number; Python refuses to write or read longer ones as text.
MAX_DIGITS = 4300
_TOO_LARGE = 10**MAX_DIGITS
#: Largest number of characters of a missing path in a message.
MAX_SHOWN = 200
#: First bytes of files that cannot be read as they are: what they are, and what to do.
_UNREADABLE = {
    b"\x1f\x8b": "is compressed with gzip; unpack it first",
    b"BZh": "is compressed with bzip2; unpack it first",
    b"\x28\xb5\x2f\xfd": "is compressed with zstd; unpack it first",
    b"\x80\x04\x95": "is a pickle; save the rows as JSON lines",
    b"\x80\x05\x95": "is a pickle; save the rows as JSON lines",
    b"\xff\xfe": "is UTF-16; save it as UTF-8",
    b"\xfe\xff": "is UTF-16; save it as UTF-8",
}


@dataclass(frozen=True)
class BadRow:
    """A row that cannot be evaluated."""

    place: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


def source_name(source: Source) -> str:
    """Return the name of a source for messages and run.json; `memory` for rows in memory."""
    return str(source) if isinstance(source, str | Path) else "memory"


def check_source(source: Source) -> None:
    """Raise InputError unless a source is a word, a file, logs, a Hub dataset's name, or rows."""
    if not (isinstance(source, str) and source in WORDS):
        _open_source(source)


def raw_rows(source: Source) -> Iterator[tuple[str, Any]]:
    """Yield place and row of a source other than `gold` and `masked`; a row is JSON or a BadRow."""
    for place, row in _open_source(source):
        try:
            row = replace(row, place=place) if isinstance(row, BadRow) else _plain(row)
        except ValueError as error:
            row = BadRow(place, str(error))
        yield place, row


def _open_source(source: Source) -> Iterable[tuple[str, Any]]:
    if isinstance(source, str | Path):
        return _open_path(Path(source), str(source))
    return ((f"row {index}", row) for index, row in enumerate(_records(source)))


def _open_path(path: Path, name: str) -> Iterable[tuple[str, Any]]:
    """Open a file, a folder of logs, or a repository on the Hub."""
    if is_too_long(path):
        raise InputError(f"predictions {cut(name, MAX_SHOWN)!r}: {_NO_FILE}")
    if path.is_file():
        return _file_rows(path, name)
    logs = logs_in(path) if path.is_dir() else []
    if logs:
        return log_rows(logs)
    is_on_hub = HUB_NAME.fullmatch(name) and not name.endswith(SUFFIXES)
    if is_on_hub and not path.exists():
        return _hub_rows(name)
    shown = name if path.exists() else cut(name, MAX_SHOWN)
    raise InputError(f"predictions {shown!r}: {_path_problem(path)}")


def _path_problem(path: Path) -> str:
    """Return why a path is not a source."""
    if path.is_dir():
        return f"is a directory without Inspect's logs; name a file in it ({_KINDS})"
    if path.exists():
        return "not a regular file; save the rows to a file first"
    return _NO_FILE


def _records(source: Any) -> Iterable[Any]:
    """Return the rows of a table of polars, Arrow or pandas, or of anything that yields rows."""
    if hasattr(source, "to_dicts"):  # polars
        return cast(Iterable[Any], source.to_dicts())
    if hasattr(source, "to_pylist"):  # Arrow
        if hasattr(source, "schema"):
            _refuse_duplicates(source.schema.names, "predictions")
        return cast(Iterable[Any], source.to_pylist())
    if hasattr(source, "to_dict") and hasattr(source, "columns"):  # pandas
        return _frame_rows(source)
    if isinstance(source, Mapping | bytes) or not isinstance(source, Iterable):
        raise _not_rows(source)
    return source


def _not_rows(source: Any) -> InputError:
    """Return the error for a source that is neither a path nor rows."""
    kind = type(source).__name__
    fix = "make it a list of dictionaries or a pandas DataFrame"
    fix += " (for a LazyFrame, call .collect() first)"
    if kind.endswith("DatasetDict"):
        fix = f"choose a split, such as [{next(iter(source), 'test')!r}]"
    return InputError(f"predictions: must be a path or rows, not {kind}; {fix}")


def _frame_rows(frame: Any) -> Iterable[Any]:
    """Return the rows of a DataFrame of pandas."""
    _refuse_duplicates(frame.columns, "predictions")
    for name in frame.index.names:
        if name in _FIELDS and name not in frame.columns:
            problem = f"{name} is in the index of the DataFrame"
            raise InputError(f"predictions: {problem}; call .reset_index() first")
    return cast(Iterable[Any], frame.to_dict("records"))


def _refuse_duplicates(columns: Iterable[Any], place: str) -> None:
    """Refuse a table in which columns have the same name, because either may be meant."""
    counts = Counter(map(str, columns))
    names = [name for name, count in counts.items() if count > 1]
    if names:
        problem = f"duplicate columns {join_names(names)}"
        raise InputError(f"{place}: {problem}; rename or drop all but one of each name")


def first_columns(source: Source) -> tuple[str, ...]:
    """Return the columns of the first row of a source; empty if there is none."""
    with contextlib.suppress(InputError, OSError):
        for _, row in raw_rows(source):
            return tuple(map(str, row)) if isinstance(row, dict) else ()
    return ()


def _plain(value: Any, depth: int = MAX_DEPTH) -> Any:
    """Return a value as JSON has it, None for missing ones.

    Raises:
        ValueError: a key is a duplicate, or a number cannot be written.
    """
    if isinstance(value, BadRow):
        raise ValueError(value.reason)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping | list | tuple):
        return _plain_items(value, depth - 1) if depth else None
    return _plain_scalar(value)


def _plain_items(value: Any, depth: int) -> Any:
    if isinstance(value, Mapping):
        return {str(_plain(key)): _plain(item, depth) for key, item in value.items()}
    return [_plain(item, depth) for item in value]


def _plain_scalar(value: Any) -> Any:
    if isinstance(value, bytes):
        with contextlib.suppress(UnicodeDecodeError):
            return value.rstrip(b"\0").decode()  # columns of Parquet with a fixed size are padded
    if isinstance(value, int) and abs(value) >= _TOO_LARGE:
        raise ValueError(f"a number has more than {MAX_DIGITS} digits; shorten it or leave it out")
    if isinstance(value, float) and math.isnan(value):
        return None
    return None if type(value).__name__ in ("NAType", "NaTType") else value


def _file_rows(path: Path, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the rows of a file; messages call it `name`.

    Its extension and its first bytes tell what it is.
    """
    if is_log(path):
        yield from log_rows([path])
        return
    with path.open("rb") as file:
        start = file.read(4)
    for mark, problem in _UNREADABLE.items():
        if start.startswith(mark):
            raise InputError(f"{name}: {problem}")
    if path.suffix in (".csv", ".tsv", ".gz"):
        raise InputError(f"{name}: is not JSON; save the rows as JSON lines")
    elif path.suffix.lower() == ".parquet" or start == b"PAR1":
        yield from _parquet_rows(path, name)
    else:
        yield from _text_rows(path, name)


def _text_rows(path: Path, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the rows of JSON lines, or of one JSON value."""
    with path.open("rb") as file:
        start = file.read(4096).removeprefix(b"\xef\xbb\xbf").strip()
    if path.suffix == ".json" or start.startswith(b"["):
        yield from _json_rows(path.read_bytes(), name)
    elif start.startswith((b"{\n", b"{\r")):
        raise InputError(f"{name}: holds rows of several lines; {_FIX}")
    else:
        yield from _lines(path, name)


def _lines(path: Path, name: str) -> Iterator[tuple[str, Any]]:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                place = f"{name}:{number}"
                row = _parse_json(place, line)
                if len(line) == path.stat().st_size:
                    _refuse_columns(row, name)
                yield place, row


def _json_rows(data: bytes, name: str) -> Iterator[tuple[str, Any]]:
    value = _parse_json(name, data, f"; {_FIX}")
    if isinstance(value, BadRow):
        raise InputError(str(value))
    _refuse_columns(value, name)
    if _is_by_instance(value):
        for key, row in value.items():
            named = {"instance_id": key, **row} if isinstance(row, dict) else row
            yield f"{name}[{key!r}]", named
        return
    rows = value if isinstance(value, list) else [value]
    for index, row in enumerate(rows):
        yield f"{name}[{index}]", row


def _is_by_instance(value: Any) -> bool:
    """Return whether a file has the older form of SWE-bench: instance id → row."""
    if not isinstance(value, dict) or "instance_id" in value:
        return False
    return isinstance(next(iter(value.values()), None), dict)


def _refuse_columns(value: Any, name: str) -> None:
    """Refuse a table by columns, as `DataFrame.to_json` writes by default."""
    if _is_table(value):
        fix = 'save it with `df.to_json(FILE, orient="records")`'
        raise InputError(f"{name}: holds columns, not rows; {fix}")


def _is_table(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(isinstance(row, list) for row in value)
    if not isinstance(value, dict):
        return False
    if not value.keys().isdisjoint(_FIELDS):
        return _are_columns(list(value.values()))
    return isinstance(value.get("data"), list) and ("columns" in value or "schema" in value)


def _are_columns(values: Sequence[Any]) -> bool:
    """Return whether these are lists of one length, or objects with the same keys."""
    if all(isinstance(value, list) for value in values):
        return len({len(value) for value in values}) == 1
    return all(isinstance(value, dict) and value.keys() == values[0].keys() for value in values)


def _parse_json(place: str, data: bytes, fix: str = "") -> Any:
    """Return a value, or a BadRow; `fix` ends the reason of one that breaks the syntax."""
    try:
        return json.loads(data.decode("utf-8-sig").rstrip(), object_pairs_hook=json_object)
    except UnicodeDecodeError as error:
        return BadRow(place, f"not UTF-8 (byte {error.start}); save it as UTF-8")
    except json.JSONDecodeError as error:
        return BadRow(place, f"not JSON: {_syntax_problem(error)}{fix}")
    except ValueError as error:
        return BadRow(place, f"not JSON: {error}")
    except RecursionError:
        return BadRow(place, "not JSON that can be read: nested too deeply")


def _syntax_problem(error: json.JSONDecodeError) -> str:
    line = f"line {error.lineno}, " if "\n" in error.doc else ""
    return f"{error.msg} ({line}column {error.colno})"


def json_object(pairs: Sequence[tuple[str, Any]]) -> Any:
    """Return an object; a BadRow if a key stands twice, because either value may be meant."""
    content = dict(pairs)
    if len(content) == len(pairs):
        return content
    [(key, _)] = Counter(key for key, _ in pairs).most_common(1)
    return BadRow("", f"duplicate key {reprlib.repr(key)}")


def _parquet_rows(path: Path, name: str) -> Iterator[tuple[str, Any]]:
    import pyarrow.parquet

    number = 0
    try:
        # Not in threads: an Arrow thread that releases memory during Python's shutdown crashes the
        # process. An open file, because a name with a colon is read as an address.
        with path.open("rb") as data, pyarrow.parquet.ParquetFile(data, pre_buffer=False) as file:
            _refuse_duplicates(file.schema_arrow.names, name)
            for batch in file.iter_batches(16, use_threads=False):
                batch.validate()
                for row in batch.to_pylist():
                    number += 1
                    place = f"{name} row {number}"
                    yield place, row
    except InputError:
        raise
    except Exception as error:  # a damaged file may raise anything
        problem = f"not readable as Parquet ({error_line(error)}; after row {number})"
        raise InputError(f"{name}: {problem}") from error


def _hub_rows(source: str) -> Iterator[tuple[str, Any]]:
    """Yield the rows of all prediction files of a dataset repository at one commit."""
    from lmrbench_data.base.hub_client import hub_errors

    with hub_errors(f"predictions {source!r}: no such file here; on the Hub"):
        name, _, revision = source.partition("@")
        folder = _hub_folder(name, revision)
    names = [path for path in folder.rglob("*") if path.name.endswith(ON_HUB)]
    paths = sorted(path for path in names if path.is_file())
    if not paths:
        problem = "the Hub dataset holds no .jsonl or .parquet file"
        raise InputError(f"predictions {source!r}: {problem}")
    for path in paths:
        yield from _file_rows(path, f"{source}/{path.relative_to(folder).as_posix()}")


def _hub_folder(name: str, revision: str) -> Path:
    """Return the folder of a repository's prediction files in the client's cache.

    Without the Hub, what never changes may come from there, as in `loader`; offline, whatever was
    asked for.
    """
    from huggingface_hub import HfApi, constants, errors, snapshot_download

    if not (constants.HF_HUB_OFFLINE or PINNED.fullmatch(revision)):
        # A download on its own would wait long for a Hub that does not answer, and then take an old
        # commit.
        HfApi().dataset_info(name, revision=revision or None, timeout=hub_timeout())
    patterns = [f"*{end}" for end in ON_HUB]
    try:
        folder = snapshot_download(
            name, repo_type="dataset", revision=revision or None, allow_patterns=patterns
        )
    except errors.LocalEntryNotFoundError as error:  # not in the cache, either
        raise error.__cause__ or error from None
    if constants.HF_HUB_OFFLINE:  # a branch may have moved on
        _log.warning(
            "predictions '%s': from the cache of the Hub, commit %s", name, Path(folder).name
        )
    return Path(folder)
