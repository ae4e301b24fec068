"""Read the multiplexed stream of an attached container or command: stdout and stderr in turn, in frames.

A frame is 8 bytes of header (stream, length) and its data. Data is passed on as it arrives, so that no frame, however
long, is kept in memory here.
"""

import socket
import time
from collections.abc import Iterator
from typing import Any

_STDOUT = 1
_HEADER_BYTES = 8
_READ_BYTES = 1 << 18


def stream_socket(attached: Any) -> socket.socket:
    """Return the socket below the object that the client returns for an attached stream."""
    connection: socket.socket = getattr(attached, "_sock", attached)
    return connection


class StreamReader:
    """Splits one connection into pieces of stdout and stderr."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._header = bytearray()
        self._is_stdout = False
        self._rest = 0

    def read(self, timeout_s: float) -> list[tuple[bool, bytes]] | None:
        """Wait for data and return it as (is stdout, data); empty if nothing arrived in time, None at the end."""
        self._connection.settimeout(timeout_s)
        try:
            chunk = memoryview(self._connection.recv(_READ_BYTES))
        except TimeoutError:
            return []
        except ConnectionError:
            return None
        if not chunk:
            return None
        pieces: list[tuple[bool, bytes]] = []
        while chunk:
            if self._rest:
                data = bytes(chunk[: self._rest])
                pieces.append((self._is_stdout, data))
                self._rest -= len(data)
                chunk = chunk[len(data) :]
                continue
            missing = _HEADER_BYTES - len(self._header)
            self._header += chunk[:missing]
            chunk = chunk[missing:]
            if len(self._header) == _HEADER_BYTES:
                self._is_stdout = self._header[0] == _STDOUT
                self._rest = int.from_bytes(self._header[4:], "big")
                self._header.clear()
        return pieces

    def pieces(self, deadline: float) -> Iterator[tuple[bool, bytes]]:
        """Yield (is stdout, data) until the end.

        Args:
            deadline: in `time.monotonic()`.

        Raises:
            TimeoutError: the deadline has passed.
        """
        while (rest := deadline - time.monotonic()) > 0:
            found = self.read(rest)
            if found is None:
                return
            yield from found
        raise TimeoutError
