"""Decide the verdict on a sandbox's output: `Cause` maps each cause to a status.

Only an output that equals the recorded one leads to `passed`; claims of the tested code count for
nothing. Nothing that it does leads to `infra_error`: only the engine, an overloaded machine, a
damaged dataset or a bug of ours.
"""

import signal
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from typing import Any, Self

from lmrbench_data.base.text import visible
from lmrbench_data.dataset.result_rows import CaseRow, ChoiceRow, PartRow
from lmrbench_data.dataset.rows import DeclaredCase

from ..sandbox.base import Ended, Outcome
from .compare import TooLargeError, first_difference
from .decode import Frame, StreamError, decode, read_frames, read_json
from .tolerance import Comparison


class Status(StrEnum):
    """The verdict on a case, and on an instance; from best to worst."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    TIMEOUT = "timeout"
    OOM = "oom"
    MALFORMED = "malformed"
    INFRA_ERROR = "infra_error"


class Cause(Enum):
    """The cause of a verdict, with the status to which it leads."""

    # the output decides
    EQUAL = "equal", Status.PASSED
    DIFFERENT = "different", Status.FAILED
    # the tested code
    RAISED = "raised", Status.ERROR
    DIED = "died", Status.ERROR
    NO_OUTPUT = "no_output", Status.ERROR
    UNREADABLE_OUTPUT = "unreadable_output", Status.ERROR
    TWO_OUTPUTS = "two_outputs", Status.ERROR
    OUTPUT_LIMIT = "output_limit", Status.ERROR
    TIME_LIMIT = "time_limit", Status.TIMEOUT
    OUT_OF_MEMORY = "out_of_memory", Status.OOM
    # the prediction
    NOT_APPLICABLE = "not_applicable", Status.MALFORMED
    # the machinery
    ENGINE = "engine", Status.INFRA_ERROR
    # It has been tried again alone. No answer causes this by sleeping: the rule is in
    # `sandbox/meter.py`.
    OVERLOAD = "overload", Status.INFRA_ERROR
    DATASET = "dataset", Status.INFRA_ERROR
    BUG = "bug", Status.INFRA_ERROR

    @property
    def status(self) -> Status:
        """The status to which it leads."""
        return Status(self.value[1])


_SEVERITY = list(Status)
MAX_DETAIL = 4000
#: Messages of Python and torch when the operating system refuses memory (the `local` sandbox, huge
#: requests).
_ALLOCATION_MESSAGES = ("can't allocate memory", "not enough memory", "Unable to allocate")


@dataclass(frozen=True)
class CaseResult:
    """The verdict on one case and seed."""

    name: str
    seed: int
    status: Status
    detail: str = ""
    core: bool = True

    def as_row(self) -> CaseRow:
        """Return it for results.jsonl."""
        status = str(self.status)
        return {
            "name": self.name,
            "seed": self.seed,
            "core": self.core,
            "status": status,
            "detail": self.detail,
        }


@dataclass(frozen=True)
class Verdict:
    """The verdict on one answer."""

    status: Status
    """The worst of all cases: `passed` is robust."""
    cases: Sequence[CaseResult]
    log: str
    """The output that the tested code printed."""
    duration_s: float
    """Wall-clock seconds in the sandbox."""
    detail: str = ""
    """Parts of the answer that were left out; without cases, the reason of the failure."""
    cause: Cause | None = None
    """The cause, if there are no cases."""
    cpu_s: float | None = None
    """Seconds of CPU time in the sandbox; None if unknown."""
    choices: Sequence[ChoiceRow] = ()
    """The options that the answer implements, if the row has choices."""
    searches_table: bool = False
    """Whether the answer holds numbers of its paper's tables, by which it can search for the
    options; then it has not reproduced the method, whatever its cases."""

    @classmethod
    def without_cases(
        cls, cause: Cause, detail: str, *, log: str = "", duration_s: float = 0.0
    ) -> Self:
        """Make the verdict on an answer without results of cases."""
        return cls(cause.status, [], log, duration_s, detail, cause)

    @property
    def core_status(self) -> Status:
        """The worst of the core cases: `passed` is reproduced."""
        if not self.cases:
            return self.status
        statuses = [case.status for case in self.cases if case.core]
        return worst([*statuses, Status.FAILED] if self.searches_table else statuses)

    @property
    def core_share(self) -> float:
        """The share of core cases that passed; 0 without results of cases."""
        core = [case.status is Status.PASSED for case in self.cases if case.core]
        return sum(core) / len(core) if core else 0.0

    def searching(self) -> Self:
        """Return the verdict if the answer holds numbers of its paper's tables."""
        status = worst([self.status, Status.FAILED])
        return replace(
            self, status=status, searches_table=True, detail="holds numbers of the paper's tables"
        )

    def functions(self, declared: Sequence[DeclaredCase]) -> list[PartRow]:
        """Return the verdict on each function of a method: the worst of the cases that test it.

        Without results of cases, every function has the status of the answer. Experiments test no
        function alone.
        """
        return self._parts(
            (name, item["name"]) for item in declared for name in item.get("goals") or ()
        )

    def experiments(self, declared: Sequence[DeclaredCase]) -> list[PartRow]:
        """Return the verdict on each experiment: the worst of its seeds, or the answer's status."""
        return self._parts(
            (item["name"], item["name"]) for item in declared if not item.get("goals")
        )

    def _parts(self, tested_by: Iterable[tuple[str, str]]) -> list[PartRow]:
        """Return the verdict on each part of a method, given parts and the cases that test them."""
        statuses: dict[str, list[Status]] = {}
        for part, name in tested_by:
            of_part = statuses.setdefault(part, [])
            if self.cases:
                of_part += [case.status for case in self.cases if case.name == name]
            else:
                of_part.append(self.status)
        return [{"name": part, "status": str(worst(statuses[part]))} for part in sorted(statuses)]

    def memorised(self, published: Collection[int], *, core: bool = False) -> bool:
        """Return whether the answer passes all published seeds and fails or raises on fresh ones.

        A limit of time or memory proves nothing, because fresh seeds run last.

        Args:
            core: consider the core cases alone. Neither level implies the other: an answer that
                memorised the core cases may fail another case on every seed, and is memorised at
                the core level only.
        """
        cases = [case for case in self.cases if case.core or not core]
        on_fresh = {case.status for case in cases if case.seed not in published}
        on_published = {case.status for case in cases if case.seed in published}
        fails = not on_fresh.isdisjoint((Status.FAILED, Status.ERROR))
        return on_published == {Status.PASSED} and fails

    def reason(self, *, core: bool = False) -> str:
        """Return one line on why the answer, or its core cases, did not pass; empty if they did."""
        status = self.core_status if core else self.status
        if status is Status.PASSED:
            return ""
        for case in self.cases:
            if case.status is status and (case.core or not core):
                first_line = case.detail.partition("\n")[0]
                return f"case_{case.name} seed {case.seed}: {first_line}"
        return self.detail


def worst(statuses: Iterable[Status]) -> Status:
    """Return the worst status; without any it is an infra error, never a pass."""
    return max(statuses, key=_SEVERITY.index, default=Status.INFRA_ERROR)


def grade(
    expected: Sequence[Frame], declared: Sequence[DeclaredCase], outcome: Outcome
) -> list[CaseResult]:
    """Return one result for each expected case and seed, in their order.

    Args:
        declared: the level and comparison of each case.

    Raises:
        StreamError: an expected output cannot be read; an unreadable output of the tested code is a
            result.
    """
    cases = {case["name"]: case for case in declared}
    sent: dict[tuple[str, int], list[Frame]] = {(want.case, want.seed): [] for want in expected}
    problem = _collect(outcome.stdout, sent)
    missing = _missing(outcome, problem)
    results = []
    for want in expected:
        case = cases[want.case]
        frames = sent[want.case, want.seed]
        cause, detail = _grade_case(want, frames, Comparison(case)) if frames else missing
        results.append(CaseResult(want.case, want.seed, cause.status, detail, bool(case["core"])))
    return results


def _collect(stream: bytes, sent: Mapping[tuple[str, int], list[Frame]]) -> str:
    """Fill in the frames of each expected run; return why the stream cannot be read on, if so."""
    try:
        for frame in read_frames(stream):
            frames = sent.get((frame.case, frame.seed))
            # An unknown case, or a third output, takes no memory.
            if frames is not None and len(frames) < 2:
                frames.append(frame)
    except StreamError as error:
        return str(error)
    return ""


def _grade_case(want: Frame, got: Sequence[Frame], comparison: Comparison) -> tuple[Cause, str]:
    """Return cause and detail of one case, which sent something."""
    if len(got) > 1:
        return Cause.TWO_OUTPUTS, "the stream holds more than one output for this case"
    frame = got[0]
    match frame.kind:
        case "output":
            # A recorded output equals itself: `references` has compared it.
            if frame.payload == want.payload:
                return Cause.EQUAL, ""
            return compare_output(decode(want.payload), frame.payload, comparison)
        case "raised":
            return _raised(read_json(frame.payload))
        case "died":
            return _died(read_json(frame.payload))
    return Cause.UNREADABLE_OUTPUT, "the stream holds something other than an output for this case"


def compare_output(expected: Any, payload: bytes, comparison: Comparison) -> tuple[Cause, str]:
    """Return cause and detail of an output of the tested code, whose fault any failure is."""
    try:
        difference = first_difference(expected, decode(payload), comparison)
    except (StreamError, TooLargeError) as error:
        return Cause.UNREADABLE_OUTPUT, str(error)
    except Exception as error:
        return Cause.UNREADABLE_OUTPUT, f"the output cannot be compared ({type(error).__name__})"
    if difference:
        return Cause.DIFFERENT, visible(difference, keep="")[:MAX_DETAIL]
    return Cause.EQUAL, ""


def _raised(facts: Mapping[str, Any]) -> tuple[Cause, str]:
    kind = _text(facts.get("type")) or "Exception"
    message = _text(facts.get("message"))
    frames = facts.get("frames")
    lines = [f"{kind}: {message}" if message else kind]
    if isinstance(frames, list):
        lines += [_text(item) for item in reversed(frames)]
    is_memory = kind == "MemoryError" or any(text in message for text in _ALLOCATION_MESSAGES)
    cause = Cause.OUT_OF_MEMORY if is_memory else Cause.RAISED
    return cause, "\n".join(lines)[:MAX_DETAIL]


def _died(facts: Mapping[str, Any]) -> tuple[Cause, str]:
    if facts.get("oom"):
        return Cause.OUT_OF_MEMORY, "killed by the kernel: the memory limit was reached"
    if facts.get("signal") == signal.SIGXCPU:  # the sandbox itself cannot tell how much is used
        return Cause.TIME_LIMIT, "no output within the time limit: the case used up its CPU time"
    if reason := _text(facts.get("reason")):
        return Cause.DIED, reason
    how = f"signal {facts['signal']}" if facts.get("signal") else f"exit status {facts.get('exit')}"
    return Cause.DIED, f"the process ended ({_text(how)}) before the case returned"


def _text(value: Any) -> str:
    """Shorten and escape a text of the tested code; empty for anything else."""
    return visible(value[:2000], keep="\n") if isinstance(value, str) else ""


def _missing(outcome: Outcome, problem: str) -> tuple[Cause, str]:
    """Return cause and detail of the cases that sent nothing."""
    if outcome.ended is Ended.TIME_LIMIT:
        return Cause.TIME_LIMIT, f"no output within the time limit ({_duration(outcome)})"
    if outcome.ended is Ended.OUT_OF_MEMORY:
        return Cause.OUT_OF_MEMORY, "the memory limit of the sandbox was reached"
    if outcome.ended is Ended.OUTPUT_LIMIT:
        return Cause.OUTPUT_LIMIT, "the sandbox wrote more than its output limit"
    if problem:
        return Cause.UNREADABLE_OUTPUT, problem
    return Cause.NO_OUTPUT, "the runner ended before this case returned"


def _duration(outcome: Outcome) -> str:
    cpu = "" if outcome.cpu_s is None else f", of which {outcome.cpu_s:.0f} s of CPU time"
    return f"{outcome.duration_s:.0f} s{cpu}"
