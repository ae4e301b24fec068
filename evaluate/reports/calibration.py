"""How far a judge is right where it is known what is right: by people's labels, or on the benchmark's own variants.

A run folder keeps what was compared, answer by answer, in calibrations.json; every number is computed from that anew.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import InputError
from ...files import write_atomically
from ..judge.category import BEST_FIRST, Category
from ..judge.store import Judge, judges
from ..runs.jsonl import wrong_key
from .association import Gamma, Kappa, cohen, partial_gamma
from .stats import wilson

FILE = "calibrations.json"
CC, NOT_CC = str(Category.CC), "not CC"
#: From too strict to too lenient.
_RANK = {str(category): rank for rank, category in enumerate(Category)}
_KEYS: dict[str, Any] = {
    "judge_model": str,
    "prompt_version": str,
    "base_url": str,
    "source": str,
    "measured_at": str,
    "left_out": dict,
    "rated": list,
}


@dataclass(frozen=True)
class Rated:
    """An answer on which the judge can be checked."""

    instance_id: str
    group: str
    """Kind of variant, or people's category."""
    expected: str
    """A category; or `not CC`, where it is not known which of the other two."""
    given: str
    """The judge's category."""
    length: float
    similarity: float
    """See `Likeness`."""

    @property
    def is_met(self) -> bool:
        """Whether the judge said what was expected."""
        return self.given != CC if self.expected == NOT_CC else self.given == self.expected

    @property
    def is_correct(self) -> bool:
        """Whether the answer is completely correct."""
        return self.expected == CC


class Share(NamedTuple):
    """A part of a whole."""

    part: int
    whole: int

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's, 95 %."""
        return wilson(self.part, self.whole)


@dataclass(frozen=True)
class Calibration:
    """What a judge said of answers beside what it should have said."""

    judge: Judge
    source: str
    """`people`, or `variants` and their track: what it was measured on."""
    measured_at: str
    left_out: Mapping[str, int]
    """Answers that say nothing about the judge, by reason."""
    rated: Sequence[Rated]

    @property
    def has_three(self) -> bool:
        """Whether all three categories are expected somewhere, not only CC or not."""
        return all(item.expected != NOT_CC for item in self.rated)

    @property
    def agreement(self) -> Share:
        """Answers of which the judge said what was expected."""
        return Share(sum(item.is_met for item in self.rated), len(self.rated))

    @property
    def binary(self) -> Share:
        """The same after the collapse to CC / not CC."""
        return Share(sum((item.given == CC) == item.is_correct for item in self.rated), len(self.rated))

    def recognised(self, correct: bool) -> Share:
        """Of answers that are completely correct, or of all others: those which the judge takes for such."""
        found = [item for item in self.rated if item.is_correct == correct]
        return Share(sum((item.given == CC) == correct for item in found), len(found))

    def kappa(self, *, binary: bool) -> Kappa:
        """Cohen's kappa, with its bootstrap interval over instances."""
        fold = (lambda label: CC if label == CC else NOT_CC) if binary else str
        first, second = ([fold(getattr(item, side)) for item in self.rated] for side in ("expected", "given"))
        return cohen(first, second, [item.instance_id for item in self.rated])

    def bias(self, feature: str) -> Gamma:
        """Whether of answers that deserve the same the judge is more lenient on those with more of a feature."""
        values = [getattr(item, feature) for item in self.rated]
        return partial_gamma(values, [_RANK[item.given] for item in self.rated], [item.group for item in self.rated])

    def by(self, key: str) -> dict[str, list[Rated]]:
        """The answers by `group` or `instance_id`."""
        found: dict[str, list[Rated]] = {}
        for item in sorted(self.rated, key=lambda item: str(getattr(item, key))):
            found.setdefault(getattr(item, key), []).append(item)
        return found

    def as_dict(self) -> dict[str, Any]:
        """All numbers, for --json."""
        kappas = {"binary": self.kappa(binary=True)}
        if self.has_three:
            kappas["categories"] = self.kappa(binary=False)
        return {
            **_judge_dict(self.judge),
            "source": self.source,
            "measured_at": self.measured_at,
            "answers": len(self.rated),
            "left_out": dict(self.left_out),
            "agreement": {"categories": _share_dict(self.agreement)} if self.has_three else {},
            "binary_agreement": _share_dict(self.binary),
            "kappa": {name: {"value": found.value, "ci95": found.interval} for name, found in kappas.items()},
            "correct_recognised": _share_dict(self.recognised(True)),
            "incorrect_recognised": _share_dict(self.recognised(False)),
            "groups": {name: _group_dict(items) for name, items in self.by("group").items()},
            "instances": {name: _group_dict(items) for name, items in self.by("instance_id").items()},
            "bias": {name: self.bias(name)._asdict() for name in ("length", "similarity")},
        }


def given(items: Iterable[Rated]) -> Counter[str]:
    """How often the judge gave each category."""
    return Counter(item.given for item in items)


def keep(calibration: Calibration, run: Path) -> None:
    """Note a calibration in a folder, in place of an older one of the same judge on the same source.

    Raises:
        InputError: the folder's calibrations are damaged.
    """
    same = calibration.judge, calibration.source
    found = [item for item in read_calibrations(run) if (item.judge, item.source) != same] + [calibration]
    entries = [
        {
            **_judge_dict(item.judge),
            "source": item.source,
            "measured_at": item.measured_at,
            "left_out": dict(item.left_out),
            "rated": [asdict(rated) for rated in item.rated],
        }
        for item in found
    ]
    write_atomically(run / FILE, json.dumps(entries, indent=1) + "\n")


def read_calibrations(run: Path) -> list[Calibration]:
    """The calibrations that a folder keeps, of whichever judge.

    Raises:
        InputError: damaged.
    """
    path = run / FILE
    if not path.is_file():
        return []
    try:
        return [_read(entry) for entry in json.loads(path.read_text(encoding="utf-8"))]
    except (ValueError, TypeError, RecursionError):
        raise InputError(f"{path}: damaged; remove it and calibrate again") from None


def calibrations_of(runs: Sequence[Path], model: str | None = None) -> list[Calibration]:
    """What runs keep on the judges that `judge_of` names, the newest of each judge and source."""
    newest: dict[tuple[Judge, str], Calibration] = {}
    for run in runs:
        judge = judge_of(run, model)
        for item in (item for item in read_calibrations(run) if item.judge == judge):
            known = newest.setdefault((item.judge, item.source), item)
            newest[item.judge, item.source] = max(known, item, key=lambda one: one.measured_at)
    return sorted(newest.values(), key=lambda item: (item.judge, item.source))


def judge_of(run: Path, model: str | None = None) -> Judge | None:
    """Whose judgements on a run a report shows: the last one's, or the last one's of that model."""
    return next((judge for judge in reversed(judges(run)) if model in (None, judge.model)), None)


def _read(entry: Any) -> Calibration:
    if wrong_key(entry, _KEYS) or not all(type(count) is int for count in entry["left_out"].values()):
        raise ValueError
    rated = [Rated(**item) for item in entry["rated"]]
    for item in rated:
        texts, numbers = (item.instance_id, item.group), (item.length, item.similarity)
        if not all(isinstance(text, str) for text in texts) or not all(math.isfinite(number) for number in numbers):
            raise ValueError
        if item.expected not in (*BEST_FIRST, NOT_CC) or item.given not in BEST_FIRST:
            raise ValueError
    judge = Judge(entry["judge_model"], entry["prompt_version"], entry["base_url"])
    return Calibration(judge, entry["source"], entry["measured_at"], entry["left_out"], rated)


def _judge_dict(judge: Judge) -> dict[str, str]:
    return {"judge_model": judge.model, "prompt_version": judge.prompt_version, "base_url": judge.server}


def _share_dict(share: Share) -> dict[str, Any]:
    return {"part": share.part, "whole": share.whole, "ci95": share.interval}


def _group_dict(items: Sequence[Rated]) -> dict[str, Any]:
    met = Share(sum(item.is_met for item in items), len(items))
    return {
        "expected": sorted({item.expected for item in items}),
        "given": {str(name): given(items)[name] for name in BEST_FIRST},
        "as_expected": _share_dict(met),
    }
