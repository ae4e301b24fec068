"""Accuracy of a judge on answers of known category: labelled by people, or variants of the benchmark.

Every number is computed from the rated answers, which a run folder keeps (`calibration_file`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lmrbench_data.base.shares import Share

from ..judge.category import BEST_FIRST, Category
from ..judge.question_log import Judge
from .association import Gamma, Kappa, cohen, partial_gamma

CC, NOT_CC, LI = str(Category.CC), "not CC", str(Category.LI)
#: Separates categories if several are right.
OR = " or "
#: Order of the categories, from too strict to too lenient.
_RANK = {str(category): rank for rank, category in enumerate(Category)}


@dataclass(frozen=True)
class Rated:
    """An answer with a known category and the judge's category."""

    instance_id: str
    group: str
    """Kind of the variant, or people's category."""
    expected: str
    """The right category, or several, as in `LC or LI`."""
    given: str
    """The judge's category."""
    length: float
    similarity: float
    """See `CodeSimilarity`."""

    @property
    def is_met(self) -> bool:
        """True if the judge gave an expected category."""
        return self.may_be(self.given)

    @property
    def is_correct(self) -> bool | None:
        """True if the answer is completely correct; None if CC and another category are both right."""
        return self.may_be(CC) if self.expected == CC or not self.may_be(CC) else None

    def may_be(self, category: str) -> bool:
        """Return whether a category is right for the answer."""
        return category in self.expected.split(OR)


@dataclass(frozen=True)
class Calibration:
    """The judge's categories of answers beside the expected ones."""

    judge: Judge
    source: str
    """The origin of the expected categories: `people`, or `variants` and their track."""
    measured_at: str
    left_out: Mapping[str, int]
    """Reason → number of answers that were left out."""
    rated: Sequence[Rated]

    @property
    def has_three(self) -> bool:
        """True if each answer has exactly one right category."""
        return all(OR not in item.expected for item in self.rated)

    @property
    def agreement(self) -> Share:
        """The share of answers with an expected category."""
        return Share.of(item.is_met for item in self.rated)

    @property
    def decided(self) -> list[Rated]:
        """The answers for which CC is either right or wrong, not one of two right ones."""
        return [item for item in self.rated if item.is_correct is not None]

    @property
    def binary(self) -> Share:
        """The share of agreement after the collapse to CC / not CC, on decided answers."""
        return Share.of((item.given == CC) == item.is_correct for item in self.decided)

    @property
    def sensitivity(self) -> Share:
        """The share of answers with a fault that the judge does not call CC."""
        return self.confusion()[NOT_CC][NOT_CC]

    @property
    def specificity(self) -> Share:
        """The share of completely correct answers that the judge calls CC."""
        return self.confusion()[CC][CC]

    @property
    def false_logic(self) -> Share:
        """The share of answers with correct logic that the judge calls LI."""
        return Share.of(item.given == LI for item in self.rated if not item.may_be(LI))

    def confusion(self) -> dict[str, dict[str, Share]]:
        """Return the shares of answers called CC and not, by whether CC was expected."""
        found = {}
        for expected, correct in ((CC, True), (NOT_CC, False)):
            called = [item.given == CC for item in self.rated if item.is_correct is correct]
            found[expected] = {CC: Share.of(called), NOT_CC: Share.of(not is_cc for is_cc in called)}
        return found

    def kappa(self, *, binary: bool) -> Kappa:
        """Return Cohen's kappa, with its bootstrap interval over instances.

        Args:
            binary: collapse to CC / not CC, on decided answers.
        """
        rated = self.decided if binary else self.rated
        fold = (lambda label: CC if label == CC else NOT_CC) if binary else str
        first, second = ([fold(getattr(item, side)) for item in rated] for side in ("expected", "given"))
        return cohen(first, second, [item.instance_id for item in rated])

    def bias(self, feature: str) -> Gamma:
        """Return whether the judge is more lenient on answers with more of a feature, within each group."""
        values = [getattr(item, feature) for item in self.rated]
        return partial_gamma(values, [_RANK[item.given] for item in self.rated], [item.group for item in self.rated])

    def by(self, key: str) -> dict[str, list[Rated]]:
        """Return the answers by `group` or `instance_id`."""
        found: dict[str, list[Rated]] = {}
        for item in sorted(self.rated, key=lambda item: str(getattr(item, key))):
            found.setdefault(getattr(item, key), []).append(item)
        return found

    def as_dict(self) -> dict[str, Any]:
        """Return all numbers, for JSON."""
        kappas = {"binary": self.kappa(binary=True)}
        if self.has_three:
            kappas["categories"] = self.kappa(binary=False)
        return {
            **judge_dict(self.judge),
            "source": self.source,
            "measured_at": self.measured_at,
            "answers": len(self.rated),
            "left_out": dict(self.left_out),
            "agreement": {"as_expected": self.agreement.as_dict()},
            "binary_agreement": self.binary.as_dict(),
            "kappa": {name: {"value": found.value, "ci95": found.interval} for name, found in kappas.items()},
            "sensitivity": self.sensitivity.as_dict(),
            "specificity": self.specificity.as_dict(),
            "false_logic": self.false_logic.as_dict(),
            "confusion": {
                expected: {said: share.as_dict() for said, share in row.items()}
                for expected, row in self.confusion().items()
            },
            "groups": {name: _group_dict(items) for name, items in self.by("group").items()},
            "instances": {name: _group_dict(items) for name, items in self.by("instance_id").items()},
            "bias": {name: self.bias(name)._asdict() for name in ("length", "similarity")},
        }


def given(items: Sequence[Rated]) -> dict[str, Share]:
    """Return the share of each category that the judge gave, the best first."""
    count = Counter(item.given for item in items)
    return {str(name): Share(count[name], len(items)) for name in BEST_FIRST}


def judge_dict(judge: Judge) -> dict[str, str]:
    """Return the identity of a judge, for JSON."""
    return {"judge_model": judge.model, "prompt_version": judge.prompt_version, "base_url": judge.server}


def _group_dict(items: Sequence[Rated]) -> dict[str, Any]:
    met = Share.of(item.is_met for item in items)
    return {
        "expected": sorted({item.expected for item in items}),
        "given": {name: share.as_dict() for name, share in given(items).items()},
        "as_expected": met.as_dict(),
    }
