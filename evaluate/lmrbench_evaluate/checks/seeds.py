"""Which cases vary with the seed, as the recording says.

A case that returns the same for every seed can be learned by heart, fresh seeds or not.
"""

from collections.abc import Sequence
from typing import NamedTuple

from lmrbench_data.dataset.rows import DatasetRow


class Variation(NamedTuple):
    """The cases of an instance, in their order, by whether their recorded outputs differ between seeds."""

    varying: Sequence[str]
    constant: Sequence[str]
    constant_core: Sequence[str]
    """Those of the constant ones that are core cases."""

    def __str__(self) -> str:
        total = len(self.varying) + len(self.constant)
        text = f"{len(self.varying)} of {total} cases vary with the seed"
        return f"{text}; constant: {', '.join(self.constant)}" if self.constant else text


def variation(row: DatasetRow) -> Variation:
    """Which cases of a row vary; an output counts by its bytes. With a single seed nothing can be told, and all do."""
    cases = row["tests"]["cases"]
    constant = [case for case in cases if not case["varies"]]
    return Variation(
        [case["name"] for case in cases if case["varies"]],
        [case["name"] for case in constant],
        [case["name"] for case in constant if case["core"]],
    )
