"""From what the sandbox returned to a verdict: one table maps each cause to status, retry and grade.

Nothing that the tested code says about itself can lead to `passed`: only an output that equals the recorded one does.
Nothing it says can lead to `infra_error` either: that comes from the engine alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from lmrbench_data.evaluate.compare import Comparison, first_difference
from lmrbench_data.evaluate.decode import Frame, StreamError, decode, read_frames, read_json
from lmrbench_data.evaluate.sandbox import Ended, Outcome


class Status(StrEnum):
    """The verdict on a case, and on an instance; from best to worst."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    TIMEOUT = "timeout"
    OOM = "oom"
    MALFORMED = "malformed"
    INFRA_ERROR = "infra_error"


class Policy(NamedTuple):
    """What follows from a cause."""

    status: Status
    retry: bool = False
    """Tried again by the harness, because another try can end otherwise."""
    graded: bool = True
    """Counts in the share of instances that could be graded."""


CAUSES: dict[str, Policy] = {
    # the output decides
    "equal": Policy(Status.PASSED),
    "different": Policy(Status.FAILED),
    # the tested code
    "raised": Policy(Status.ERROR),
    "died": Policy(Status.ERROR),
    "no_output": Policy(Status.ERROR),
    "unreadable_output": Policy(Status.ERROR),
    "two_outputs": Policy(Status.ERROR),
    "output_limit": Policy(Status.ERROR),
    "time_limit": Policy(Status.TIMEOUT),
    "out_of_memory": Policy(Status.OOM),
    # the prediction
    "not_applicable": Policy(Status.MALFORMED),
    # the machinery
    "engine": Policy(Status.INFRA_ERROR, retry=True, graded=False),
}

_SEVERITY = list(Status)
#: How an allocation that the operating system refuses shows in Python and in torch (the `local` sandbox, huge requests).
_ALLOCATION_MESSAGES = ("can't allocate memory", "not enough memory", "Unable to allocate")


@dataclass(frozen=True)
class CaseResult:
    """The verdict on one case and seed."""

    name: str
    seed: int
    status: Status
    detail: str = ""

    def as_row(self) -> dict[str, Any]:
        """As it stands in results.jsonl."""
        return {"name": self.name, "seed": self.seed, "status": str(self.status), "detail": self.detail}


def worst(statuses: Iterable[Status]) -> Status:
    """The status of an instance: the worst of its cases; without any case it is an infra error, never a pass."""
    return max(statuses, key=_SEVERITY.index, default=Status.INFRA_ERROR)


def grade(expected: Sequence[Frame], comparisons: Mapping[str, Comparison], outcome: Outcome) -> list[CaseResult]:
    """One result for each expected case and seed, in their order."""
    sent: dict[tuple[str, int], list[Frame]] = {}
    broken = ""
    try:
        for frame in read_frames(outcome.stdout):
            sent.setdefault((frame.case, frame.seed), []).append(frame)
    except StreamError as error:
        broken = str(error)
    results = []
    for want in expected:
        cause, detail = _judge(want, sent.get((want.case, want.seed), []), comparisons[want.case], outcome, broken)
        results.append(CaseResult(want.case, want.seed, CAUSES[cause].status, detail))
    return results


def _judge(
    want: Frame, got: Sequence[Frame], comparison: Comparison, outcome: Outcome, broken: str
) -> tuple[str, str]:
    """(cause, detail) of one case."""
    if not got:
        return _missing(outcome, broken)
    if len(got) > 1:
        return "two_outputs", "the stream holds more than one output for this case"
    frame = got[0]
    if frame.kind == "output":
        try:
            value = decode(frame.payload)
        except StreamError as error:
            return "unreadable_output", str(error)
        difference = first_difference(decode(want.payload), value, comparison)
        return ("different", difference) if difference else ("equal", "")
    facts = read_json(frame.payload)
    if frame.kind == "raised":
        message = f"{facts.get('type', 'Exception')}: {facts.get('message', '')}".strip(": ")
        memory = facts.get("type") == "MemoryError" or any(text in message for text in _ALLOCATION_MESSAGES)
        frames = [str(item) for item in facts.get("frames", []) if isinstance(item, str)]
        return ("out_of_memory" if memory else "raised"), "\n".join([message, *reversed(frames)])[:4000]
    if facts.get("oom"):
        return "out_of_memory", "killed by the kernel: the memory limit was reached"
    if facts.get("reason"):
        return "died", str(facts["reason"])[:300]
    how = f"signal {facts['signal']}" if facts.get("signal") else f"exit status {facts.get('exit')}"
    return "died", f"the process ended ({how}) before the case returned"


def _missing(outcome: Outcome, broken: str) -> tuple[str, str]:
    if outcome.ended is Ended.TIME_LIMIT:
        return "time_limit", f"no output within the time limit ({outcome.duration_s:.0f} s)"
    if outcome.ended is Ended.OUT_OF_MEMORY:
        return "out_of_memory", "the memory limit of the sandbox was reached"
    if outcome.ended is Ended.OUTPUT_LIMIT:
        return "output_limit", "the sandbox wrote more than its output limit"
    return ("unreadable_output", broken) if broken else ("no_output", "the runner ended before this case returned")
