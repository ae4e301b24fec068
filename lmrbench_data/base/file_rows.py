"""Yield the rows of Parquet, Arrow and JSON files as JSON: the child's half of `limited_reader`."""

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from .child import frame, limit_cpu, limit_resources, receive_frame, take_stdout
from .limited_reader import MEMORY_BYTES, MIB, OTHER, UnreadableError

#: CPU time for a file, and for every further 100 MB of it.
CPU_S = 60.0


def main() -> None:
    """Answer requests from stdin until it is closed."""
    limit_resources(MEMORY_BYTES, writes_files=False)
    replies = take_stdout()
    while (data := receive_frame()) is not None:
        request = json.loads(data)
        try:
            limit_cpu(CPU_S * (1 + os.path.getsize(request["path"]) // 10**8))
            for row in _READERS[request["kind"]](request):
                replies.write(frame(row))
            answer = _line("end", None)
        except UnreadableError as error:
            answer = _line("error", str(error))
        except MemoryError:
            answer = _line("error", f"needs more than {MEMORY_BYTES // MIB} MiB of memory to read")
        except Exception as error:
            # An untrusted file may raise anything here, and the message may contain anything.
            answer = _line("error", f"not readable as {request['kind']} ({type(error).__name__})")
        replies.write(frame(answer))
        replies.flush()


def _json_texts(request: Mapping[str, Any]) -> Iterator[bytes]:
    with open(request["path"], "rb") as file:
        content = file.read(request["max_bytes"] + 1)
    if len(content) > request["max_bytes"]:
        raise UnreadableError(f"larger than {request['max_bytes']} bytes")
    try:
        facts = json.loads(content)
    except (ValueError, RecursionError):
        facts = None
    if not isinstance(facts, dict):
        raise UnreadableError("not a JSON object")
    found = {name: facts.get(name) for name in request["names"]}
    if wrong := [name for name, value in found.items() if not isinstance(value, str | None)]:
        raise UnreadableError(f"{wrong[0]} is not text")
    yield _line("row", found)


def _parquet_rows(request: Mapping[str, Any]) -> Iterator[bytes]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    columns = request["columns"]
    with pq.ParquetFile(request["path"]) as file:
        rows, schema = file.metadata.num_rows, file.schema_arrow
    if rows > request["max_rows"]:
        raise UnreadableError(f"has {rows} rows, more than {request['max_rows']}")
    for name, kind in (columns or {}).items():
        if schema.names.count(name) != 1 or str(schema.field(name).type) != kind:
            raise UnreadableError(f"column {name} is missing or of another type")
    # Text that many rows share stays in a dictionary, and so in memory only once.
    texts = [name for name, kind in (columns or {}).items() if kind == "string"]
    # In pieces: a column of an honest file can be larger than the memory of this process.
    with pq.ParquetFile(request["path"], read_dictionary=texts, buffer_size=MIB) as file:
        names = list(columns) if columns is not None else None
        count = 0
        for batch in file.iter_batches(1024 if names else 16, columns=names, use_threads=False):
            count += batch.num_rows
            if count > request["max_rows"]:
                raise UnreadableError(f"has more than {request['max_rows']} rows")
            yield from _typed_rows(batch, request) if names else _any_rows(batch, request)


def _arrow_rows(request: Mapping[str, Any]) -> Iterator[bytes]:
    import pyarrow as pa

    pa.set_cpu_count(1)
    count = 0
    # Not mapped into memory: a file that shrinks meanwhile would crash the process.
    with pa.OSFile(request["path"]) as file, pa.ipc.open_stream(file) as batches:
        for batch in batches:
            count += batch.num_rows
            if count > request["max_rows"]:
                raise UnreadableError(f"has more than {request['max_rows']} rows")
            yield from _any_rows(batch, request)


def _typed_rows(batch: Any, request: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the rows of a batch of dictionaries and numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        column.validate(full=True)  # indices within the dictionary, text in UTF-8
        if not pa.types.is_dictionary(column.type):
            values.append(column.to_pylist())
            continue
        longest = pc.max(pc.binary_length(column.dictionary)).as_py() or 0
        if request["max_text"] and longest > request["max_text"]:
            raise UnreadableError(f"{name} is longer than {request['max_text']} bytes in a row")
        texts = column.dictionary.to_pylist()
        values.append([None if code is None else texts[code] for code in column.indices.to_pylist()])
    for cells in zip(*values, strict=True):
        yield _row(dict(zip(batch.schema.names, cells, strict=True)), request)


def _any_rows(batch: Any, request: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the rows of a batch with columns of any type."""
    batch.validate()
    for index in range(batch.num_rows):
        try:
            [row] = batch.slice(index, 1).to_pylist()
        except UnicodeDecodeError:
            if not request["keep_bad"]:
                raise
            yield _line("bad", "holds text that is not UTF-8")
        else:
            yield _row(row, request)


_READERS = {"JSON": _json_texts, "Parquet": _parquet_rows, "Arrow": _arrow_rows}


def _row(row: dict[str, Any], request: Mapping[str, Any]) -> bytes:
    line = _line("row", row)
    if len(line) <= request["max_row"]:
        return line
    if not request["keep_bad"]:
        raise UnreadableError(f"a row is longer than {request['max_row'] // MIB} MiB")
    return _line("bad", f"longer than {request['max_row'] // MIB} MiB")


def _line(kind: str, value: Any) -> bytes:
    return json.dumps([kind, value], ensure_ascii=False, default=lambda other: {OTHER: type(other).__name__}).encode()
