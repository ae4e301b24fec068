"""Base of the test servers: a server on this machine that runs while its context is open."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self


class LoopbackServer:
    """Use as a context manager.

    Attributes:
        endpoint: its address, without a path.
    """

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        # Head and body are two writes: without this, the second waits until the client acknowledges the first.
        handler.disable_nagle_algorithm = True
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Refuse connections from now on."""
        self._server.shutdown()
        self._server.server_close()
