"""Read Parquet, Arrow and JSON files that a stranger wrote, in a child process with limits on memory and time.

A small file can lie about itself: a footer that promises a hundred rows where gigabytes unfold, an index outside its
dictionary, a page that crashes the reader. All of that hits the child. What comes back is JSON, a row a line, within
limits that this side checks again. The module stands alone: the leaderboard Space ships it (`cards/space`).
"""

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

MIB = 1024 * 1024
#: Address space of the child; what it needs for itself is about 300 MiB.
MEMORY_BYTES = 2048 * MIB
#: Processor time for a file: so much, and as much again for every further 100 MB of it.
CPU_S = 60.0
#: The longest wait for the next row.
PATIENCE_S = 120.0
#: What of the environment the child gets: enough to import libraries, no token.
_KEPT = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LANG", "TMPDIR")
#: Memory is counted as address space, so nothing may reserve more than it uses.
_FRUGAL = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "2"}
_FRUGAL |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
#: The only key of an object that stands for a value which JSON does not have; its value is the name of the type.
_OTHER = "\0other"


class UnreadableError(Exception):
    """A file cannot be read within its limits; the message says why in words of our own, without its name."""


class UnreadableRow:
    """Stands for a row that cannot be read though others can.

    Attributes:
        reason: why.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason


class Reader:
    """A child process that reads files, one after the other; a file that brings it down costs only itself.

    Use it as a context manager: the child ends with it.
    """

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._buffer = bytearray()

    def __enter__(self) -> "Reader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the child."""
        child, self._child, self._buffer = self._child, None, bytearray()
        if child is not None:
            child.kill()
            child.wait()
            for stream in (child.stdin, child.stdout):
                with contextlib.suppress(OSError):
                    stream.close()  # type: ignore[union-attr]

    def parquet_rows(
        self,
        path: Path,
        columns: Mapping[str, str] | None = None,
        *,
        max_rows: int,
        max_bytes: int,
        max_text: int = 0,
        max_row: int = 64 * MIB,
        keep_bad: bool = False,
    ) -> Iterator[Any]:
        """The rows of a Parquet file in order, as mappings.

        Args:
            columns: name → Arrow type of those that are wanted, each of which the file must have; all if None.
            max_bytes: of all rows as JSON.
            max_text: of a text in a column that is wanted, in bytes; 0 for no limit.
            max_row: of a row as JSON, in bytes.
            keep_bad: a row with text that is not UTF-8, or longer than `max_row`, is an `UnreadableRow`.

        Raises:
            UnreadableError: damaged, not of that shape, or past a limit; rows may have come before.
        """
        wanted = None if columns is None else dict(columns)
        limits = {"max_rows": max_rows, "max_text": max_text, "max_row": max_row, "keep_bad": keep_bad}
        return self._ask({"path": str(path), "kind": "Parquet", "columns": wanted, **limits}, max_bytes, max_row)

    def arrow_rows(self, path: Path, *, max_rows: int, max_bytes: int, max_row: int = 64 * MIB) -> Iterator[Any]:
        """The rows of an Arrow stream, as `datasets` saves it, in order; see `parquet_rows` with `keep_bad`.

        Raises:
            UnreadableError: damaged, or past a limit; rows may have come before.
        """
        limits = {"max_rows": max_rows, "max_row": max_row, "keep_bad": True}
        return self._ask({"path": str(path), "kind": "Arrow", **limits}, max_bytes, max_row)

    def json_texts(self, path: Path, names: Sequence[str], *, max_bytes: int) -> dict[str, str | None]:
        """Texts out of the JSON object in a file: the values of these keys, None for a key that it lacks.

        Raises:
            UnreadableError: no JSON object, another type of value, or past a limit.
        """
        request = {"path": str(path), "kind": "JSON", "names": list(names), "max_bytes": max_bytes}
        [texts] = self._ask(request, max_bytes, max_bytes)
        return {name: texts[name] for name in names}

    def _ask(self, request: Mapping[str, Any], max_bytes: int, max_line: int) -> Iterator[Any]:
        child = self._child if self._child and self._child.poll() is None else self._start()
        assert child.stdin is not None
        ended = False
        try:
            with contextlib.suppress(BrokenPipeError):  # then the answer is missing, too
                child.stdin.write(json.dumps(request).encode("ascii") + b"\n")
                child.stdin.flush()
            rest = max_bytes
            while True:
                line = self._line(child, 2 * max_line + MIB)
                rest -= len(line)
                if rest < -MIB:
                    raise UnreadableError(f"unfolds to more than {max_bytes // MIB} MiB")
                kind, value = _parse(line)
                if kind == "row":
                    yield value
                elif kind == "bad":
                    yield UnreadableRow(str(value)[:300])
                else:
                    ended = True
                    if kind == "error":
                        raise UnreadableError(str(value)[:300])
                    return
        finally:
            if not ended:  # its state is not known, or it is in the middle of a file
                self.close()

    def _start(self) -> "subprocess.Popen[bytes]":
        self.close()
        environment = {name: os.environ[name] for name in _KEPT if name in os.environ} | _FRUGAL
        command = [sys.executable, "-P", str(Path(__file__).resolve())]
        pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
        self._child = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nowhere, env=environment)
        return self._child

    def _line(self, child: "subprocess.Popen[bytes]", limit: int) -> bytes:
        """The next line of the child, however it is cut into pieces."""
        assert child.stdout is not None
        end, looked, until = self._buffer.find(b"\n"), 0, time.monotonic() + PATIENCE_S
        while end < 0:
            looked = len(self._buffer)
            if looked > limit:
                raise UnreadableError(f"a row is longer than {limit // MIB} MiB")
            ready, _, _ = select.select([child.stdout], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise UnreadableError(f"takes longer than {PATIENCE_S:.0f} s to read")
            piece = os.read(child.stdout.fileno(), MIB)
            if not piece:
                raise UnreadableError(f"brings its reader down ({_how(child)})")
            self._buffer += piece
            end = self._buffer.find(b"\n", looked)
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line


def read_parquet_rows(
    path: Path, columns: Mapping[str, str] | None, max_rows: int, max_bytes: int, max_text: int = 0
) -> list[dict[str, Any]]:
    """All rows of one Parquet file; see `Reader.parquet_rows`.

    Raises:
        UnreadableError: damaged, not of that shape, or past a limit.
    """
    with Reader() as reader:
        return list(reader.parquet_rows(path, columns, max_rows=max_rows, max_bytes=max_bytes, max_text=max_text))


def _parse(line: bytes) -> tuple[str, Any]:
    try:
        kind, value = json.loads(line, object_hook=_other)
    except (ValueError, TypeError, RecursionError):
        raise UnreadableError("brings its reader down (it answers nonsense)") from None
    return str(kind), value


def _other(value: dict[str, Any]) -> Any:
    """An object of a type that has the name of the one in the file, and nothing else of it."""
    if value.keys() == {_OTHER}:
        return type(str(value[_OTHER])[:50], (), {})()
    return value


def _how(child: "subprocess.Popen[bytes]") -> str:
    import signal

    try:
        code = child.wait(10)
    except subprocess.TimeoutExpired:
        return "it hangs"
    if code == -signal.SIGXCPU:
        return "it takes too long"
    return f"signal {-code}" if code < 0 else f"exit status {code}"


# --- in the child -----------------------------------------------------------------------------------------------------


def main() -> None:
    """Answer requests on stdin, one a line, until it is closed."""
    import resource

    for what, limit in ((resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, 0)):
        with contextlib.suppress(ValueError, OSError):  # a system that has no such limit, or a lower one
            resource.setrlimit(what, (limit, limit))
    out = sys.stdout.buffer
    for line in sys.stdin.buffer:
        request = json.loads(line)
        try:
            size = os.path.getsize(request["path"])
            usage = resource.getrusage(resource.RUSAGE_SELF)
            budget = 1 + int(usage.ru_utime + usage.ru_stime + CPU_S * (1 + size // 10**8))
            _, hard = resource.getrlimit(resource.RLIMIT_CPU)
            lowest = budget if hard == resource.RLIM_INFINITY else min(budget, hard)
            resource.setrlimit(resource.RLIMIT_CPU, (lowest, hard))
            for item in _READERS[request["kind"]](request):
                out.write(item + b"\n")
            answer = _line("end", None)
        except UnreadableError as error:
            answer = _line("error", str(error))
        except MemoryError:
            answer = _line("error", f"needs more than {MEMORY_BYTES // MIB} MiB of memory to read")
        except Exception as error:
            # A stranger's file may raise anything in here, and its message may hold anything.
            answer = _line("error", f"not readable as {request['kind']} ({type(error).__name__})")
        out.write(answer + b"\n")
        out.flush()


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
    # Text that many rows share stays a dictionary, so that it is in memory once.
    texts = [name for name, kind in (columns or {}).items() if kind == "string"]
    # Read in pieces: a column of an honest file can be larger than what the child may use.
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
    # Not mapped into memory: a file that shrinks meanwhile would end the process.
    with pa.OSFile(request["path"]) as file, pa.ipc.open_stream(file) as batches:
        for batch in batches:
            count += batch.num_rows
            if count > request["max_rows"]:
                raise UnreadableError(f"has more than {request['max_rows']} rows")
            yield from _any_rows(batch, request)


def _typed_rows(batch: Any, request: Mapping[str, Any]) -> Iterator[bytes]:
    """The rows of a batch of dictionaries and numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        column.validate(full=True)  # indices inside of the dictionary, text that is UTF-8
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
    """The rows of a batch of whatever a file holds."""
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
    return json.dumps([kind, value], ensure_ascii=False, default=lambda other: {_OTHER: type(other).__name__}).encode()


if __name__ == "__main__":
    main()
