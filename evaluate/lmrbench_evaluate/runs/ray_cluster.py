"""Connect to a Ray cluster, list its nodes, and ask all of them the same question."""

import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from lmrbench_data.base.errors import InfraError, InputError
from lmrbench_data.base.text import error_line, one_line
from lmrbench_data.base.version import __version__

#: Seconds for the head of a cluster to accept a connection.
CONNECT_S = 10.0
#: How to fix nodes that differ.
_SAME = "give all nodes the same: pull it from LMRBENCH_REGISTRY, or copy it (`docker save`, `docker load`)"


@dataclass(frozen=True)
class Node:
    """A node of the cluster that can run tasks."""

    id: str
    name: str
    cpus: int

    def __str__(self) -> str:
        """Return the name for messages."""
        return self.name


def connect(address: str | None) -> Callable[[], None]:
    """Connect this process to a cluster, and return the function that disconnects it.

    A process that is already connected keeps its connection.

    Args:
        address: of the cluster; None for `RAY_ADDRESS`, or the cluster on this machine.

    Raises:
        InfraError: no cluster answers, or it runs another version of Ray or Python.
    """
    # Ray prints what happens on nodes to stdout, where results belong; the engine itself reports lost nodes.
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", "(?s).*")
    import ray

    if ray.is_initialized():
        return lambda: None
    check_port(address or os.environ.get("RAY_ADDRESS", ""))
    is_main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address or "auto", log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, RuntimeError, ValueError) as error:
        where = f"at {address} ({error_line(error)})" if address else "here; start one (`ray start --head`) or name one"
        raise InfraError(f"no Ray cluster {where}") from error
    finally:
        if is_main:  # Ray installs its own, which ends the process after three seconds
            signal.signal(signal.SIGTERM, handler)
    disconnect: Callable[[], None] = ray.shutdown
    return disconnect


def check_port(address: str) -> None:
    """Fail early if nothing listens at an address `HOST:PORT`: Ray tries for minutes.

    Raises:
        InfraError: the connection is refused, or not accepted in time.
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not (host and port.isdecimal()):
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_S).close()
    except (OSError, OverflowError) as error:
        raise InfraError(f"no Ray cluster at {address} ({error_line(error)})") from error


def alive_nodes() -> dict[str, Node]:
    """Return the nodes that can run tasks by id."""
    import ray

    nodes = {}
    for item in ray.nodes():
        if item["Alive"] and (cpus := int(item["Resources"].get("CPU", 0))):
            host, name = item["NodeManagerHostname"], item["NodeName"]
            nodes[item["NodeID"]] = Node(item["NodeID"], f"{name} ({host})", cpus)
    return nodes


def ask_all(
    nodes: Iterable[Node], question: Callable[..., dict[str, Any]], *arguments: Any, timeout_s: float | None = None
) -> dict[str, Any]:
    """Call a function on each node and return its answer, which must be the same everywhere.

    Args:
        question: returns plain values; among them `version`, of the harness, and `problem`, empty if there is none.
        timeout_s: seconds to wait for a node.

    Raises:
        InfraError: there are no nodes, a node does not answer, or it reports a problem.
        InputError: a node has another version than this process, or answers differ.
    """
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    task = ray.remote(num_cpus=0, max_retries=0)(question)
    asked = []
    for node in nodes:
        there = NodeAffinitySchedulingStrategy(node.id, soft=False)
        asked.append((node, task.options(scheduling_strategy=there).remote(*arguments)))
    first: dict[str, Any] = {}
    for node, reference in asked:
        try:
            facts = ray.get(reference, timeout=timeout_s)
        except ray.exceptions.GetTimeoutError as error:
            raise InfraError(f"node {node}: no answer in {timeout_s:.0f} s") from error
        except ray.exceptions.RayError as error:
            if node.id not in alive_nodes():  # it has just died
                continue
            reason = cause_of(error)
            fix = (
                f"install lmrbench-data {__version__} there" if isinstance(reason, ImportError | AttributeError) else ""
            )
            raise InfraError(f"node {node}: {error_line(reason)}{fix and f'; {fix}'}") from error
        if facts["version"] != __version__:
            raise InputError(f"node {node}: it has lmrbench-data {facts['version']}; install {__version__} there")
        if facts["problem"]:
            raise InfraError(f"node {node}: {facts['problem']}")
        first = first or facts
        for name, value in facts.items():
            if value != first[name]:
                raise InputError(f"node {node}: {name} {value}, but {first[name]} on another node; {_SAME}")
    if not first:
        raise InfraError("the Ray cluster has no CPUs; start a node with `ray start --address=HEAD`")
    return first


def cause_of(error: BaseException) -> Exception:
    """Return the exception that a task raised on its node, or Ray's own as an `InfraError`."""
    import ray

    while isinstance(error, ray.exceptions.RayTaskError) and isinstance(error.cause, Exception):
        error = error.cause
    if isinstance(error, ray.exceptions.RayError) or not isinstance(error, Exception):
        return InfraError(f"Ray: {one_line(error)[:300]}")
    return error
