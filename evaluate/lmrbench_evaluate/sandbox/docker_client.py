"""The Docker engine's client: connections, errors in one line, streams and ends of containers.

An attached stream carries stdout and stderr in turn, in frames of 8 bytes of header (stream,
length) and data. Data is passed on as it arrives, so no frame, however long, is kept in memory
here.
"""

import contextlib
import hashlib
import json
import os
import re
import socket
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from lmrbench_data.base.errors import InfraError
from lmrbench_data.base.text import one_line

from .base import Ended, Pieces

RUN_LABEL = "lmrbench.run"
#: Timeout of one request. A daemon that is gone refuses at once; a busy machine takes its time.
API_TIMEOUT_S = 180
_STDOUT = 1
_HEADER_BYTES = 8
_READ_BYTES = 1 << 18
#: The message of the operating system, which the client wraps in two or three layers of its own.
_SYSTEM_MESSAGE = re.compile(r"\w+Error\(\d+, '([^']+)'\)|\[Errno \d+\] ([^\"')]+)")


def connect(timeout_s: int = API_TIMEOUT_S) -> Any:
    """Return a low-level client of the daemon that `docker` would use.

    Args:
        timeout_s: limit of each request, including this first one.

    Raises:
        InfraError: no daemon answers, or its context cannot be read.
    """
    import docker

    with engine_errors("Docker context"):
        daemon = _daemon()
    place = f" at {daemon['base_url']}" if "base_url" in daemon else ""
    problem = f"no Docker daemon answers{place} (start one, or set DOCKER_HOST)"
    with engine_errors(problem):
        try:
            # Asking for the version is the ping.
            return docker.APIClient(**daemon, version="auto", timeout=timeout_s)
        except ValueError as error:  # the port is not a number, or too large
            raise InfraError(f"{problem}: {error}") from error


def _daemon() -> dict[str, Any]:
    """Return the address that `docker` would use, and how to encrypt.

    It is that of DOCKER_HOST, DOCKER_CONTEXT or the current context. docker-py's `ContextAPI` takes
    an unknown context for the default one, finds no context in a folder without a config.json, and
    drops a CA that comes without a client's certificate.
    """
    from docker.utils import kwargs_from_env

    folder = Path(os.environ.get("DOCKER_CONFIG") or "~/.docker").expanduser()
    name = os.environ.get("DOCKER_CONTEXT") or _current_context(folder)
    if os.environ.get("DOCKER_HOST") or name in (None, "", "default"):
        return {**kwargs_from_env()}
    digest = hashlib.sha256(str(name).encode()).hexdigest()
    try:
        content = (folder / "contexts/meta" / digest / "meta.json").read_bytes()
        endpoint = json.loads(content)["Endpoints"]["docker"]
        address = str(endpoint["Host"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        hint = "choose one of `docker context ls`"
        raise InfraError(f"Docker context {name!r} is not in {folder}; {hint}") from error
    is_verified = not endpoint.get("SkipTLSVerify")
    tls = _encryption(folder / "contexts/tls" / digest / "docker", is_verified)
    return {"base_url": address, **tls}


def _current_context(folder: Path) -> Any:
    # `docker` ignores a missing or damaged file, too.
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return json.loads((folder / "config.json").read_bytes()).get("currentContext")
    return None


def _encryption(folder: Path, is_verified: bool) -> dict[str, Any]:
    """Return the client's option for TLS with the files of a context; empty without TLS."""
    from docker.tls import TLSConfig

    files = {path.stem: str(path) for path in folder.glob("*.pem")}
    if is_verified and not files:
        return {}
    certificate = (files["cert"], files.get("key", "")) if "cert" in files else None
    tls = TLSConfig(client_cert=certificate, ca_cert=files.get("ca"), verify=is_verified)
    return {"tls": tls}


@contextlib.contextmanager
def engine_errors(action: str) -> Iterator[None]:
    """Turn errors of the client and of the system into InfraError: none is the tested code's."""
    try:
        yield
    except InfraError:
        raise
    except Exception as error:
        is_client_error = type(error).__module__.startswith(("docker.", "requests.", "urllib3."))
        if not is_client_error and not isinstance(error, OSError):
            raise
        raise InfraError(f"{action}: {_message(error)}") from error


def _message(error: Exception) -> str:
    """Return the daemon's own words or those of the system, where there are any."""
    text = one_line(getattr(error, "explanation", "") or error) or type(error).__name__
    if system := _SYSTEM_MESSAGE.search(text):
        return system[1] or system[2]
    return text[:300]


def stream_socket(stream: Any) -> socket.socket:
    """Return the socket below the object that the client returns for an attached stream."""
    connection: socket.socket = getattr(stream, "_sock", stream)
    return connection


@contextlib.contextmanager
def attached(api: Any, container: str) -> Iterator[socket.socket]:
    """Yield a connection to the streams of a container that has not been started."""
    streams = dict.fromkeys(("stdin", "stdout", "stderr", "stream"), 1)
    stream = api.attach_socket(container, params=streams)
    # The response is closed first: its own end would find its file closed, and Python 3.14 prints
    # that.
    response = getattr(stream, "_response", contextlib.nullcontext())
    with (
        contextlib.closing(stream),
        contextlib.closing(stream_socket(stream)) as connection,
        response,
    ):
        yield connection


class StreamReader:
    """Splits one connection into pieces of stdout and stderr."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._buffer = bytearray()
        self._is_stdout = False
        self._rest_of_frame = 0

    def read(self, timeout_s: float) -> Pieces | None:
        """Return the data that arrives in time, maybe none; None at the end."""
        self._connection.settimeout(timeout_s)
        try:
            chunk = self._connection.recv(_READ_BYTES)
        except TimeoutError:
            return []
        except ConnectionError:
            return None
        if not chunk:
            return None
        self._buffer += chunk
        return list(self._take_pieces())

    def pieces(self, deadline: float) -> Iterator[tuple[bool, bytes]]:
        """Yield pieces until the end; TimeoutError after the deadline, in `time.monotonic()`."""
        while (rest_s := deadline - time.monotonic()) > 0:
            pieces = self.read(rest_s)
            if pieces is None:
                return
            yield from pieces
        raise TimeoutError

    def _take_pieces(self) -> Iterator[tuple[bool, bytes]]:
        while self._buffer:
            if not self._rest_of_frame and not self._take_header():
                return
            data = bytes(self._buffer[: self._rest_of_frame])
            del self._buffer[: len(data)]
            self._rest_of_frame -= len(data)
            if data:
                yield self._is_stdout, data

    def _take_header(self) -> bool:
        """Start a frame; return False if its header is not complete."""
        if len(self._buffer) < _HEADER_BYTES:
            return False
        self._is_stdout = self._buffer[0] == _STDOUT
        self._rest_of_frame = int.from_bytes(self._buffer[4:_HEADER_BYTES], "big")
        del self._buffer[:_HEADER_BYTES]
        return True


def cpu_seconds(api: Any, container: str) -> float:
    """Return the CPU seconds of all processes of a container so far; 0 if they are unknown."""
    # From API 1.41 on a daemon can answer at once; older ones first measure for a second or two.
    _, minor = api.api_version.split(".")
    at_once = {"one_shot": True} if int(minor) >= 41 else {}
    usage = api.stats(container, stream=False, **at_once).get("cpu_stats", {}).get("cpu_usage", {})
    return float(usage.get("total_usage", 0)) / 1e9


def remove_all(api: Any, run_id: str) -> bool:
    """Remove all containers of a run; return whether none is left, or raise InfraError."""
    of_run = {"label": f"{RUN_LABEL}={run_id}"}
    with engine_errors("Docker engine"):
        for pause_s in (0.0, 0.2, 1.0):  # a removal begun elsewhere takes its time
            time.sleep(pause_s)
            containers = api.containers(all=True, quiet=True, filters=of_run)
            if not containers:
                return True
            for container in containers:
                remove(api, container["Id"])
    return False


def remove(api: Any, container: str) -> None:
    """Remove a container; a failure must not hide the outcome of its run."""
    import docker.errors
    import requests

    # The container or the daemon is gone: `close`, and then the reaper, try again.
    with contextlib.suppress(docker.errors.APIError, requests.exceptions.RequestException):
        api.remove_container(container, force=True, v=True)


def end_of_container(api: Any, container: str, log: str) -> tuple[Ended, str]:
    """Return how a container ended, and a line about it; InfraError if stopped from outside."""
    waiting_since = time.monotonic()
    code = api.wait(container, timeout=API_TIMEOUT_S)["StatusCode"]
    problem = f"exit {code}: {log.strip()[-300:]}"
    if not code:
        return Ended.EXITED, problem
    state = api.inspect_container(container)["State"]
    if state["OOMKilled"]:
        return Ended.OUT_OF_MEMORY, problem
    if state["Error"] or _killed_through_engine(api, container, state, waiting_since):
        reason = f"exit {code} {state['Error']}".rstrip()
        raise InfraError(f"the container was stopped from outside ({reason})")
    return Ended.EXITED, problem


def _killed_through_engine(
    api: Any, container: str, state: Mapping[str, Any], waiting_since: float
) -> bool:
    """Return whether the container was stopped through the engine (`docker stop`, `kill`, `rm -f`).

    The exit status is not enough: tested code can lower the runner's CPU limit, and then the kernel
    kills the runner.
    """
    started = datetime.fromisoformat(state["StartedAt"]).timestamp()
    finished = datetime.fromisoformat(state["FinishedAt"]).timestamp()
    # The daemon, whose clock may be another, records the kill just after the container has ended.
    until = finished + (time.monotonic() - waiting_since) + 1
    kills = {"container": container, "event": ["kill", "remove"]}
    events = api.events(since=f"{started:.3f}", until=f"{until:.3f}", filters=kills, decode=True)
    with contextlib.closing(events):
        return next(events, None) is not None
