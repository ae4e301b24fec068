"""Repeat a reference on seeds as runs draw them: in another process, on two threads, and on older processors.

A reference that is not deterministic fails honest answers at random. One that needs most of its tolerance on another
processor fails them there.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from lmrbench_data.base.errors import InputError
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import File
from lmrbench_evaluate.sandbox.base import Sandbox
from lmrbench_evaluate.verdict.compare import first_difference
from lmrbench_evaluate.verdict.decode import Frame, decode
from lmrbench_evaluate.verdict.expected import draw_seeds, record_seeds
from lmrbench_evaluate.verdict.tolerance import Comparison

#: A tolerance is at least this many times what processors and threads change.
HEADROOM = 20
CPU_INFORMATION = Path("/proc/cpuinfo")
#: Older processor → the instruction set that a machine needs to stand in for it (ARM has neither), and variables that
#: make PyTorch and its libraries use no newer one.
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


def repetition_errors(
    row: DatasetRow, reference: Mapping[str, File], sandbox: Sandbox, image: str
) -> Mapping[str, str]:
    """Return the name of each repetition and its error; empty if the reference returned the same.

    The same process conditions must give the same bits. Two threads and older processors, where this machine can stand
    in for them, must stay within a twentieth of each case's tolerance.

    Raises:
        InfraError: the machinery failed.
    """
    name, errors = "fresh seeds", {}
    narrow = {
        case["name"]: Comparison(
            {**case, "rtol": case["rtol"] / HEADROOM, "atol": case["atol"] / HEADROOM}
        )
        for case in row["tests"]["cases"]
    }
    # Exact, because the tolerances of a case may hide the influence of a clock or a hash of the process.
    exact = dict.fromkeys(narrow, Comparison({"exact": True}))
    record = partial(
        record_seeds, row, reference, sandbox, image, draw_seeds(_SEEDS), constant=True
    )
    try:
        first = record()
        errors[name] = ""
        name = "repeated"
        difference = _difference(first, record(), exact)
        errors[name] = f"two runs of the reference differ: {difference}" if difference else ""
        name = "two threads"
        # Threads are slow on tiny tensors where cores are scarce.
        errors[name] = _too_wide(_difference(first, record(threads=2, timeout_scale=5.0), narrow))
        instructions = CPU_INFORMATION.read_text().split() if CPU_INFORMATION.exists() else []
        for name, (needed, variables) in _PROCESSORS.items():
            if needed in instructions:
                errors[name] = _too_wide(
                    _difference(first, record(environment=variables, timeout_scale=5.0), narrow)
                )
    except InputError as error:
        errors[name] = str(error)
    return errors


def _too_wide(difference: str) -> str:
    float64 = "draw (`torch.randn(..., dtype=torch.float64)`) and compute in float64"
    fix = f"{float64}, or give the case a tolerance of {HEADROOM} times that"
    return f"{difference}; {fix}" if difference else ""


def _difference(
    first: Sequence[Frame], second: Sequence[Frame], how: Mapping[str, Comparison]
) -> str:
    for one, other in zip(first, second, strict=True):
        if difference := first_difference(
            decode(one.payload), decode(other.payload), how[one.case]
        ):
            return f"case_{one.case} seed {one.seed}: {difference}"
    return ""
