"""Score runs: every total is recomputed from the result rows and judgements, never stored.

Each level has two rates: of all instances in the run's scope, where an unanswered one counts as not passed, and of the
graded ones. A run with infra errors is incomplete. The judge's shares are of all answers, including those that are
missing, malformed or too long to be shown; answers that it was not asked about or failed to judge are counted apart.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmrbench_data.base.ranking import ranking_key
from lmrbench_data.base.shares import Share

from ..judge.category import BEST_FIRST
from ..judge.judgement_log import read_judgements
from ..judge.question_log import answer_id
from ..runs.folder import RunFolder
from ..runs.result_log import METHOD_KEYS
from ..verdict.levels import MISSING, OUTCOMES, TRACK_ORDER, Level, headline
from ..verdict.verdict import Status
from .scored_answer import NOT_JUDGED, ScoredAnswer
from .spending import Spending, read_spending
from .stats import pass_at_k

#: The reported k of pass@k, up to the number of samples; k = samples is added.
PASS_AT = (1, 2, 5, 10, 20, 50, 100)


@dataclass
class Tally:
    """Counts of prediction rows; each instance counts as many as the one with the most, filled up with `missing`."""

    outcomes: Counter[str] = field(default_factory=Counter)
    """Rows by outcome (`OUTCOMES`)."""
    judged: Counter[str] = field(default_factory=Counter)
    """Rows by the judge's category, including `judge_error` and `not judged: ...`."""
    nothing_to_judge: int = 0
    """Missing and malformed rows."""
    votes_lost: int = 0
    """Rows whose category rests on fewer votes than requested."""
    instances: int = 0

    def add(self, other: "Tally") -> None:
        """Add the counts of another tally."""
        self.outcomes.update(other.outcomes)
        self.judged.update(other.judged)
        self.nothing_to_judge += other.nothing_to_judge
        self.votes_lost += other.votes_lost
        self.instances += other.instances

    @property
    def total(self) -> int:
        """Number of rows, including missing ones."""
        return self.outcomes.total()

    @property
    def reproduced(self) -> int:
        """Number of rows whose core cases all passed, including robust ones."""
        return self.outcomes[Level.REPRODUCED] + self.robust

    @property
    def robust(self) -> int:
        """Number of rows whose cases all passed."""
        return self.outcomes[Level.ROBUST]

    def reached(self, level: Level) -> int:
        """Return the number of rows that reached a level."""
        return self.robust if level is Level.ROBUST else self.reproduced

    @property
    def graded(self) -> int:
        """Number of rows that were graded: neither missing nor an infra error."""
        return self.total - self.outcomes[MISSING] - self.outcomes[Status.INFRA_ERROR]

    def share(self, level: Level) -> Share:
        """Return the share of rows that reached a level; samples of one instance are not independent."""
        return Share(self.reached(level), self.total, self.instances)

    @property
    def has_category(self) -> int:
        """Number of rows with a category of the judge."""
        return sum(self.judged[name] for name in BEST_FIRST)

    @property
    def not_judged(self) -> dict[str, int]:
        """Number of rows that cannot be shown to a judge, by reason."""
        found = ((name.removeprefix(NOT_JUDGED), count) for name, count in self.judged.items() if NOT_JUDGED in name)
        return dict(sorted(found))

    @property
    def unjudged(self) -> int:
        """Number of rows that the judge was not asked about although they can be judged."""
        return self.total - self.judged.total() - self.nothing_to_judge

    @property
    def judge_base(self) -> int:
        """The whole of the judge's shares."""
        return self.total - self.judged["judge_error"] - self.unjudged

    def as_dict(self) -> dict[str, Any]:
        """Return all numbers, for report.json."""
        judge = {
            **{str(name): self.judged[name] for name in BEST_FIRST},
            "judge_error": self.judged["judge_error"],
            "not_judged": self.not_judged,
            "nothing_to_judge": self.nothing_to_judge,
            "votes_lost": self.votes_lost,
            "unjudged": self.unjudged,
            "shares": {name: _rounded(Share(self.judged[name], self.judge_base)) for name in BEST_FIRST},
        }
        return {
            "total": self.total,
            "graded": self.graded,
            **{str(level): self._level_dict(level) for level in Level},
            "outcomes": {name: self.outcomes[name] for name in OUTCOMES if self.outcomes[name]},
            "judge": judge if self.judged else None,
        }

    def _level_dict(self, level: Level) -> dict[str, Any]:
        share = self.share(level)
        return {**_share_dict(share), "share_of_graded": _rounded(Share(share.part, self.graded))}


@dataclass
class ModelScore:
    """One model in one setting and track of one run."""

    run: str
    path: Path
    model: str
    setting: str
    track: str
    scope: Mapping[str, str]
    """Instance id → category."""
    answers: dict[str, list[ScoredAnswer]]
    """Instance id → its answers, in the order of samples."""
    complete: bool
    spending: Spending = field(default_factory=Spending)

    def __post_init__(self) -> None:
        # Every instance has the same weight, however many samples it has.
        self.samples = max(map(len, self.answers.values()))
        self.instances = {name: self._tally(name) for name in sorted(self.scope)}
        self.categories = {category: Tally() for category in self.scope.values()}
        self.overall = Tally()
        for name, tally in self.instances.items():
            self.categories[self.scope[name]].add(tally)
            self.overall.add(tally)
        self.complete = self.complete and not self.overall.outcomes[Status.INFRA_ERROR]

    def _tally(self, name: str) -> Tally:
        found = self.answers.get(name, [])
        tally = Tally(
            Counter(answer.outcome for answer in found), Counter(a.judged for a in found if a.judged), instances=1
        )
        tally.nothing_to_judge = sum(answer.status == Status.MALFORMED and not answer.judged for answer in found)
        tally.votes_lost = sum(answer.votes_lost > 0 for answer in found)
        if missing := self.samples - len(found):
            tally.outcomes[MISSING] = missing
            tally.nothing_to_judge += missing
        return tally

    @property
    def name(self) -> str:
        """The model, with its setting if it has one."""
        return f"{self.model} ({self.setting})" if self.setting else self.model

    @property
    def key(self) -> tuple[str, str, str]:
        """Identity among the scores of its run: model, setting, track."""
        return self.model, self.setting, self.track

    @property
    def headline(self) -> Level:
        """The level that ranks its track."""
        return headline(self.track)

    @property
    def rank(self) -> tuple[Any, ...]:
        """Sort key: the track, then the best score first (`lmrbench_data.base.ranking`)."""
        tally, total = self.overall, self.overall.total
        track = TRACK_ORDER.index(self.track) if self.track in TRACK_ORDER else len(TRACK_ORDER)
        return track, *ranking_key(self.track, tally.reproduced / total, tally.robust / total), self.model, self.setting

    @property
    def is_on_methods(self) -> bool:
        """Whether the answers are to methods, which have functions and experiments."""
        return any(answer.functions for answers in self.answers.values() for answer in answers)

    def parts(self, key: str) -> Share:
        """Return the share of functions or experiments of methods that passed, over all graded answers.

        Args:
            key: `functions` or `experiments`.
        """
        graded = (
            (name, answer)
            for name, answers in self.answers.items()
            for answer in answers
            if answer.status != Status.INFRA_ERROR
        )
        return Share.clustered((name, passed) for name, answer in graded for passed in getattr(answer, key))

    def pass_at(self, level: Level) -> dict[int, float]:
        """Return k → mean pass@k over the instances of the scope, for k = samples and the smaller ones of `PASS_AT`."""
        if self.samples == 1:
            return {}
        ks = [*(k for k in PASS_AT if k < self.samples), self.samples]
        tallies = self.instances.values()
        return {k: sum(pass_at_k(tally.total, tally.reached(level), k) for tally in tallies) / len(tallies) for k in ks}

    def as_dict(self) -> dict[str, Any]:
        """Return all numbers, for report.json."""
        return {
            "run": self.run,
            "model_name_or_path": self.model,
            "setting": self.setting,
            "track": self.track,
            "headline": str(self.headline),
            "complete": self.complete,
            "samples": self.samples,
            "spending": self.spending.as_dict(),
            "overall": self.overall.as_dict(),
            **({key: _share_dict(self.parts(key)) for key in METHOD_KEYS} if self.is_on_methods else {}),
            "pass_at_k": {
                str(level): {str(k): round(value, 4) for k, value in self.pass_at(level).items()} for level in Level
            },
            "categories": {name: tally.as_dict() for name, tally in sorted(self.categories.items())},
            "instances": {name: dict(tally.outcomes) for name, tally in self.instances.items()},
            "judged": {name: dict(tally.judged) for name, tally in self.instances.items() if tally.judged},
        }


def score_runs(paths: Sequence[Path], judge_model: str | None = None) -> list[ModelScore]:
    """Score all models of several run folders, best first.

    Runs with equal folder names are named by their paths.

    Args:
        judge_model: the judge whose judgements count (default: the last one).

    Raises:
        InputError: a path is not a run folder, or the folder is damaged.
    """
    names = Counter(path.resolve().name for path in paths)
    scores = [
        score
        for path in paths
        for score in _score_run(
            path, path.resolve().name if names[path.resolve().name] == 1 else str(path), judge_model
        )
    ]
    return sorted(scores, key=lambda score: score.rank)


def _score_run(path: Path, name: str, judge_model: str | None) -> Iterator[ModelScore]:
    run = RunFolder(path)
    facts = run.facts
    judgements = read_judgements(path, judge_model)
    found: dict[tuple[str, str, str], dict[str, list[ScoredAnswer]]] = {}
    for row in run.rows():
        instance = row["instance_id"]
        if instance in facts["scope"]:
            answer = ScoredAnswer.of(row, judgements.get(answer_id(row)))
            by_instance = found.setdefault((row["model_name_or_path"], row["setting"], row["track"]), {})
            by_instance.setdefault(instance, []).append(answer)
    spent = read_spending(run)
    for key, answers in sorted(found.items()):
        in_order = {instance: sorted(items, key=lambda answer: answer.sample) for instance, items in answers.items()}
        score = ModelScore(name, path, *key, facts["scope"], in_order, bool(facts.get("complete")))
        for instance, items in in_order.items():
            for answer in items:
                score.spending.add(spent.get((instance, *key, answer.sample), {}), answer.outcome)
        yield score


def _share_dict(share: Share) -> dict[str, Any]:
    interval = [round(bound, 4) for bound in share.interval]
    return {"count": share.part, "share": _rounded(share), "ci95": interval}


def _rounded(share: Share) -> float | None:
    return None if share.value is None else round(share.value, 4)
