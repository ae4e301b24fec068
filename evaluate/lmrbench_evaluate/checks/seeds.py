"""Cases that vary with the seed, according to the recording.

A case with the same output for every seed can be memorised; fresh seeds do not help.
"""

from collections.abc import Sequence
from typing import NamedTuple

from lmrbench_data.dataset.rows import DatasetRow


class Variation(NamedTuple):
    """The cases of an instance, split by whether their recorded outputs differ between seeds."""

    varying: Sequence[str]
    constant: Sequence[str]
    constant_core: Sequence[str]
    """Constant core cases."""

    def __str__(self) -> str:
        total = len(self.varying) + len(self.constant)
        text = f"{len(self.varying)} of {total} cases vary with the seed"
        return f"{text}; constant: {', '.join(self.constant)}" if self.constant else text


def variation(row: DatasetRow) -> Variation:
    """Split the cases of a row; outputs are compared by bytes. With a single seed every case counts as varying."""
    cases = row["tests"]["cases"]
    constant = [case for case in cases if not case["varies"]]
    return Variation(
        [case["name"] for case in cases if case["varies"]],
        [case["name"] for case in constant],
        [case["name"] for case in constant if case["core"]],
    )
