"""Evaluate answers on the nodes of a Ray cluster: one task per answer, which Ray retries.

Only the driver, this process, writes the run folder. An answer whose node dies runs again on
another. A row of the dataset and the outputs on fresh seeds are objects of Ray's store, which
travel once to each node.
"""

import atexit
import functools
import logging
import os
import signal
import socket
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

from lmrbench_data.base.errors import InfraError, InputError
from lmrbench_data.base.extras import require_extra
from lmrbench_data.base.text import one_line
from lmrbench_data.base.version import __version__
from lmrbench_data.dataset.rows import DatasetRow

from ..predictions.prediction import Prediction
from ..sandbox import open_sandbox
from ..sandbox.base import Sandbox
from ..sandbox.zygotes import SHARED, Isolation
from ..verdict.decode import Frame
from ..verdict.expected import BadReferenceError, read_expected
from ..verdict.verdict import Verdict
from .engine import Conditions, Engine, failure, fresh_outputs, job_verdict

#: Retries of an answer whose node died; then it is an infra error, which a resumed run tries again.
RETRIES = 3
#: Seconds for the head of a cluster to accept a connection; Ray itself tries for many minutes.
CONNECT_S = 10.0
#: Seconds for answers to end after a stop, before their workers are killed.
STOP_S = 20.0
#: Kind and isolation of a sandbox, as `open_sandbox` takes them.
_Spec = tuple[str, Isolation]
_SAME = (
    "give all nodes the same: pull it from LMRBENCH_REGISTRY,"
    " or copy it (`docker save`, `docker load`)"
)


class _NodeFacts(NamedTuple):
    """The sandbox and the images of a node; they must be the same on all nodes."""

    sandbox: str
    official: bool
    isolation: str
    images: dict[str, str]
    """Image tag → identity."""


class RayEngine(Engine):
    """A connection to a cluster whose nodes have been checked."""

    def __init__(
        self, address: str | None, sandbox: str, workers: int | None, isolation: Isolation = SHARED
    ) -> None:
        """Connect, and open a sandbox on each node.

        Args:
            address: address of the cluster; None for `RAY_ADDRESS`, or the cluster on this machine.
            sandbox: kind of the sandbox; `auto` is Docker, because all nodes must be equal.
            workers: number of answers under way at a time; None for twice the CPUs.
            isolation: what separates answers in a sandbox, as for `open_sandbox`.

        Raises:
            InputError: Ray is not installed, or a node has another version of the harness.
            InfraError: there is no cluster, or a node has no sandbox.
        """
        require_extra("ray", "the engine ray")
        self._spec = ("docker" if sandbox == "auto" else sandbox, isolation)
        self._close = _connect(address)
        self._tasks: set[Any] = set()
        # Instance → object of Ray's store: its row, and the outputs on fresh seeds.
        self._rows: dict[str, Any] = {}
        self._fresh: dict[str, Any] = {}
        try:
            import ray

            cores = int(ray.cluster_resources().get("CPU", 0))
            self.slots = workers or 2 * cores
            self.facts = {
                "name": "ray",
                "version": ray.__version__,
                "nodes": len(_nodes()),
                "cores": cores,
            }
            node = _ask_nodes(self._spec, ())
        except BaseException:
            self.close()
            raise
        self.sandbox = node.sandbox
        self.official = node.official
        self.isolation = node.isolation

    def prepare(self, tags: Sequence[str]) -> dict[str, str]:
        """Prepare the images on all nodes; each image must be the same everywhere."""
        if not tags:
            return {}
        node = _ask_nodes(self._spec, tags)
        self.isolation = node.isolation
        return node.images

    def begin(self, conditions: Conditions) -> None:
        import ray

        self._shared = (self._spec, __version__, conditions)
        # Not decorators, because Ray may be missing where this module is imported.
        self._evaluate = ray.remote(num_cpus=1, max_retries=RETRIES)(_evaluate_on_node)
        self._record = ray.remote(num_cpus=1, max_retries=RETRIES)(_record_on_node)

    def submit(self, row: DatasetRow, prediction: Prediction) -> Future[Verdict]:
        name = row["instance_id"]
        task = self._start_task(name, row, prediction)
        self._tasks.add(task)
        future: Future[Verdict] = Future()
        future.set_running_or_notify_cancel()

        def finish(done: Future[Verdict]) -> None:
            self._tasks.discard(task)
            try:
                future.set_result(self._verdict(name, done))
            except BaseException as error:
                future.set_exception(error)

        task.future().add_done_callback(finish)
        return future

    def _start_task(self, name: str, row: DatasetRow, prediction: Prediction) -> Any:
        """Return the task that evaluates an answer; answers to one instance share their objects."""
        import ray

        if name not in self._rows:
            self._rows[name] = ray.put(row)
        if name not in self._fresh:
            self._fresh[name] = self._record.remote(*self._shared, self._rows[name])
        return self._evaluate.remote(*self._shared, self._rows[name], self._fresh[name], prediction)

    def _verdict(self, name: str, done: Future[Verdict]) -> Verdict:
        """Return the verdict of a finished task; raise the user's mistakes."""
        error = done.exception()
        if error is None:
            return done.result()
        cause = _cause(error)
        if not isinstance(cause, BadReferenceError):
            # The outputs on fresh seeds may have failed: the next answer has them recorded again.
            self._fresh.pop(name, None)
        return failure(cause)

    def stop(self) -> None:
        """Cancel all answers and wait until their sandboxes are gone."""
        import ray

        tasks = list(self._tasks)
        for force in (False, True):
            for task in tasks:
                ray.cancel(task, force=force)
            tasks = ray.wait(tasks, num_returns=len(tasks), timeout=STOP_S)[1] if tasks else []

    def close(self) -> None:
        """Leave the cluster; Ray ends the worker processes of the run."""
        self._close()
        self._close = lambda: None


def _connect(address: str | None) -> Any:
    """Connect this process to a cluster and return the function that disconnects it.

    A process that is already connected keeps its connection.
    """
    # Ray prints what happens on nodes to stdout, where results belong.
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", "(?s).*")
    # Nodes have an environment: Ray must not send them the folder in which `uv run` started.
    os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    import ray

    if ray.is_initialized():
        return lambda: None
    where = address or os.environ.get("RAY_ADDRESS", "")
    handler = signal.getsignal(signal.SIGTERM)
    try:
        _check_head(where)
        ray.init(address or "auto", log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:
        place = f"at {where}" if where else "here; start one (`ray start --head`), or name one"
        raise InfraError(f"no Ray cluster {place} ({one_line(error)[:300]})") from error
    finally:
        # Ray installs its own in the main thread, which ends the process after three seconds.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)
    return ray.shutdown


def _check_head(address: str) -> None:
    """Raise OSError if an address names a host that does not answer soon."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_S).close()


def _nodes() -> dict[str, str]:
    """Return node id → name of the nodes that can run tasks."""
    import ray

    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
    return {node["NodeID"]: f"{node['NodeName']} ({node['NodeManagerHostname']})" for node in nodes}


def _ask_nodes(spec: _Spec, tags: Sequence[str]) -> _NodeFacts:
    """Prepare images on all nodes and return the facts of a node, which must be those of all."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    task = ray.remote(num_cpus=0, max_retries=0)(_describe_node)
    answers = {}
    for node, name in _nodes().items():
        on_node = task.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False))
        answers[name] = on_node.remote(spec, __version__, tags)
    if not answers:
        raise InfraError(
            "the Ray cluster has no CPUs; start a node with `ray start --address=HEAD`"
        )
    facts = {name: _answer_of(name, answer) for name, answer in answers.items()}
    first = next(iter(facts.values()))
    for name, node_facts in facts.items():
        _check_equal(name, node_facts, first)
    return first


def _check_equal(name: str, facts: _NodeFacts, other: _NodeFacts) -> None:
    """Check that the facts of a node are those of another one."""
    for fact, here, there in zip(_NodeFacts._fields, facts, other, strict=True):
        if here != there:
            raise InputError(f"node {name}: {fact} {here}, but {there} on another node; {_SAME}")


def _answer_of(name: str, answer: Any) -> _NodeFacts:
    """Wait for the answer of a node; an error names the node."""
    import ray

    try:
        facts: _NodeFacts = ray.get(answer)
    except ray.exceptions.RayError as error:
        cause = _cause(error)
        kind = InputError if isinstance(cause, InputError) else InfraError
        raise kind(f"node {name}: {one_line(cause)[:300]}") from error
    return facts


def _cause(error: BaseException) -> Exception:
    """Return the exception that a task raised on its node, or Ray's own as an `InfraError`."""
    import ray

    while isinstance(error, ray.exceptions.RayTaskError) and isinstance(error.cause, Exception):
        error = error.cause
    if isinstance(error, ImportError | AttributeError):
        return InputError(f"{one_line(error)}; install lmrbench {__version__} there")
    if isinstance(error, ray.exceptions.RayError) or not isinstance(error, Exception):
        return InfraError(f"Ray: {one_line(error)[:300]}")
    return error


# --- on the nodes ---------------------------------------------------------------------------------


@functools.cache
def _node_sandbox(spec: _Spec) -> Sandbox:
    """Return the sandbox of this worker process, opened at its first use."""
    kind, isolation = spec
    sandbox = open_sandbox(kind, isolation=isolation)
    atexit.register(sandbox.close)
    return sandbox


def _describe_node(spec: _Spec, version: str, tags: Sequence[str]) -> _NodeFacts:
    if version != __version__:
        raise InputError(f"it has lmrbench {__version__}; install {version} there")
    sandbox = _node_sandbox(spec)
    images = {tag: sandbox.prepare(tag) for tag in tags}
    return _NodeFacts(sandbox.name, sandbox.official, sandbox.isolation, images)


def _checked_sandbox(spec: _Spec, version: str, conditions: Conditions, row: DatasetRow) -> Sandbox:
    """Return this node's sandbox, even if the node joined the cluster after the run began."""
    tag = row["docker_image"]
    facts = _describe_node(spec, version, [tag])
    if facts.images != {tag: conditions.images[tag]}:
        raise InputError(f"node {socket.gethostname()}: another image of {tag}; {_SAME}")
    return _node_sandbox(spec)


def _record_on_node(
    spec: _Spec, version: str, conditions: Conditions, row: DatasetRow
) -> list[Frame]:
    return fresh_outputs(row, _checked_sandbox(spec, version, conditions, row), conditions)


def _evaluate_on_node(
    spec: _Spec,
    version: str,
    conditions: Conditions,
    row: DatasetRow,
    fresh: Sequence[Frame],
    prediction: Prediction,
) -> Verdict:
    sandbox = _checked_sandbox(spec, version, conditions, row)
    return job_verdict(row, prediction, sandbox, conditions, lambda: [*read_expected(row), *fresh])
