"""Determinism of a reference: bit for bit on one thread, within the tolerances of its cases on two.

A reference that is not deterministic fails honest answers at random.
"""

from collections.abc import Mapping, Sequence

from lmrbench_data.base.errors import InputError
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import File

from ..sandbox.base import Sandbox
from ..verdict.compare import Comparison, first_difference
from ..verdict.decode import Frame, decode
from ..verdict.expected import record_seeds

#: Number of runs that must agree in a check with mutants.
MANY_RUNS = 10
#: Factor of the time limit on two threads, which are slow on tiny tensors where cores are scarce.
_THREADED_SCALE = 5.0


def stability(
    row: DatasetRow, reference: Mapping[str, File], sandbox: Sandbox, image: str, runs: int
) -> dict[str, str]:
    """Run the reference repeatedly; return the errors of `repeated` and `two threads`, empty for none.

    Args:
        reference: the files of the unmasked repository.
        runs: number of runs on one thread that must agree.
    """
    seeds = row["tests"]["seeds"]
    # Exact, because the tolerances of a case may hide the influence of a clock or a hash of the process.
    exact = Comparison({"exact": True})
    declared = {case["name"]: Comparison(case) for case in row["tests"]["cases"]}
    try:
        first = record_seeds(row, reference, sandbox, image, seeds, constant=True)
        for _ in range(runs - 1):
            again = record_seeds(row, reference, sandbox, image, seeds, constant=True)
            if found := _difference(first, again, dict.fromkeys(declared, exact)):
                return {"repeated": f"two runs of the reference differ: {found}"}
    except InputError as error:
        return {"repeated": str(error)}
    try:
        threaded = record_seeds(
            row, reference, sandbox, image, seeds, threads=2, timeout_scale=_THREADED_SCALE, constant=True
        )
    except InputError as error:
        return {"repeated": "", "two threads": str(error)}
    return {"repeated": "", "two threads": _difference(first, threaded, declared)}


def _difference(first: Sequence[Frame], second: Sequence[Frame], how: Mapping[str, Comparison]) -> str:
    for one, other in zip(first, second, strict=True):
        if found := first_difference(decode(one.payload), decode(other.payload), how[one.case]):
            return f"case_{one.case} seed {one.seed}: {found}"
    return ""
