"""Engines evaluate the answers of a run: their interface, and the default one, threads of this process."""

import concurrent.futures
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Self

from lmrbench_data.dataset.rows import DatasetRow

from ..predictions.prediction import Prediction
from ..sandbox.base import Sandbox
from ..verdict.decode import Frame
from ..verdict.verdict import Verdict
from .job import Conditions, expected_outputs, fresh_outputs, job_verdict


class Engine(ABC):
    """Evaluates answers in sandboxes; a context manager that leaves nothing under way.

    Attributes:
        name: as `run.json` records it.
        sandbox: name of the sandbox in which answers run.
        official: whether leaderboards accept results of that sandbox.
    """

    name: str
    sandbox: str
    official: bool

    @abstractmethod
    def prepare(self, tags: Sequence[str]) -> dict[str, str]:
        """Make the environments with these image tags available; return the identity of each.

        Raises:
            InfraError: an environment is not available, or differs between machines.
        """

    @abstractmethod
    def begin(self, conditions: Conditions) -> None:
        """Set the conditions of all answers; called once, before the first `submit`."""

    @abstractmethod
    def submit(self, row: DatasetRow, prediction: Prediction) -> Future[Verdict]:
        """Evaluate an answer soon. The future raises only the user's mistakes and machines that do not fit."""

    @abstractmethod
    def slots(self) -> int:
        """Return the number of answers to have submitted at a time, a few more than run."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """Return the facts about the engine for `run.json`, without names of machines."""

    @abstractmethod
    def stop(self) -> None:
        """End all answers that are under way, and their sandboxes; none is left when this returns."""

    @abstractmethod
    def close(self) -> None:
        """Release the machines; a second call does nothing."""

    def __enter__(self) -> Self:
        """Return the engine itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()


class Threads(Engine):
    """Threads of this process share a sandbox, which the caller closes."""

    name = "threads"

    def __init__(self, sandbox: Sandbox, workers: int) -> None:
        self._place, self._workers = sandbox, workers
        self.sandbox, self.official = sandbox.name, sandbox.official
        self._pool = concurrent.futures.ThreadPoolExecutor(workers)
        self._stop = threading.Event()
        self._expected: dict[str, list[Frame]] = {}
        self._locks: dict[str, threading.Lock] = {}

    def prepare(self, tags: Sequence[str]) -> dict[str, str]:
        """Prepare the sandbox."""
        return {tag: self._place.prepare(tag) for tag in tags}

    def begin(self, conditions: Conditions) -> None:
        """Set the conditions."""
        self._conditions = conditions

    def submit(self, row: DatasetRow, prediction: Prediction) -> Future[Verdict]:
        """Queue an answer for the threads."""
        self._locks.setdefault(row["instance_id"], threading.Lock())
        return self._pool.submit(self._evaluate, row, prediction)

    def slots(self) -> int:
        """One more than the threads, which need not wait while the caller uses a result."""
        return self._workers + 1

    def facts(self) -> dict[str, Any]:
        """One node: this machine."""
        return {"name": self.name, "nodes": 1, "cores": os.cpu_count()}

    def stop(self) -> None:
        """Empty the sandbox and wait for the threads."""
        self._stop.set()
        self._place.close()
        self.close()

    def close(self) -> None:
        """Wait for the threads."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _evaluate(self, row: DatasetRow, prediction: Prediction) -> Verdict:
        return job_verdict(
            row, prediction, self._place, self._conditions, lambda: self._expected_outputs(row), self._stop
        )

    def _expected_outputs(self, row: DatasetRow) -> list[Frame]:
        """Return the outputs to compare with; those of fresh seeds are recorded once."""
        name = row["instance_id"]
        with self._locks[name]:
            if name not in self._expected:
                fresh = fresh_outputs(row, self._place, self._conditions)
                self._expected[name] = expected_outputs(row, fresh)
            return self._expected[name]
