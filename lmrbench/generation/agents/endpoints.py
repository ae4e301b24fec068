"""The endpoint of a relay inside a box, which needs no network: a small server in the container passes requests through
its own stdin and stdout.
"""

import base64
import contextlib
import json
import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from lmrbench_data.base.errors import InfraError
from lmrbench_evaluate.sandbox.docker_client import StreamReader

from .allowed import MAX_REQUEST_BYTES
from .box import Box
from .relay import HttpAnswer, Relay

PORT = 8000
URL = f"http://127.0.0.1:{PORT}/v1"
#: Concurrent requests of one agent.
AT_ONCE = 8
#: A request in base64 with its JSON.
_MAX_LINE = 2 * MAX_REQUEST_BYTES
_LOOK_S = 0.2
_RELAY_USER = "65533:65533"
_START_S = 60.0
_log = logging.getLogger(__name__)


@contextlib.contextmanager
def box_endpoint(relay: Relay, box: Box, deadline: float) -> Iterator[None]:
    """Serve a relay inside a box, at `URL`.

    Raises:
        InfraError: the server in the box did not start.
    """
    program = Path(__file__).with_name("box_server.py").read_text(encoding="utf-8")
    command = ["python", "-I", "-u", "-c", program, str(PORT), str(MAX_REQUEST_BYTES)]
    _, connection = box.start(command, user=_RELAY_USER)
    reader = StreamReader(connection)
    send = threading.Lock()
    pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="relay")
    #: Requests that wait for their turn stay in the box.
    turns, closed = threading.BoundedSemaphore(AT_ONCE), threading.Event()

    def reply(number: int, method: str, path: str, body: bytes) -> None:
        try:
            said = relay.answer(method, path, body)
        except Exception:  # without an answer, the agent would wait for ever
            _log.exception("a request of an agent cannot be relayed")
            said = HttpAnswer(500, b"{}")
        finally:
            turns.release()
        content = base64.b64encode(said.body).decode()
        line = {
            "id": number,
            "status": said.status,
            "kind": said.kind,
            "retry_after": said.retry_after,
        }
        # The container may be gone by now.
        with contextlib.suppress(OSError), send:
            connection.sendall(json.dumps({**line, "body": content}).encode() + b"\n")

    def serve(lines: Iterator[bytes]) -> None:
        # The stream breaks or holds nonsense, or the pool has been shut down.
        with contextlib.suppress(OSError, ValueError, LookupError, TypeError, RuntimeError):
            for line in lines:
                asked: Any = json.loads(line)
                body = base64.b64decode(asked["body"])
                while not turns.acquire(timeout=_LOOK_S):
                    if closed.is_set():
                        return
                pool.submit(reply, int(asked["id"]), str(asked["method"]), str(asked["path"]), body)

    with contextlib.closing(connection):
        try:  # it writes one line, and no more until it gets a request
            first = next(_lines(reader, time.monotonic() + _START_S), b"")
        except TimeoutError:
            first = b""
        if first != b"ready":
            raise InfraError(f"the relay in the container did not start ({first[:200]!r})")
        threading.Thread(target=serve, args=(_lines(reader, deadline),), daemon=True).start()
        try:
            yield
        finally:
            closed.set()
            relay.stop()
            pool.shutdown(wait=False, cancel_futures=True)


def _lines(reader: StreamReader, deadline: float) -> Iterator[bytes]:
    """Yield the lines that the server in the box prints; they may have been tampered with."""
    buffer = bytearray()
    for is_stdout, data in reader.pieces(deadline):
        if not is_stdout:
            continue
        *lines, rest = data.split(b"\n")
        for line in lines:
            yield bytes(buffer + line)
            buffer.clear()
        buffer += rest
        if len(buffer) > _MAX_LINE:
            raise ValueError("a line is too long")
