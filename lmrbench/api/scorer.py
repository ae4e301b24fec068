"""Score answers as they come: for training and for quick looks."""

import asyncio
import contextlib
import os
import reprlib
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from lmrbench_data.base.errors import ArgumentError, InfraError, InputError, LoadError
from lmrbench_data.base.settings import Settings, option
from lmrbench_data.dataset.load import load_rows
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import Config
from lmrbench_evaluate.predictions.prediction import FORMS, AnswerKey, Prediction
from lmrbench_evaluate.predictions.reading import prediction_of
from lmrbench_evaluate.predictions.sources import BadRow, raw_rows
from lmrbench_evaluate.runs.engine import Conditions, job_verdict
from lmrbench_evaluate.runs.evaluation import select
from lmrbench_evaluate.sandbox import Kind, open_sandbox
from lmrbench_evaluate.sandbox.zygotes import SHARED, Isolation
from lmrbench_evaluate.verdict.decode import Frame, StreamError
from lmrbench_evaluate.verdict.expected import read_expected
from lmrbench_evaluate.verdict.verdict import Status, Verdict

#: The end of two messages.
_OWN_PROCESS = "it works only in the process that made it; make a Scorer in each worker process"


@dataclass(frozen=True)
class Score:
    """The score of one answer; never an official result."""

    instance_id: str
    reward: float | None
    """Share of the core cases that passed, from 0 to 1.

    None if the machinery failed: leave the answer out.
    """
    reproduced: bool
    """Whether every core case passed."""
    robust: bool
    """Whether every case passed."""
    status: str
    """The worst core case: passed, failed, error, timeout, oom, malformed or infra_error."""
    reason: str = ""
    """One line on the first case that did not pass, core cases first, such as a difference."""
    choices: Mapping[str, str] = field(default_factory=dict)
    """Option that the answer implements for each choice of an altered paper; empty for none."""


class _Checked(Settings):
    """The arguments of a scorer that nothing else checks."""

    instances: tuple[str, ...]
    workers: int = option(ge=1, le=256)
    sandbox: str
    seeds: tuple[int, ...]
    timeout_scale: float = option(ge=0.01, le=100)


class Scorer(contextlib.AbstractContextManager["Scorer"]):
    """Scores answers with libraries loaded once; a context manager, safe in several threads.

    It belongs to the process that made it: a worker process makes its own.

        with lmr.Scorer(instances=["dpo-preference-loss"], workers=2) as scorer:
            [score] = scorer.score([{"instance_id": "dpo-preference-loss", "function": answer}])

    Equal answers of a call are run once. A zygote that dies is replaced, and its answer is run
    again.
    """

    def __init__(
        self,
        *,
        dataset: str = "embedded",
        config: Config = "function",
        instances: Sequence[str] = (),
        workers: int = 2,
        isolation: Isolation = "shared",
        sandbox: Kind | str = "auto",
        seeds: Sequence[int] = (),
        timeout_scale: float = 1.0,
    ) -> None:
        """Load the rows and open the sandbox; containers are started as answers come.

        Args:
            dataset: `embedded`, a folder, or `org/name[@revision]`.
            config: configuration of the dataset.
            instances: instances to score (default: all).
            workers: number of answers that run at a time.
            isolation: `shared`: a sandbox runs many answers, and all cases of an answer share a
                process; `container`: each answer has a sandbox, and each case a process.
            sandbox: as for `evaluate`.
            seeds: seeds to run (default: all); cases that do not depend on the seed always run.
            timeout_scale: factor for CPU time limits.

        Raises:
            InputError: the dataset cannot be read, or an instance, a seed or the isolation is
                unknown.
            InfraError: no sandbox works here, or an image or a library is missing.
        """
        arguments: dict[str, Any] = {"instances": instances, "workers": workers, "seeds": seeds}
        checked = _Checked.of(**arguments, sandbox=sandbox, timeout_scale=timeout_scale)
        try:
            self._rows = select(
                load_rows(dataset, config, checked.instances), checked.instances, ()
            )
            self._frames = {name: _chosen(row, checked.seeds) for name, row in self._rows.items()}
        except LoadError as error:
            raise InputError(str(error)) from error
        self._process = os.getpid()
        self._dataset = dataset
        self._stop = threading.Event()
        self._sandbox = open_sandbox(sandbox, isolation=isolation)
        self._together = isolation == SHARED
        with contextlib.ExitStack() as stack:
            stack.callback(self._sandbox.close)
            tags = {row["docker_image"] for row in self._rows.values()}
            images = {tag: self._sandbox.prepare(tag) for tag in tags}
            stack.pop_all()
        self._conditions = Conditions(images, (), checked.timeout_scale)
        self._pool = ThreadPoolExecutor(checked.workers, "lmrbench-scorer")

    def score(self, rows: Iterable[Mapping[str, Any]]) -> list[Score]:
        """Return the score of each row, in their order.

        Args:
            rows: prediction rows, or a DataFrame. They need no `model_name_or_path`. An answer that
                cannot be read is malformed.

        Raises:
            InputError: a row is not a prediction, has no answer, or names an instance that this
                scorer does not have; or another process made the scorer.
            InfraError: the scorer was closed.
        """
        futures = self._submit(rows)
        try:
            return [future.result() for future in futures]
        except BaseException:  # after Ctrl-C, the next call must not wait for these answers
            for future in futures:
                future.cancel()
            raise

    async def ascore(self, rows: Iterable[Mapping[str, Any]]) -> list[Score]:
        """Return what `score` returns, without blocking the event loop."""
        return list(await asyncio.gather(*map(asyncio.wrap_future, self._submit(rows))))

    def close(self) -> None:
        """Stop all runs and remove the containers; calls in other threads return infra errors.

        In a forked process it does nothing: the containers serve the process that made the scorer.
        """
        if os.getpid() != self._process:
            return
        self._stop.set()
        self._sandbox.close()
        self._pool.shutdown(cancel_futures=True)

    def __exit__(self, *error: object) -> None:
        """Close it."""
        self.close()

    def __reduce__(self) -> str:
        """Refuse to be pickled."""
        raise TypeError(f"cannot pickle a Scorer: {_OWN_PROCESS}")

    def _submit(self, rows: Iterable[Mapping[str, Any]]) -> list[Future[Score]]:
        _check_list(rows)
        self._check_open()
        jobs: dict[AnswerKey, Future[Score]] = {}
        futures = []
        for place, row in raw_rows(rows):
            prediction = self._prediction(place, row)
            answer = AnswerKey(prediction.instance_id, sha256=prediction.sha256)
            if answer not in jobs:
                jobs[answer] = self._pool.submit(self._score, prediction)
            futures.append(jobs[answer])
        return futures

    def _check_open(self) -> None:
        if os.getpid() != self._process:  # a fork has neither the threads nor the connections
            raise InputError(f"process {self._process} made this Scorer: {_OWN_PROCESS}")
        if self._stop.is_set():
            raise InfraError("the scorer was closed")

    def _prediction(self, place: str, row: Any) -> Prediction:
        """Refuse mistakes of the caller, which would give every answer the reward 0."""
        named = {"model_name_or_path": "policy", **row} if isinstance(row, Mapping) else row
        prediction = prediction_of(place, named, self._rows.keys(), self._dataset)
        if isinstance(prediction, BadRow):
            raise InputError(str(prediction))
        if not _has_one_answer(row):
            columns = ", ".join(f"{name} ({type(value).__name__})" for name, value in row.items())
            raise InputError(
                f"{place}: needs text in exactly one of {', '.join(FORMS)}; it has {columns}"
            )
        return prediction

    def _score(self, prediction: Prediction) -> Score:
        name = prediction.instance_id
        verdict = job_verdict(
            self._rows[name],
            prediction,
            self._sandbox,
            self._conditions,
            lambda: self._frames[name],
            self._stop,
            together=self._together,
        )
        return Score(
            name,
            reward=_reward(verdict),
            reproduced=verdict.core_status is Status.PASSED,
            robust=verdict.status is Status.PASSED,
            status=str(verdict.core_status),
            reason=verdict.reason(core=True) or verdict.reason(),
            choices={choice["name"]: choice["option"] for choice in verdict.choices},
        )


def _check_list(rows: object) -> None:
    if isinstance(rows, Mapping | str | bytes) or not isinstance(rows, Iterable):
        problem = f"must be a list of prediction rows, not {reprlib.repr(rows)}"
        raise ArgumentError("rows", problem)


def _has_one_answer(row: Mapping[str, Any]) -> bool:
    """Return whether a row has text in exactly one form."""
    answers = {form: row[form] for form in FORMS if row.get(form) is not None}
    texts = list(answers.values())
    if isinstance(answers.get("files"), Mapping):
        texts = list(answers["files"].values())
    return len(answers) == 1 and all(isinstance(text, str | None) for text in texts)


def _reward(verdict: Verdict) -> float | None:
    """Return the share of core cases that passed; None after an infra error."""
    if verdict.core_status is Status.INFRA_ERROR:
        return None
    return verdict.core_share


def _chosen(row: DatasetRow, seeds: Sequence[int]) -> list[Frame]:
    """Return the recorded outputs for these seeds, and those that do not depend on the seed."""
    name = row["instance_id"]
    recorded = row["tests"]["seeds"]
    for seed in seeds:
        if isinstance(seed, bool) or seed not in recorded:
            raise ArgumentError("seeds", f"{name} has no seed {seed!r}; it has {recorded}")
    try:
        frames = read_expected(row)
    except StreamError as error:
        raise InputError(f"{name}: {error}; build or load the dataset again") from error
    return _on_seeds(frames, row, seeds) if seeds else frames


def _on_seeds(frames: Iterable[Frame], row: DatasetRow, seeds: Sequence[int]) -> list[Frame]:
    varying = {case["name"] for case in row["tests"]["cases"] if case["varies"]}
    return [frame for frame in frames if frame.seed in seeds or frame.case not in varying]
