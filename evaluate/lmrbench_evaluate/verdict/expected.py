"""Expected outputs: those recorded in a row, and those recorded now for fresh seeds."""

from collections.abc import Mapping, Sequence

from lmrbench_data.base.errors import InputError
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import File, LoadError, gunzip, read_archive

from ..rebuild.workspace import workspace_tar
from ..sandbox.base import Limits, Sandbox
from ..sandbox.turns import run_fairly
from .decode import Frame, StreamError, read_frames

#: Limit of an instance's recorded outputs when unpacked; those of the benchmark take less than 1 MB.
MAX_RECORDED_BYTES = 64 * 1024 * 1024


class BadReferenceError(InputError):
    """The reference of a row does not return on every seed."""


def row_cases(row: DatasetRow) -> bytes:
    """Return the source of a row's cases."""
    return read_archive(row["tests_archive"])["cases.py"].data


def read_expected(row: DatasetRow) -> list[Frame]:
    """Return the recorded outputs of a row, in the order in which the cases run.

    Raises:
        StreamError: the recording is damaged.
    """
    return unpack_frames(row["expected"])


def unpack_frames(outputs: bytes) -> list[Frame]:
    """Unpack a recording.

    Raises:
        StreamError: it is damaged, or unpacks to more than `MAX_RECORDED_BYTES`.
    """
    try:
        return list(read_frames(gunzip(outputs, MAX_RECORDED_BYTES)))
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
) -> list[Frame]:
    """Run a row's golden file on other seeds, for the cases that vary, and return its outputs.

    Args:
        timeout_scale: multiplies the row's time limit, which also grows with the number of seeds.
        threads: number of threads of numerical libraries.
        constant: also run the cases that do not vary, on the first of the seeds.

    Raises:
        BadReferenceError: it did not return an output for each case and seed.
        InfraError: the machinery failed, or the machine was overloaded.
    """
    others = seeds[:1] if constant else []
    runs = [(case["name"], seed) for case in row["tests"]["cases"] for seed in (seeds if case["varies"] else others)]
    limit = row["tests"]["timeout_s"] * timeout_scale * max(1.0, len(seeds) / len(row["tests"]["seeds"]))
    workspace = workspace_tar(golden_repo, row_cases(row), runs=runs, limit_s=limit, threads=threads)
    outcome = run_fairly(sandbox, image, workspace, Limits(limit, row["tests"]["memory_mb"]))
    try:
        frames = list(read_frames(outcome.stdout))
    except StreamError:
        frames = []
    if [(frame.case, frame.seed) for frame in frames] != runs or any(frame.kind != "output" for frame in frames):
        how = f"its sandbox ended with {outcome.ended} after {outcome.duration_s:.0f} s"
        problem = f"the reference does not return on every one of the seeds {list(seeds)}: {how}"
        raise BadReferenceError(f"{row['instance_id']}: {problem}; fix the task")
    return frames
