"""The benchmark's own variants as answers to judge: of each it is known whether it is completely correct.

`dataset check` proves by running them what the variants of a kind do, so a judge can be calibrated on them without
anybody labelling anything.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ...errors import ArgumentError
from ...tasks import Task
from ..predictions import TRACKS, Prediction, PredictionFile
from ..tasks.faults import read_variant

#: Track → kind → whether its variants are completely correct there. Plain and careless ones have the method right and
#: were written without the contract: careless ones break it, and plain ones may or may not.
EXPECTED = {
    "paper": {"valid": True, "plain": True, "careless": True, "wrong": False},
    "contract": {"valid": True, "careless": False, "wrong": False},
}
assert EXPECTED.keys() == set(TRACKS)


class Variant(NamedTuple):
    """A variant as a model's answer."""

    prediction: Prediction
    kind: str
    correct: bool
    """Whether a judge should call it completely correct."""


def variants(
    tasks: Sequence[Task], track: str, instances: Sequence[str] = (), each: int | None = None
) -> list[Variant]:
    """The variants of tasks, as answers given in a track.

    Args:
        instances: only these; all by default.
        each: at most so many of a kind and instance, spread over all of them.

    Raises:
        ArgumentError: no such track or instance, or there is no variant.
    """
    if track not in EXPECTED:
        raise ArgumentError("track", f"{track!r} is unknown; one of: {', '.join(EXPECTED)}")
    known = {item.instance_id for task in tasks for item in task.implementations}
    if unknown := [name for name in instances if name not in known]:
        raise ArgumentError("instances", f"{unknown[0]!r} is unknown; see `lmrbench tasks list`")
    found = [item for item in _read(tasks, track, each) if not instances or item.prediction.instance_id in instances]
    if not found:
        raise ArgumentError("instances", "there are no variants of these")
    return found


def _read(tasks: Sequence[Task], track: str, each: int | None) -> Iterator[Variant]:
    for task in tasks:
        for item in task.implementations:
            for kind, correct in EXPECTED[track].items():
                paths = task.variants(item, kind)
                for path in paths[:: max(1, len(paths) // each) if each else 1][:each]:
                    if text := read_variant(path):
                        name = f"{kind}/{path.stem}"
                        yield Variant(Prediction(item.instance_id, name, "function", text, track=track), kind, correct)


def write_variants(found: Sequence[Variant], folder: Path) -> None:
    """Write them as the predictions of a folder; judgements in it stay."""
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / ".predictions.jsonl"
    with temporary.open("wb") as file:
        for item in found:
            PredictionFile.append(file, item.prediction)
    temporary.replace(folder / "predictions.jsonl")
