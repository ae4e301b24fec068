"""The endpoint of a relay inside a box, which needs no network.

A small server in the container passes requests through its own stdin and stdout.
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

from .box import Box
from .dialects import MAX_REQUEST_BYTES
from .relay import HttpAnswer, Relay

PORT = 8000
URL = f"http://127.0.0.1:{PORT}/v1"
#: Concurrent requests of one agent.
AT_ONCE = 8
#: A request in base64 with its JSON.
_MAX_LINE = 2 * MAX_REQUEST_BYTES
_RELAY_USER = "65533:65533"
_START_S = 60.0
_log = logging.getLogger(__name__)


class BoxEndpoint:
    """Serves a relay inside a box, at `URL`, until it is closed.

    Raises:
        InfraError: the server in the box did not start.
    """

    def __init__(self, relay: Relay, box: Box, deadline: float) -> None:
        program = Path(__file__).with_name("box_server.py").read_text(encoding="utf-8")
        command = ["python", "-I", "-u", "-c", program, str(PORT), str(MAX_REQUEST_BYTES)]
        _, self._connection = box.start(command, user=_RELAY_USER)
        self._relay = relay
        self._reader = StreamReader(self._connection)
        self._sending = threading.Lock()
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="relay")
        #: Requests that wait for their turn stay in the box.
        self._turns = threading.Semaphore(AT_ONCE)
        try:
            self._wait_until_ready()
        except BaseException:
            self.close()
            raise
        threading.Thread(target=self._serve, args=(deadline,), daemon=True).start()

    def close(self) -> None:
        """Relay no more requests."""
        self._relay.stop()
        self._pool.shutdown(wait=False)
        self._connection.close()

    def _wait_until_ready(self) -> None:
        line = b""
        with contextlib.suppress(TimeoutError):
            # The server writes one line, and no more until it gets a request.
            line = next(self._lines(time.monotonic() + _START_S), b"")
        if line != b"ready":
            raise InfraError(f"the relay in the container did not start ({line[:200]!r})")

    def _serve(self, deadline: float) -> None:
        # The stream breaks or holds nonsense, or the pool has been shut down.
        with contextlib.suppress(OSError, ValueError, LookupError, TypeError, RuntimeError):
            for line in self._lines(deadline):
                request = json.loads(line)
                self._turns.acquire()
                self._pool.submit(self._reply, request)

    def _reply(self, request: Any) -> None:
        """Relay a request, which may have been tampered with, and send its answer into the box."""
        try:
            body = base64.b64decode(request["body"])
            method = str(request["method"])
            betas = str(request["betas"])
            answer = self._relay.answer(method, str(request["path"]), body, betas)
        except Exception:  # without an answer, the agent would wait for ever
            _log.exception("a request of an agent cannot be relayed")
            answer = HttpAnswer(500, b"{}")
        finally:
            self._turns.release()
        line = _line(request["id"], answer)
        # The container may be gone by now.
        with contextlib.suppress(OSError), self._sending:
            self._connection.sendall(line)

    def _lines(self, deadline: float) -> Iterator[bytes]:
        """Yield the lines that the server in the box prints; they may have been tampered with."""
        buffer = bytearray()
        for is_stdout, data in self._reader.pieces(deadline):
            if not is_stdout:
                continue
            *lines, rest = data.split(b"\n")
            for line in lines:
                yield bytes(buffer + line)
                buffer.clear()
            buffer += rest
            if len(buffer) > _MAX_LINE:
                raise ValueError("a line is too long")


def _line(identity: Any, answer: HttpAnswer) -> bytes:
    """Return an answer as the server in the box reads it."""
    facts = {
        "id": identity,
        "status": answer.status,
        "kind": answer.kind,
        "retry_after": answer.retry_after,
        "body": base64.b64encode(answer.body).decode(),
    }
    return json.dumps(facts).encode() + b"\n"
