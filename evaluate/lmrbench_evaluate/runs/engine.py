"""Evaluate the answers of a run: the verdict on one answer, and engines, which evaluate many.

Threads of this process are the default engine; `ray_engine` has the other.
"""

import concurrent.futures
import os
import threading
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Self

from lmrbench_data.base.errors import InfraError, LMRBenchError, OverloadError
from lmrbench_data.base.text import error_line
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import LoadError

from ..predictions.prediction import GOLD, Prediction, own_answer
from ..rebuild.workspace import rebuild
from ..sandbox.base import Sandbox
from ..verdict.decode import Frame, StreamError
from ..verdict.evaluator import evaluate_prediction
from ..verdict.expected import BadReferenceError, read_expected, record_seeds
from ..verdict.verdict import Cause, Verdict


@dataclass(frozen=True)
class Conditions:
    """The conditions that all answers of a run share."""

    images: Mapping[str, str]
    """Image tag → identity, as `Sandbox.prepare` returned it."""
    fresh_seeds: Sequence[int]
    timeout_scale: float


def job_verdict(
    row: DatasetRow,
    prediction: Prediction,
    sandbox: Sandbox,
    conditions: Conditions,
    expected: Callable[[], Sequence[Frame]],
    stop: threading.Event | None = None,
    together: bool = False,
) -> Verdict:
    """Return the verdict of `evaluate_prediction`, or of its failure; raise the user's mistakes.

    Args:
        expected: returns the outputs to compare with; its failure is the evaluation's.
    """
    try:
        return evaluate_prediction(
            row,
            prediction,
            sandbox,
            conditions.images[row["docker_image"]],
            expected=expected(),
            timeout_scale=conditions.timeout_scale,
            stop=stop,
            together=together,
        )
    except Exception as error:
        return failure(error)


def failure(error: Exception) -> Verdict:
    """Return the verdict on an answer whose evaluation failed; raise the user's mistakes again."""
    detail = str(error)
    log = ""
    if isinstance(error, OverloadError):
        cause = Cause.OVERLOAD
    elif isinstance(error, InfraError):
        cause = Cause.ENGINE
    elif isinstance(error, BadReferenceError):
        cause = Cause.DATASET
    elif isinstance(error, StreamError | LoadError):
        cause = Cause.DATASET
        detail = f"the dataset's row cannot be read: {error_line(error)}"
    elif isinstance(error, LMRBenchError):
        raise error
    else:
        cause = Cause.BUG
        name = type(error).__name__
        detail = f"a bug in lmrbench, please report it: {name}: {error_line(error)}"
        log = "".join(traceback.format_exception(error))
    return Verdict.without_cases(cause, detail, log=log)


def fresh_outputs(row: DatasetRow, sandbox: Sandbox, conditions: Conditions) -> list[Frame]:
    """Record the outputs of the golden file on the fresh seeds of a run (see `record_seeds`)."""
    if not conditions.fresh_seeds:
        return []
    return record_seeds(
        row,
        rebuild(row, own_answer(row, GOLD)),
        sandbox,
        conditions.images[row["docker_image"]],
        conditions.fresh_seeds,
        timeout_scale=conditions.timeout_scale,
    )


class Engine(ABC):
    """Evaluates answers in sandboxes; a context manager that leaves nothing under way.

    Attributes:
        sandbox: name of the sandbox in which answers run.
        official: whether leaderboards accept results of that sandbox.
        isolation: what separates answers in it; settled once `prepare` has returned.
        slots: number of answers to have submitted at a time, a few more than run.
        facts: facts about the engine for `run.json`, without names of machines.
    """

    sandbox: str
    official: bool
    isolation: str
    slots: int
    facts: Mapping[str, Any]

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
        """Evaluate an answer soon; the future raises only mistakes of the user or the cluster."""

    @abstractmethod
    def stop(self) -> None:
        """End all answers under way, and their sandboxes; none is left when this returns."""

    @abstractmethod
    def close(self) -> None:
        """Release the machines; a second call does nothing."""

    def __enter__(self) -> Self:
        """Return the engine itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


class Threads(Engine):
    """Threads of this process share a sandbox, which the caller closes."""

    def __init__(self, sandbox: Sandbox, workers: int) -> None:
        self._sandbox = sandbox
        # One more than the threads, so that none waits while the caller uses a result.
        self.slots = workers + 1
        self.facts = {"name": "threads", "nodes": 1, "cores": os.cpu_count()}
        self.sandbox = sandbox.name
        self.official = sandbox.official
        self.isolation = sandbox.isolation
        self._pool = concurrent.futures.ThreadPoolExecutor(workers)
        self._stop = threading.Event()
        self._expected: dict[str, Future[list[Frame]]] = {}
        self._locks: dict[str, threading.Lock] = {}

    def prepare(self, tags: Sequence[str]) -> dict[str, str]:
        images = {tag: self._sandbox.prepare(tag) for tag in tags}
        self.isolation = self._sandbox.isolation
        return images

    def begin(self, conditions: Conditions) -> None:
        self._conditions = conditions

    def submit(self, row: DatasetRow, prediction: Prediction) -> Future[Verdict]:
        self._locks.setdefault(row["instance_id"], threading.Lock())
        return self._pool.submit(self._evaluate, row, prediction)

    def stop(self) -> None:
        self._stop.set()
        self._sandbox.close()
        self.close()

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _evaluate(self, row: DatasetRow, prediction: Prediction) -> Verdict:
        return job_verdict(
            row,
            prediction,
            self._sandbox,
            self._conditions,
            lambda: self._expected_outputs(row),
            self._stop,
        )

    def _expected_outputs(self, row: DatasetRow) -> list[Frame]:
        """Return the outputs to compare with; they are made once for each instance.

        A failure of the reference on fresh seeds is kept, too.
        """
        name = row["instance_id"]
        with self._locks[name]:
            if name not in self._expected:
                outputs: Future[list[Frame]] = Future()
                try:
                    frames = read_expected(row)
                    frames += fresh_outputs(row, self._sandbox, self._conditions)
                    outputs.set_result(frames)
                except BadReferenceError as error:
                    outputs.set_exception(error)
                self._expected[name] = outputs
        return self._expected[name].result()
