"""Base of the test servers: a server on this machine that runs while its context is open, and its handler."""

import ssl
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


class LoopbackHandler(BaseHTTPRequestHandler):
    """Keeps connections open. It writes nothing to stderr, because tests read the clients' stderr."""

    protocol_version = "HTTP/1.1"

    def content(self) -> bytes:
        """Return the body of the request."""
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def respond(self, status: int, headers: Mapping[str, str], body: bytes, cut: int = 0) -> None:
        """Send a response, whose body may lack a number of bytes at its end."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[: len(body) - cut])

    def log_message(self, *_: Any) -> None:
        """Write nothing."""


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

    def encrypt(self, context: ssl.SSLContext) -> None:
        """Speak TLS from now on."""
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.endpoint = self.endpoint.replace("http:", "https:")

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
