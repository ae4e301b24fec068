"""Evaluate answers on the nodes of a Ray cluster: one task for each answer, which Ray places and repeats.

Only the driver, this process, writes the run folder. A row of the dataset and the outputs on fresh seeds are objects of
Ray's store, which travel once to each node. An answer whose node dies runs again on another; so does an answer whose
sandbox fails, once, if there is another node.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from lmrbench_data.base.errors import InfraError
from lmrbench_data.base.extras import need
from lmrbench_data.base.version import __version__
from lmrbench_data.dataset.rows import DatasetRow

from ..predictions.prediction import Prediction
from ..verdict.verdict import Cause, Verdict
from . import ray_node
from .engine import Engine, Load
from .job import Conditions, failure
from .ray_cluster import alive_nodes, ask_all, cause_of, check_port, connect

#: Retries of an answer whose worker or node died; then it is an infra error, which a resumed run tries again.
RETRIES = 3
#: Seconds for a node to start a Python process and open a sandbox.
START_S = 300.0
#: Seconds between two checks of the cluster.
WATCH_S = 2.0
#: Seconds after which an answer is given up if no node could run it.
PATIENCE_S = 120.0
#: Seconds for answers to end after a stop, before their workers are killed.
STOP_S = 20.0
_log = logging.getLogger(__name__)


@dataclass
class _Job:
    """An answer that was submitted."""

    row: DatasetRow
    prediction: Prediction
    task: Any
    """Its `ObjectRef`."""
    avoid: str = ""
    """Id of the node where its sandbox failed."""


class RayEngine(Engine):
    """A connection to a cluster whose nodes have been checked."""

    name = "ray"

    def __init__(self, address: str | None, sandbox: str, workers: int | None) -> None:
        """Connect, and open a sandbox on each node.

        Args:
            address: of the cluster; None for `RAY_ADDRESS`, or the cluster on this machine.
            sandbox: kind of the sandbox; `auto` is Docker, because no node may differ from the others.
            workers: number of answers under way at a time; None for as many as the cluster has CPUs.

        Raises:
            InputError: Ray is not installed, or a node has another version of the harness.
            InfraError: there is no cluster, or a node has no sandbox.
        """
        need("ray", "the engine ray")
        self._kind = "docker" if sandbox == "auto" else sandbox
        self._workers = workers
        self._disconnect = connect(address)
        self._lock = threading.RLock()
        self._jobs: dict[Future[Verdict], _Job] = {}
        self._objects: dict[tuple[str, str], Any] = {}
        self._loads: dict[str, Load] = {}
        self._closed = threading.Event()
        try:
            self._nodes = alive_nodes()
            self._seen = dict(self._nodes)
            facts = ask_all(self._nodes.values(), ray_node.describe, self._kind, [], timeout_s=START_S)
        except BaseException:
            self.close()
            raise
        self.sandbox, self.official = facts["sandbox"], facts["official"]
        self._watcher = threading.Thread(target=self._watch, name="lmrbench-ray-watch", daemon=True)

    def prepare(self, tags: Sequence[str]) -> dict[str, str]:
        """Prepare the images on all nodes, which must be the same everywhere."""
        images: dict[str, str] = {}
        if tags:
            images = ask_all(self._nodes.values(), ray_node.describe, self._kind, tags)["images"]
        return images

    def begin(self, conditions: Conditions) -> None:
        """Send the conditions to the cluster."""
        import ray

        self._ticket = ray.put(ray_node.Ticket(self._kind, __version__, conditions))
        self._has_seeds = bool(conditions.fresh_seeds)
        # Not decorated in `ray_node`, which is imported where Ray may be missing.
        self._evaluate = ray.remote(num_cpus=1, max_retries=RETRIES)(ray_node.evaluate)
        self._record = ray.remote(num_cpus=1, max_retries=RETRIES)(ray_node.record)
        self._watcher.start()

    def submit(self, row: DatasetRow, prediction: Prediction) -> Future[Verdict]:
        """Hand an answer to Ray."""
        future: Future[Verdict] = Future()
        future.set_running_or_notify_cancel()
        self._start(future, row, prediction)
        return future

    def room(self) -> int:
        """Twice the CPUs, so that none waits for the next answer."""
        return self._workers or 2 * max(1, sum(node.cpus for node in self._nodes.values()))

    def load(self) -> Load:
        """Return the load of the busiest node, as its last answer reported it."""
        loads = [load._replace(workers=self._seen[node].cpus) for node, load in self._loads.copy().items()]
        return max(loads, key=lambda load: load.average / load.cores, default=Load(0.0, 1, 1))

    def facts(self) -> dict[str, Any]:
        """Return the size of the cluster."""
        import ray

        cores = sum(node.cpus for node in self._seen.values())
        lost = len(self._seen) - len(self._nodes)
        return {"name": self.name, "version": ray.__version__, "nodes": len(self._seen), "cores": cores, "lost": lost}

    def stop(self) -> None:
        """Cancel all answers and wait until their sandboxes are gone."""
        import ray

        with self._lock:
            jobs, self._jobs = self._jobs, {}
        tasks = [job.task for job in jobs.values()]
        for force in (False, True):
            for task in tasks:
                with contextlib.suppress(ValueError, ray.exceptions.RayError):
                    ray.cancel(task, force=force)
            tasks = ray.wait(tasks, num_returns=len(tasks), timeout=STOP_S)[1] if tasks else []

    def close(self) -> None:
        """Leave the cluster; Ray ends the worker processes of the run."""
        if not self._closed.is_set():
            self._closed.set()
            self._disconnect()

    def _start(self, future: Future[Verdict], row: DatasetRow, prediction: Prediction, avoid: str = "") -> None:
        options = {"label_selector": {"ray.io/node-id": f"!{avoid}"}} if avoid else {}
        shared = self._object("row", row)
        fresh = self._object("fresh", row) if self._has_seeds else []
        task = self._evaluate.options(**options).remote(self._ticket, shared, fresh, prediction)
        with self._lock:
            self._jobs[future] = _Job(row, prediction, task, avoid)
        task.future().add_done_callback(lambda done: self._finish(future, done))

    def _object(self, kind: str, row: DatasetRow) -> Any:
        """Return the reference of a row, or of the outputs on its fresh seeds, which one task records."""
        import ray

        key = kind, row["instance_id"]
        with self._lock:
            if key not in self._objects:
                self._objects[key] = (
                    ray.put(row) if kind == "row" else self._record.remote(self._ticket, self._object("row", row))
                )
            return self._objects[key]

    def _finish(self, future: Future[Verdict], done: "Future[ray_node.Answered]") -> None:
        """Set the verdict on an answer, or send it to another node; runs on a thread of Ray's."""
        with self._lock:
            job = self._jobs.pop(future, None)
        if job is None:  # stopped, or given up
            return
        try:
            verdict, node = self._verdict(job, done)
            elsewhere = self._nodes.keys() - {node}
            if verdict.cause is Cause.ENGINE and node and elsewhere and not job.avoid:
                self._start(future, job.row, job.prediction, avoid=node)
            else:
                future.set_result(verdict)
        except BaseException as error:
            future.set_exception(error)

    def _verdict(self, job: _Job, done: "Future[ray_node.Answered]") -> tuple[Verdict, str]:
        """Return the result of a task, and the node that reached it; empty if unknown."""
        error = done.exception()
        if error is None:
            answered = done.result()
            self._loads[answered.node] = answered.load
            return answered.verdict, answered.node
        # The outputs on fresh seeds may be what failed: the next answer has them recorded again.
        self._objects.pop(("fresh", job.row["instance_id"]), None)
        return failure(cause_of(error)), ""

    def _watch(self) -> None:
        """Track the nodes, and give up answers that no node could run for a long time."""
        import ray

        head = ray.get_runtime_context().gcs_address
        all_well = time.monotonic()
        while not self._closed.wait(WATCH_S):
            try:
                check_port(head)
            except InfraError as error:
                self._end(error)
                return
            nodes = alive_nodes()
            for lost in self._nodes.keys() - nodes.keys():
                _log.warning("node %s was lost; its answers run on another node", self._nodes[lost])
            self._nodes = nodes
            self._seen.update(nodes)
            with self._lock:
                stranded = {future: job for future, job in self._jobs.items() if not nodes.keys() - {job.avoid}}
            if not stranded:
                all_well = time.monotonic()
            elif time.monotonic() - all_well > PATIENCE_S:
                self._give_up(stranded)

    def _end(self, error: InfraError) -> None:
        """End the run, because the head is lost: Ray will soon end this process."""
        with self._lock:
            jobs, self._jobs = self._jobs, {}
        for future in jobs:
            future.set_exception(error)

    def _give_up(self, stranded: Mapping[Future[Verdict], _Job]) -> None:
        import ray

        for future, job in stranded.items():
            with self._lock:
                known = self._jobs.pop(future, None)
            if known:
                ray.cancel(job.task)
                future.set_result(Verdict.without_cases(Cause.ENGINE, "no node of the Ray cluster is left for it"))
