"""The Docker engine's client: connections, errors in one line, attached streams, CPU time and ends of containers.

An attached stream carries stdout and stderr in turn, in frames of 8 bytes of header (stream, length) and data. Data is
passed on as it arrives, so that no frame, however long, is kept in memory here.
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

from .base import START_S, Ended

RUN_LABEL = "lmrbench.run"
#: Timeout of one request. A daemon that is gone refuses at once; one on a busy machine takes its time.
API_TIMEOUT_S = 180
_STDOUT = 1
_HEADER_BYTES = 8
_READ_BYTES = 1 << 18


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
    with engine_errors(f"no Docker daemon answers{place} (start one, or set DOCKER_HOST)"):
        # Asking for the version is the ping.
        return docker.APIClient(**daemon, version="auto", timeout=timeout_s)


def _daemon() -> dict[str, Any]:
    """Return the address that `docker` would use, and how to encrypt: DOCKER_HOST, DOCKER_CONTEXT, current context.

    docker-py's `ContextAPI` takes an unknown context for the default one, finds no context in a folder without a
    config.json, and drops a CA that comes without a client's certificate.
    """
    from docker.tls import TLSConfig
    from docker.utils import kwargs_from_env

    folder, name = (
        Path(os.environ.get("DOCKER_CONFIG") or "~/.docker").expanduser(),
        os.environ.get("DOCKER_CONTEXT"),
    )
    with contextlib.suppress(
        OSError, ValueError, AttributeError
    ):  # `docker` ignores a missing or damaged file, too
        name = name or json.loads((folder / "config.json").read_bytes()).get("currentContext")
    if os.environ.get("DOCKER_HOST") or name in (None, "", "default"):
        return {**kwargs_from_env()}
    digest = hashlib.sha256(str(name).encode()).hexdigest()
    try:
        endpoint = json.loads((folder / "contexts/meta" / digest / "meta.json").read_bytes())[
            "Endpoints"
        ]["docker"]
        address, verify = {"base_url": str(endpoint["Host"])}, not endpoint.get("SkipTLSVerify")
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise InfraError(
            f"Docker context {name!r} is not in {folder}; choose one of `docker context ls`"
        ) from error
    tls = {
        path.stem: str(path) for path in (folder / "contexts/tls" / digest / "docker").glob("*.pem")
    }
    if verify and not tls:
        return address
    certificate = (tls["cert"], tls["key"]) if {"cert", "key"} <= tls.keys() else None
    return {
        **address,
        "tls": TLSConfig(client_cert=certificate, ca_cert=tls.get("ca"), verify=verify),
    }


@contextlib.contextmanager
def engine_errors(action: str) -> Iterator[None]:
    """Turn every error of the client and of the system into InfraError: none of them is the tested code's doing."""
    try:
        yield
    except InfraError:
        raise
    except Exception as error:
        is_client_error = type(error).__module__.startswith(("docker.", "requests.", "urllib3."))
        if not is_client_error and not isinstance(error, OSError):
            raise
        # The daemon's own words, where there are any.
        text = (
            " ".join(str(getattr(error, "explanation", "") or error).split())
            or type(error).__name__
        )
        # The client wraps the message of the operating system in two or three layers of its own.
        system = re.search(r"\w+Error\(\d+, '([^']+)'\)|\[Errno \d+\] ([^\"')]+)", text)
        raise InfraError(f"{action}: {system[1] or system[2] if system else text[:300]}") from error


def stream_socket(attached: Any) -> socket.socket:
    """Return the socket below the object that the client returns for an attached stream."""
    connection: socket.socket = getattr(attached, "_sock", attached)
    return connection


@contextlib.contextmanager
def attached(api: Any, container: str) -> Iterator[socket.socket]:
    """Yield a connection to the streams of a container that has not been started."""
    stream = api.attach_socket(
        container, params=dict.fromkeys(("stdin", "stdout", "stderr", "stream"), 1)
    )
    # The response comes first: its own end would find its file closed, and Python 3.14 prints that.
    response = getattr(stream, "_response", contextlib.nullcontext())
    with (
        contextlib.closing(stream),
        contextlib.closing(stream_socket(stream)) as connection,
        response,
    ):
        yield connection


def send(connection: socket.socket, data: bytes) -> None:
    """Send data; a container that has ended does not read, and its state and output give the reason."""
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        connection.settimeout(START_S)
        connection.sendall(data)


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
        """Yield (is stdout, data) until the end; TimeoutError after the deadline, in `time.monotonic()`."""
        while (rest := deadline - time.monotonic()) > 0:
            found = self.read(rest)
            if found is None:
                return
            yield from found
        raise TimeoutError


def cpu_seconds(api: Any, container: str) -> float:
    """Return the CPU seconds of all processes of a container so far, from its cgroup; 0 if the daemon does not know."""
    # From API 1.41 on a daemon can answer at once; older ones first measure for a second or two.
    version = tuple(int(part) for part in api.api_version.split("."))
    at_once = {"one_shot": True} if version >= (1, 41) else {}
    usage = api.stats(container, stream=False, **at_once).get("cpu_stats", {}).get("cpu_usage", {})
    return float(usage.get("total_usage", 0)) / 1e9


def remove_all(api: Any, run_id: str) -> bool:
    """Remove all containers of a run, running or not; return whether none is left, or raise InfraError."""
    with engine_errors("Docker engine"):
        for pause in (0.0, 0.2, 1.0):  # a removal begun elsewhere takes its time
            time.sleep(pause)
            containers = api.containers(
                all=True, quiet=True, filters={"label": f"{RUN_LABEL}={run_id}"}
            )
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
    """Return how a container ended, and a line about it; InfraError if it was stopped from outside."""
    ended_at = time.monotonic()
    code = api.wait(container, timeout=API_TIMEOUT_S)["StatusCode"]
    problem = f"exit {code}: {log.strip()[-300:]}"
    state = api.inspect_container(container)["State"] if code else {}
    if state.get("OOMKilled"):
        return Ended.OUT_OF_MEMORY, problem
    if state.get("Error") or (code and _killed_through_engine(api, container, state, ended_at)):
        raise InfraError(
            f"the container was stopped from outside (exit {code} {state.get('Error', '')})".rstrip()
        )
    return Ended.EXITED, problem


def _killed_through_engine(
    api: Any, container: str, state: Mapping[str, Any], ended_at: float
) -> bool:
    """Return whether the container was stopped through the engine (`docker stop`, `kill`, `rm -f`).

    The exit status is not enough: tested code can lower the runner's CPU limit, and then the kernel kills the runner.
    """
    started, finished = (
        datetime.fromisoformat(state[name]).timestamp() for name in ("StartedAt", "FinishedAt")
    )
    # The daemon, whose clock may be another, records the kill just after the container has ended.
    until = finished + (time.monotonic() - ended_at) + 1
    period = {"since": f"{started:.3f}", "until": f"{until:.3f}"}
    events = api.events(
        **period, filters={"container": container, "event": ["kill", "remove"]}, decode=True
    )
    with contextlib.closing(events):
        return any(True for _ in events)
