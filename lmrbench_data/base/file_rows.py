"""Yield the rows of Parquet and Arrow files as JSON: the child's half of `limited_reader`."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
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


def _parquet_rows(request: Mapping[str, Any]) -> Iterator[bytes]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    # In pieces: a column of an honest file can be larger than the memory of this process.
    with pq.ParquetFile(request["path"], buffer_size=MIB) as file:
        if (rows := file.metadata.num_rows) > request["max_rows"]:
            raise UnreadableError(f"has {rows} rows, more than {request['max_rows']}")
        yield from _rows(file.iter_batches(16, use_threads=False), request)


def _arrow_rows(request: Mapping[str, Any]) -> Iterator[bytes]:
    import pyarrow as pa

    pa.set_cpu_count(1)
    # Not mapped into memory: a file that shrinks meanwhile would crash the process.
    with pa.OSFile(request["path"]) as file, pa.ipc.open_stream(file) as batches:
        yield from _rows(batches, request)


def _rows(batches: Iterable[Any], request: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the rows of all batches; one row that cannot be read costs only itself."""
    count = 0
    for batch in batches:
        count += batch.num_rows
        if count > request["max_rows"]:  # whatever the footer says
            raise UnreadableError(f"has more than {request['max_rows']} rows")
        batch.validate()
        for index in range(batch.num_rows):
            try:
                [row] = batch.slice(index, 1).to_pylist()
            except UnicodeDecodeError:
                yield _line("bad", "holds text that is not UTF-8")
                continue
            line = _line("row", row)
            too_long = _line("bad", f"longer than {request['max_row'] // MIB} MiB")
            yield line if len(line) <= request["max_row"] else too_long


_READERS = {"Parquet": _parquet_rows, "Arrow": _arrow_rows}


def _line(kind: str, value: Any) -> bytes:
    return json.dumps([kind, value], ensure_ascii=False, default=lambda other: {OTHER: type(other).__name__}).encode()
