"""Endpoints of a relay: one on this machine's loopback for agents that run outside, one inside a box.

The one inside needs no network: a small server in the container passes requests through its own stdin and stdout.
"""

import base64
import binascii
import contextlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from lmrbench_evaluate.sandbox.docker_stream import StreamReader

from ...base.errors import InfraError
from .allowed import MAX_REQUEST_BYTES
from .box import Box
from .relay import HttpAnswer, Relay

PORT = 8000
#: Concurrent requests of one agent.
AT_ONCE = 8
#: A request in base64 with its JSON.
_MAX_LINE = 2 * MAX_REQUEST_BYTES
_LOOK_S = 0.2
_RELAY_USER = "65533:65533"
_START_S = 60.0


@contextlib.contextmanager
def host_endpoint(relay: Relay) -> Iterator[tuple[str, str]]:
    """Serve a relay on this machine's loopback; yield (base URL, key). The key is valid for this endpoint only."""
    key, turns = secrets.token_urlsafe(24), threading.BoundedSemaphore(AT_ONCE)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def relay(self) -> None:
            given, length = self.headers.get("Authorization", ""), self.headers.get("Content-Length") or "0"
            size = int(length) if length.isdecimal() and len(length) < 12 else MAX_REQUEST_BYTES + 1
            if not hmac.compare_digest(given.removeprefix("Bearer ").encode(), key.encode()):
                said, self.close_connection = HttpAnswer(401, _error("wrong key")), True
            elif size > MAX_REQUEST_BYTES:
                said, self.close_connection = HttpAnswer(413, _error("the request is too long")), True
            else:
                with turns:
                    said = relay.answer(self.command, self.path, self.rfile.read(size))
            with contextlib.suppress(ConnectionError):
                self.send_response(said.status)
                self.send_header("Content-Type", said.kind)
                if said.retry_after:
                    self.send_header("Retry-After", said.retry_after)
                self.send_header("Content-Length", str(len(said.body)))
                self.end_headers()
                self.wfile.write(said.body)

        do_GET = do_POST = relay

        def log_message(self, *_: Any) -> None:
            """Write nothing to stderr."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", key
    finally:
        relay.close()
        server.shutdown()
        server.socket.close()


@contextlib.contextmanager
def box_endpoint(relay: Relay, box: Box, deadline: float) -> Iterator[str]:
    """Serve a relay inside a box; yield its base URL.

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

    def reply(asked: dict[str, Any]) -> None:
        try:
            said = relay.answer(asked["method"], asked["path"], asked["body"])
        finally:
            turns.release()
        body = base64.b64encode(said.body).decode()
        line = {"id": asked["id"], "status": said.status, "kind": said.kind, "retry_after": said.retry_after}
        # The container may be gone by now.
        with contextlib.suppress(OSError), send:
            connection.sendall(json.dumps({**line, "body": body}).encode() + b"\n")

    def serve(lines: Iterator[bytes]) -> None:
        # The stream breaks or holds nonsense, or the pool has been shut down.
        with contextlib.suppress(OSError, ValueError, RuntimeError):
            for line in lines:
                asked = _request(line)
                while not turns.acquire(timeout=_LOOK_S):
                    if closed.is_set():
                        return
                pool.submit(reply, asked)

    with contextlib.closing(connection):
        try:  # it writes one line, and no more until it gets a request
            first = next(_lines(reader, time.monotonic() + _START_S), b"")
        except TimeoutError:
            first = b""
        if first != b"ready":
            raise InfraError(f"the relay in the container did not start ({first[:200]!r})")
        threading.Thread(target=serve, args=(_lines(reader, deadline),), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{PORT}/v1"
        finally:
            closed.set()
            relay.close()
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


def _error(message: str) -> bytes:
    return json.dumps({"error": {"message": message, "code": "relay"}}).encode()


def _request(line: bytes) -> dict[str, Any]:
    """Parse a request from inside the box.

    Raises:
        ValueError: it is malformed.
    """
    try:
        asked: Any = json.loads(line)
        body = base64.b64decode(asked["body"])
        return {"id": int(asked["id"]), "method": str(asked["method"]), "path": str(asked["path"]), "body": body}
    except (LookupError, TypeError, RecursionError, binascii.Error) as error:
        raise ValueError("malformed request") from error
