"""Turn the benchmark's own variants, whose right categories are known, into answers to judge.

`dataset check` runs them to prove the behaviour of each kind, so a judge can be calibrated on them without any labels
by people.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from lmrbench_data.base.errors import ArgumentError
from lmrbench_data.dataset.rows import TRACKS, check_instances
from lmrbench_data.tasks.task import Task

from ..checks.static import read_variant
from ..predictions.prediction import Prediction
from ..runs.folder import RunFolder

#: Track → kind → the categories that are right for its variants, the best first. Plain and careless ones implement the
#: method, with faults such as the logarithm of an underflowing value or a change in place, for which LC exists. Each
#: careless one breaks the contract; plain ones may or may not break it.
EXPECTED = {
    "paper": {"valid": "CC", "plain": "CC or LC", "careless": "CC or LC", "wrong": "LC or LI"},
    "contract": {"valid": "CC", "careless": "LC or LI", "wrong": "LC or LI"},
}
assert EXPECTED.keys() == set(TRACKS)


class Variant(NamedTuple):
    """A variant as a model's answer."""

    prediction: Prediction
    kind: str
    expected: str
    """The categories, joined by "or", one of which a judge should give it."""


def variants(
    tasks: Sequence[Task], track: str, instances: Sequence[str] = (), each: int | None = None
) -> list[Variant]:
    """Return the variants of tasks, as answers given in a track.

    Args:
        instances: only these; all by default.
        each: the maximum number of each kind and instance, spread over all of them.

    Raises:
        ArgumentError: no such track or instance, or there is no variant.
    """
    if track not in EXPECTED:
        raise ArgumentError("track", f"{track!r} is unknown; one of: {', '.join(EXPECTED)}")
    known = {item.instance_id for task in tasks for item in task.implementations}
    check_instances(instances, known)
    found = [item for item in _read(tasks, track, each) if not instances or item.prediction.instance_id in instances]
    if not found:
        raise ArgumentError("instances", "there are no variants of these")
    return found


def _read(tasks: Sequence[Task], track: str, each: int | None) -> Iterator[Variant]:
    for task in tasks:
        for item in task.implementations:
            for kind, expected in EXPECTED[track].items():
                paths = task.variants(item, kind)
                for path in paths[:: max(1, len(paths) // each) if each else 1][:each]:
                    if text := read_variant(path):
                        name = f"{kind}/{path.stem}"
                        yield Variant(Prediction(item.instance_id, name, "function", text, track=track), kind, expected)


def write_variants(found: Sequence[Variant], folder: Path) -> None:
    """Write variants as the predictions of a folder; judgements in it stay."""
    folder.mkdir(parents=True, exist_ok=True)
    RunFolder(folder).predictions.write(item.prediction for item in found)
