"""The stream of an attached container: frames split anywhere, and none kept in memory."""

import socket
from collections.abc import Iterator

import pytest

from lmrbench_evaluate.sandbox.docker_client import StreamReader


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def framed(stream: int, data: bytes, size: int | None = None) -> bytes:
    return bytes([stream, 0, 0, 0]) + (len(data) if size is None else size).to_bytes(4, "big") + data


def test_frames_are_split_into_the_two_streams(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    reader, found = StreamReader(ours), {True: b"", False: b""}
    for byte in framed(1, b"out") + framed(2, b"log") + framed(1, b"") + framed(1, b"put"):
        theirs.sendall(bytes([byte]))
        for is_stdout, data in reader.read(5) or ():
            found[is_stdout] += data
    assert found == {True: b"output", False: b"log"}
    assert reader.read(0.05) == []
    theirs.close()
    assert reader.read(5) is None


def test_a_frame_of_four_gigabytes_is_passed_on_as_it_arrives(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    theirs.sendall(framed(1, b"begin", size=2**32 - 1))
    assert StreamReader(ours).read(5) == [(True, b"begin")]
