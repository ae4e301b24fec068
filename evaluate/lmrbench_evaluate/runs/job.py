"""Evaluate one answer of a run, on any machine: the verdict never raises, and fresh seeds are recorded."""

import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from lmrbench_data.base.errors import InfraError, LMRBenchError, OverloadError
from lmrbench_data.base.text import error_line
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import LoadError

from ..predictions.prediction import GOLD, Prediction, own_answer
from ..rebuild.workspace import rebuild
from ..sandbox.base import Sandbox
from ..verdict.decode import Frame, StreamError
from ..verdict.evaluator import evaluate_prediction
from ..verdict.expected import read_expected, record_seeds
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
) -> Verdict:
    """Return the verdict on one answer; raise only the user's mistakes, because no answer may end a run.

    Args:
        expected: returns the outputs to compare with.
        stop: set to prevent further tries, because the whole run ends.
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
        )
    except Exception as error:
        return failure(error)


def failure(error: Exception) -> Verdict:
    """Return the verdict on an answer whose evaluation raised an error; raise the user's mistakes again."""
    if isinstance(error, OverloadError):
        return Verdict.without_cases(Cause.OVERLOAD, str(error))
    if isinstance(error, InfraError):
        return Verdict.without_cases(Cause.ENGINE, str(error))
    if isinstance(error, StreamError | LoadError):
        return Verdict.without_cases(Cause.DATASET, f"the dataset's row cannot be read: {error_line(error)}")
    if isinstance(error, LMRBenchError):
        raise error
    detail = f"a bug in lmrbench, please report it: {type(error).__name__}: {error_line(error)}"
    return Verdict.without_cases(Cause.BUG, detail, log="".join(traceback.format_exception(error)))


def fresh_outputs(row: DatasetRow, sandbox: Sandbox, conditions: Conditions) -> list[Frame]:
    """Record the outputs of the golden file on the fresh seeds of a run; none if it has no fresh seeds.

    Raises:
        InputError: the golden file does not return on every seed.
        InfraError: the machinery failed.
        StreamError, LoadError: the row cannot be read.
    """
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


def expected_outputs(row: DatasetRow, fresh: Sequence[Frame]) -> list[Frame]:
    """Return the recorded outputs of a row, followed by those of the fresh seeds.

    Raises:
        StreamError: the recording is damaged.
    """
    return [*read_expected(row), *fresh]
