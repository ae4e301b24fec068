"""Score runs: every total is recomputed from the result rows and judgements, never stored.

Two rates are always given: of all instances in the run's scope (an unanswered one counts as not passed), and of those
that could be graded. A run with infra errors is called incomplete. The judge's shares are of all answers except those
that it was not asked about or gave no judgement on, which are counted beside them: an answer that is missing, malformed
or too long to be shown counts, as in none of the categories.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ..judge.category import BEST_FIRST
from ..judge.store import Judgement, answer_id, read_judgements
from ..runs.folder import read_facts, read_results
from ..verdict import Status
from .stats import pass_at_k, wilson

#: What counts as a status of an instance that a model has not answered.
MISSING = "missing"
#: Of an answer that cannot be shown to a judge, before the reason.
NOT_JUDGED = "not judged: "
#: The k of pass@k that are reported, as far as there are samples.
PASS_AT = (1, 2, 5, 10, 20, 50, 100)


class ScoredAnswer(NamedTuple):
    """One prediction row's outcome."""

    sample: int
    status: str
    sha256: str
    judged: str | None
    """The judge's category; `judge_error` if it could not be had, `not judged: ` and a reason if the answer cannot be
    shown to a judge, None if it was not asked for."""


@dataclass
class Tally:
    """Counts over prediction rows; every instance counts as many as the one with most, `missing` ones among them."""

    counts: Counter[str] = field(default_factory=Counter)
    """Rows by status, `missing` among them."""
    judged: Counter[str] = field(default_factory=Counter)
    """Rows by the judge's category, `judge_error` and `not judged: ...` among them."""
    nothing_to_judge: int = 0
    """Missing and malformed rows."""
    instances: int = 0

    def add(self, other: "Tally") -> None:
        """Take the counts of another tally in."""
        self.counts.update(other.counts)
        self.judged.update(other.judged)
        self.nothing_to_judge += other.nothing_to_judge
        self.instances += other.instances

    @property
    def total(self) -> int:
        """All rows, missing ones included."""
        return self.counts.total()

    @property
    def passed(self) -> int:
        """Rows whose every case passed."""
        return self.counts[Status.PASSED]

    @property
    def graded(self) -> int:
        """Rows that the machinery could grade."""
        return self.total - self.counts[MISSING] - self.counts[Status.INFRA_ERROR]

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the accuracy. Samples of one instance are not independent: n is the instances."""
        return wilson(self.passed * self.instances / self.total if self.total else 0, self.instances)

    @property
    def has_category(self) -> int:
        """Rows to which the judge gave a category."""
        return sum(self.judged[name] for name in BEST_FIRST)

    @property
    def not_judged(self) -> dict[str, int]:
        """Rows that cannot be shown to any judge, by reason."""
        found = ((name.removeprefix(NOT_JUDGED), count) for name, count in self.judged.items() if NOT_JUDGED in name)
        return dict(sorted(found))

    @property
    def unjudged(self) -> int:
        """Rows that the judge was not asked about, though there is something to judge."""
        return self.total - self.judged.total() - self.nothing_to_judge

    @property
    def judge_base(self) -> int:
        """What the judge's shares are of."""
        return self.total - self.judged["judge_error"] - self.unjudged

    def as_dict(self) -> dict[str, Any]:
        """For report.json."""
        low, high = self.interval
        judge = {
            **{str(name): self.judged[name] for name in BEST_FIRST},
            "judge_error": self.judged["judge_error"],
            "not_judged": self.not_judged,
            "nothing_to_judge": self.nothing_to_judge,
            "unjudged": self.unjudged,
            "shares": {name: share(self.judged[name], self.judge_base) for name in BEST_FIRST},
        }
        return {
            "total": self.total,
            "passed": self.passed,
            "graded": self.graded,
            "accuracy": share(self.passed, self.total),
            "accuracy_ci95": [round(low, 4), round(high, 4)],
            "accuracy_of_graded": share(self.passed, self.graded),
            "statuses": {name: self.counts[name] for name in (*map(str, Status), MISSING) if self.counts[name]},
            "judge": judge if self.judged else None,
        }


@dataclass
class ModelScore:
    """One model in one setting of one run."""

    run: str
    path: Path
    model: str
    setting: str
    scope: Mapping[str, str]
    """Instance id → category."""
    answers: dict[str, list[ScoredAnswer]]
    """Of each answered instance, in the order of samples."""
    complete: bool

    def __post_init__(self) -> None:
        # Every instance weighs the same, however many of its samples are there.
        self.samples = max(map(len, self.answers.values()))
        self.instances = {name: self._tally(name) for name in sorted(self.scope)}
        self.categories = {category: Tally() for category in self.scope.values()}
        self.overall = Tally()
        for name, tally in self.instances.items():
            self.categories[self.scope[name]].add(tally)
            self.overall.add(tally)
        self.complete = self.complete and not self.overall.counts[Status.INFRA_ERROR]

    def _tally(self, name: str) -> Tally:
        found = self.answers.get(name, [])
        tally = Tally(
            Counter(answer.status for answer in found), Counter(a.judged for a in found if a.judged), instances=1
        )
        tally.nothing_to_judge = sum(answer.status == Status.MALFORMED and not answer.judged for answer in found)
        if missing := self.samples - len(found):
            tally.counts[MISSING] = missing
            tally.nothing_to_judge += missing
        return tally

    @property
    def name(self) -> str:
        """The model, with its setting if it has one."""
        return f"{self.model} ({self.setting})" if self.setting else self.model

    @property
    def key(self) -> str:
        """A name that no other score of the same report has."""
        return f"{self.run}: {self.name}"

    def pass_at(self) -> dict[int, float]:
        """Mean pass@k over the instances of the scope, for the k of `PASS_AT` that its samples allow."""
        if self.samples == 1:
            return {}
        ks = [k for k in PASS_AT if k <= self.samples]
        tallies = self.instances.values()
        return {k: sum(pass_at_k(tally.total, tally.passed, k) for tally in tallies) / len(tallies) for k in ks}

    def as_dict(self) -> dict[str, Any]:
        """For report.json."""
        return {
            "run": self.run,
            "model_name_or_path": self.model,
            "setting": self.setting,
            "complete": self.complete,
            "samples": self.samples,
            "overall": self.overall.as_dict(),
            "pass_at_k": {str(k): round(value, 4) for k, value in self.pass_at().items()},
            "categories": {name: tally.as_dict() for name, tally in sorted(self.categories.items())},
            "instances": {name: dict(tally.counts) for name, tally in self.instances.items()},
            "judged": {name: dict(tally.judged) for name, tally in self.instances.items() if tally.judged},
        }


def score_runs(paths: Sequence[Path], judge_model: str | None = None) -> list[ModelScore]:
    """The scores of all models of several run folders, which are named so that they can be told apart.

    Args:
        judge_model: whose judgements count, if a run was judged by several; the last one by default.

    Raises:
        InputError: no run folder, or a damaged one.
    """
    names = Counter(path.resolve().name for path in paths)
    return [
        score
        for path in paths
        for score in _score_run(
            path, path.resolve().name if names[path.resolve().name] == 1 else str(path), judge_model
        )
    ]


def _score_run(path: Path, name: str, judge_model: str | None) -> Iterator[ModelScore]:
    facts = read_facts(path)
    judgements = read_judgements(path, judge_model)
    found: dict[tuple[str, str], dict[str, list[ScoredAnswer]]] = {}
    for row in read_results(path):
        instance = row["instance_id"]
        if instance in facts["scope"]:
            judged = _label(judgements.get(answer_id(row)))
            answer = ScoredAnswer(row["sample"], row["status"], row["prediction_sha256"], judged)
            by_instance = found.setdefault((row["model_name_or_path"], row["setting"]), {})
            by_instance.setdefault(instance, []).append(answer)
    for (model, setting), answers in sorted(found.items()):
        in_order = {instance: sorted(items, key=lambda answer: answer.sample) for instance, items in answers.items()}
        yield ModelScore(name, path, model, setting, facts["scope"], in_order, bool(facts.get("complete")))


def _label(judgement: Judgement | None) -> str | None:
    if judgement is None:
        return None
    if judgement.not_judged:
        return NOT_JUDGED + judgement.not_judged
    return str(judgement.category) if judgement.category else "judge_error"


def share(part: int, whole: int) -> float | None:
    """A share for machines; None where there is none."""
    return round(part / whole, 4) if whole else None
