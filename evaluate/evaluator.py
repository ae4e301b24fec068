"""Evaluate one prediction: rebuild, run in the sandbox, compare, decide. The only path to a verdict."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lmrbench_data.errors import InfraError
from lmrbench_data.evaluate.compare import Comparison
from lmrbench_data.evaluate.decode import Frame
from lmrbench_data.evaluate.predictions import Prediction
from lmrbench_data.evaluate.record import read_expected, row_cases
from lmrbench_data.evaluate.sandbox import Limits, Sandbox
from lmrbench_data.evaluate.verdict import CAUSES, CaseResult, Cause, Status, grade, worst
from lmrbench_data.evaluate.workspace import rebuild, workspace_tar
from lmrbench_data.source import SourceError

INFRA_TRIES = 3


@dataclass(frozen=True)
class Verdict:
    """What an evaluation came to."""

    status: Status
    cases: Sequence[CaseResult]
    log: str
    """What the tested code printed."""
    duration_s: float
    detail: str = ""
    """Why there are no cases: the prediction could not be applied, or the machinery failed."""

    def reason(self) -> str:
        """One line on why it did not pass, empty if it did."""
        worst_case = next((case for case in self.cases if case.status is self.status), None)
        if self.status is Status.PASSED or worst_case is None:
            return self.detail
        first_line = worst_case.detail.partition("\n")[0]
        return f"case_{worst_case.name} seed {worst_case.seed}: {first_line}"


def evaluate_prediction(
    row: Mapping[str, Any],
    prediction: Prediction,
    sandbox: Sandbox,
    image: str,
    *,
    expected: Sequence[Frame] | None = None,
    timeout_scale: float = 1.0,
) -> Verdict:
    """The verdict on one prediction; machinery that fails is tried again before it becomes an infra error.

    Args:
        row: the dataset row of the prediction's instance.
        image: what `sandbox.prepare(row["docker_image"])` returned.
        expected: recorded outputs to compare with; those of the row if None.
        timeout_scale: multiplies the row's time limit, for slow machines.
    """
    started = time.monotonic()
    frames = list(expected) if expected is not None else read_expected(row)
    try:
        repo = rebuild(row, prediction)
    except SourceError as error:
        return Verdict(CAUSES[Cause.NOT_APPLICABLE].status, [], "", time.monotonic() - started, str(error))
    tests = row["tests"]
    published = len(tests["cases"]) * len(tests["seeds"])
    limits = Limits(tests["timeout_s"] * timeout_scale * max(1.0, len(frames) / published), tests["memory_mb"])
    runs = [(frame.case, frame.seed) for frame in frames]
    workspace = workspace_tar(repo, row_cases(row), runs=runs, limit_s=limits.time_s)
    comparisons = {case["name"]: Comparison(case) for case in tests["cases"]}
    reason = ""
    for attempt in range(INFRA_TRIES if CAUSES[Cause.ENGINE].retry else 1):
        if attempt:
            time.sleep(0.5 * 4 ** (attempt - 1))
        try:
            outcome = sandbox.run(image, workspace, limits)
        except InfraError as error:
            reason = str(error)
            continue
        cases = grade(frames, comparisons, outcome)
        return Verdict(worst(case.status for case in cases), cases, outcome.log, outcome.duration_s)
    return Verdict(CAUSES[Cause.ENGINE].status, [], "", time.monotonic() - started, reason)
