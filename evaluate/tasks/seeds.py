"""Which cases vary with the seed, read from the recorded outputs.

A case that returns the same for every seed can be learned by heart, fresh seeds or not.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ...rows import DatasetRow
from ..expected import read_expected


class Variation(NamedTuple):
    """The cases of an instance, in their order, by whether their recorded outputs differ between seeds."""

    varying: Sequence[str]
    constant: Sequence[str]

    def __str__(self) -> str:
        total = len(self.varying) + len(self.constant)
        text = f"{len(self.varying)} of {total} cases vary with the seed"
        return f"{text}; constant: {', '.join(self.constant)}" if self.constant else text


def variation(row: DatasetRow) -> Variation:
    """Which cases of a row vary; an output counts by its bytes.

    Raises:
        StreamError: the recorded outputs cannot be read.
    """
    outputs: dict[str, set[bytes]] = {case["name"]: set() for case in row["tests"]["cases"]}
    for frame in read_expected(row):
        outputs.setdefault(frame.case, set()).add(frame.payload)
    return Variation(
        [name for name, found in outputs.items() if len(found) > 1],
        [name for name, found in outputs.items() if len(found) <= 1],
    )
