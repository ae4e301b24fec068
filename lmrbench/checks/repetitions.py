"""Repeat a reference on fresh seeds: in another process, on two threads, and on older processors.

A reference that is not deterministic fails honest answers at random. One that needs most of its
tolerance on another processor fails them there.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from lmrbench_data.base.errors import InputError
from lmrbench_data.dataset.rows import DatasetRow, DeclaredCase
from lmrbench_data.loader import File
from lmrbench_evaluate.sandbox.base import Sandbox
from lmrbench_evaluate.verdict.compare import first_difference
from lmrbench_evaluate.verdict.decode import Frame, decode
from lmrbench_evaluate.verdict.expected import draw_seeds, record_seeds
from lmrbench_evaluate.verdict.tolerance import Comparison

#: A tolerance is at least this many times what processors and threads change.
HEADROOM = 20
CPU_INFORMATION = Path("/proc/cpuinfo")
#: Older processor → the instruction set that a machine needs to stand in for it (ARM has neither),
#: and variables that make PyTorch and its libraries use no newer one.
_PROCESSORS = {
    "with AVX2": (
        "avx2",
        {
            "ATEN_CPU_CAPABILITY": "avx2",
            "MKL_ENABLE_INSTRUCTIONS": "AVX2",
            "ONEDNN_MAX_CPU_ISA": "AVX2",
        },
    ),
    "without AVX": (
        "sse4_2",
        {
            "ATEN_CPU_CAPABILITY": "default",
            "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
            "ONEDNN_MAX_CPU_ISA": "SSE41",
        },
    ),
}
_SEEDS = 2
_FIX = (
    "draw (`torch.randn(..., dtype=torch.float64)`) and compute in float64, "
    f"or give the case a tolerance of {HEADROOM} times that"
)


def repetition_errors(
    row: DatasetRow, reference: Mapping[str, File], sandbox: Sandbox, image: str
) -> Mapping[str, str]:
    """Return the name of each repetition and its error; empty if the reference returned the same.

    The same process conditions must give the same bits. Two threads and older processors, where
    this machine can stand in for them, must stay within a twentieth of each case's tolerance.

    Raises:
        InfraError: the machinery failed.
    """
    seeds = draw_seeds(_SEEDS)
    record = partial(record_seeds, row, reference, sandbox, image, seeds, constant=True)
    cases = row["tests"]["cases"]
    errors = {}
    name = "fresh seeds"
    try:
        first = record()
        errors[name] = ""
        name = "repeated"
        second = record()
        errors[name] = _repeated_error(cases, first, second)
        for name, options in _other_machines().items():
            frames = record(**options)
            errors[name] = _machine_error(cases, first, frames)
    except InputError as error:
        errors[name] = str(error)
    return errors


def _repeated_error(
    cases: Sequence[DeclaredCase], first: Sequence[Frame], second: Sequence[Frame]
) -> str:
    # Exact, because tolerances may hide the influence of a clock or a hash of the process.
    exact = Comparison({"exact": True})
    difference = _difference(first, second, {case["name"]: exact for case in cases})
    return f"two runs of the reference differ: {difference}" if difference else ""


def _machine_error(
    cases: Sequence[DeclaredCase], first: Sequence[Frame], second: Sequence[Frame]
) -> str:
    narrow = {case["name"]: _narrow(case) for case in cases}
    difference = _difference(first, second, narrow)
    return f"{difference}; {_FIX}" if difference else ""


def _narrow(case: DeclaredCase) -> Comparison:
    """Return the comparison of a case with a twentieth of its tolerance."""
    rtol = case["rtol"] / HEADROOM
    atol = case["atol"] / HEADROOM
    return Comparison({**case, "rtol": rtol, "atol": atol})


def _other_machines() -> dict[str, dict[str, Any]]:
    """Return the options of `record_seeds` for two threads and for older processors."""
    # Threads are slow on tiny tensors where cores are scarce.
    slow = {"timeout_scale": 5.0}
    machines: dict[str, dict[str, Any]] = {"two threads": {"threads": 2, **slow}}
    instructions = CPU_INFORMATION.read_text().split() if CPU_INFORMATION.exists() else []
    for name, (needed, variables) in _PROCESSORS.items():
        if needed in instructions:
            machines[name] = {"environment": variables, **slow}
    return machines


def _difference(
    first: Sequence[Frame], second: Sequence[Frame], comparisons: Mapping[str, Comparison]
) -> str:
    for one, other in zip(first, second, strict=True):
        values = decode(one.payload), decode(other.payload)
        difference = first_difference(*values, comparisons[one.case])
        if difference:
            return f"case_{one.case} seed {one.seed}: {difference}"
    return ""
