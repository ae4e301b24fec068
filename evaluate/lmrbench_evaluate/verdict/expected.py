"""Expected outputs: those recorded in a row, and those recorded now for fresh seeds."""

import secrets
from collections.abc import Mapping, Sequence

from lmrbench_data.base.errors import InputError
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import File, LoadError, gunzip, read_archive

from ..rebuild.workspace import libraries_of, workspace_tar
from ..sandbox.base import Limits, Outcome, Sandbox
from ..sandbox.exclusive_retry import run_with_exclusive_retry
from .decode import Frame, StreamError, read_frames, read_json


class BadReferenceError(InputError):
    """The reference of a row does not return on every seed."""


def draw_seeds(count: int) -> list[int]:
    """Draw fresh seeds, as a run and the check of a task do."""
    return [secrets.randbelow(2**31) for _ in range(count)]


def row_cases(row: DatasetRow) -> bytes:
    """Return the source of a row's cases."""
    return read_archive(row["tests_archive"])["cases.py"].data


def read_expected(row: DatasetRow) -> list[Frame]:
    """Return the recorded outputs of a row in running order; StreamError if they are damaged."""
    return unpack_frames(row["expected"])


def unpack_frames(outputs: bytes) -> list[Frame]:
    """Unpack a recording; StreamError if it is damaged."""
    try:
        return list(read_frames(gunzip(outputs)))
    except LoadError as error:
        raise StreamError(f"not a recording ({error})") from error


def record_seeds(
    row: DatasetRow,
    golden_repo: Mapping[str, File],
    sandbox: Sandbox,
    image: str,
    seeds: Sequence[int],
    *,
    timeout_scale: float = 1.0,
    threads: int = 1,
    constant: bool = False,
    environment: Mapping[str, str] | None = None,
) -> list[Frame]:
    """Run a row's golden file on other seeds, for the cases that vary, and return its outputs.

    Args:
        timeout_scale: multiplies the row's time limit, which also grows with the number of seeds.
        threads: number of threads of numerical libraries.
        constant: also run the cases that do not vary, on the first of the seeds.
        environment: variables to set before the cases are imported.

    Raises:
        BadReferenceError: it did not return an output for each case and seed.
        InfraError: the machinery failed, or the machine was overloaded.
    """
    tests = row["tests"]
    runs = _runs(row, seeds, constant)
    scale = timeout_scale * max(1.0, len(seeds) / len(tests["seeds"]))
    limits = Limits(tests["timeout_s"] * scale, tests["memory_mb"])
    cases = _setting(environment or {}) + row_cases(row)
    workspace = workspace_tar(golden_repo, cases, runs=runs, limit_s=limits.time_s, threads=threads)
    # Libraries take their number of threads when they are loaded: another one needs a new load.
    modules = libraries_of(row) if threads == 1 else ()
    outcome = run_with_exclusive_retry(sandbox, image, workspace, limits, modules)
    frames = readable_frames(outcome.stdout)
    _require_outputs(row, runs, frames, outcome)
    return frames


def _runs(row: DatasetRow, seeds: Sequence[int], constant: bool) -> list[tuple[str, int]]:
    """Return case and seed of each run; cases that do not vary have one, if they run at all."""
    runs: list[tuple[str, int]] = []
    for case in row["tests"]["cases"]:
        if case["varies"]:
            runs += [(case["name"], seed) for seed in seeds]
        elif constant:
            runs += [(case["name"], seed) for seed in seeds[:1]]
    return runs


def readable_frames(stream: bytes) -> list[Frame]:
    """Return the frames of a stream; none if one of them is malformed."""
    try:
        return list(read_frames(stream))
    except StreamError:
        return []


def _setting(environment: Mapping[str, str]) -> bytes:
    if not environment:
        return b""
    return f"import os\nos.environ.update({dict(environment)!r})\n".encode()


def _require_outputs(
    row: DatasetRow, runs: Sequence[tuple[str, int]], frames: Sequence[Frame], outcome: Outcome
) -> None:
    """Raise BadReferenceError unless each run returned an output."""
    returned = {(frame.case, frame.seed) for frame in frames if frame.kind == "output"}
    missing = [run for run in runs if run not in returned]
    if not missing:
        return
    case, seed = missing[0]
    sent = [frame for frame in frames if (frame.case, frame.seed) == missing[0]]
    how = _failure(sent[0]) if sent else _ending(outcome)
    count = f"{len(missing)} of {len(runs)} runs"
    raise BadReferenceError(
        f"{row['instance_id']}: the reference does not return from case_{case} on seed {seed}"
        f" ({count}): {how}; fix the task"
    )


def _ending(outcome: Outcome) -> str:
    return f"its sandbox ended with {outcome.ended} after {outcome.duration_s:.0f} s"


def _failure(frame: Frame) -> str:
    facts = read_json(frame.payload)
    message = f"{facts.get('type', frame.kind)}: {facts.get('message', facts)}"
    return " ".join(message.split())[:300]
