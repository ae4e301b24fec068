"""Score runs: every total is recomputed from the result rows and judgements, never stored.

Each level has two rates: of all instances in the run's scope, where an unanswered one counts as not
passed, and of the graded ones. A run with infra errors is incomplete. The judge's shares are of all
answers, including those that are missing, malformed or too long to be shown; answers that it was
not asked about or failed to judge are counted apart.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from lmrbench_data.base.proportions import Interval, Share, ranking_key, ranking_level, wilson
from lmrbench_data.loader import COUNTERFACTUAL, UNDERSPECIFIED
from lmrbench_data.tasks.experiments import DIFFICULTIES, ROWS
from lmrbench_data.tasks.guessing import SettledChoice, by_truth, chance, corrected, reciting

from ..judge.judgement_log import read_judgements
from ..predictions.prediction import AnswerKey
from ..runs.folder import RunFolder
from ..runs.result_log import METHOD_KEYS
from ..verdict.choices import NONE, OTHER, PUBLISHED, STATED
from ..verdict.levels import TRACK_ORDER, Level
from ..verdict.verdict import Status
from .spending import Spending
from .stats import pass_all_k, pass_at_k
from .tally import ScoredAnswer, Tally, rounded, share_dict

#: The reported k of pass@k, up to the number of samples; k = samples is added.
PASS_AT = (1, 2, 5, 10, 20, 50, 100)
#: How a model decided an altered choice → readings.
READ = {"read": (STATED,), "recited": (PUBLISHED,), "neither": (OTHER, NONE)}


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
    difficulties: Mapping[str, str] = field(default_factory=dict)
    """Instance id → difficulty of its row; empty where rows have none."""
    samples: int = 0
    part: str = ""
    """The difficulty, if the score is a part of another one."""

    def __post_init__(self) -> None:
        # Every instance has the same weight, however many samples it has.
        self.samples = self.samples or max(map(len, self.answers.values()))
        self.spending = Spending()
        for _, answer in self.each_answer():
            self.spending.add(answer.amounts, answer.outcome, cut=answer.cut)
        self.instances: dict[str, Tally] = {}
        self.categories: defaultdict[str, Tally] = defaultdict(Tally)
        self.overall = Tally()
        for name, category in sorted(self.scope.items()):
            self._count(name, category)
        self.complete = self.complete and not self.overall.outcomes[Status.INFRA_ERROR]

    def _count(self, name: str, category: str) -> None:
        tally = Tally.of(self.answers.get(name, []), self.samples)
        self.instances[name] = tally
        self.categories[category].add(tally)
        self.overall.add(tally)

    def each_answer(self) -> Iterator[tuple[str, ScoredAnswer]]:
        """Yield all answers, each with its instance."""
        for name, answers in self.answers.items():
            for answer in answers:
                yield name, answer

    def _graded(self) -> Iterator[tuple[str, ScoredAnswer]]:
        """Yield all answers but infra errors, each with its instance."""
        return (item for item in self.each_answer() if item[1].status != Status.INFRA_ERROR)

    def _choice_share(self, hits: Callable[[ScoredAnswer], Iterable[bool]]) -> Share:
        """Count hits among choices of all graded answers.

        Choices of one paper resemble each other, so an interval counts papers.
        """
        return Share.clustered(
            (paper_of(name), hit) for name, answer in self._graded() for hit in hits(answer)
        )

    @property
    def name(self) -> str:
        """The model, with its setting if it has one."""
        return f"{self.model} ({self.setting})" if self.setting else self.model

    @property
    def key(self) -> tuple[str, str, str]:
        """Identity among the scores of its run: model, setting, track."""
        return self.model, self.setting, self.track

    @property
    def names(self) -> dict[str, str]:
        """The keys of a result row that name it."""
        return {"model_name_or_path": self.model, "setting": self.setting, "track": self.track}

    @property
    def difficulty(self) -> str:
        """The difficulty of all rows; empty if they have several or none."""
        kinds = {self.difficulties.get(name) for name in self.scope}
        return next((kind for kind in DIFFICULTIES if kinds == {kind}), "")

    @cached_property
    def by_difficulty(self) -> list["ModelScore"]:
        """The scores on the rows of each difficulty; empty if there is one difficulty or none."""
        parts = [self._part(difficulty) for difficulty in DIFFICULTIES]
        return [part for part in parts if 0 < len(part.scope) < len(self.scope)]

    def _part(self, difficulty: str) -> "ModelScore":
        """Return the score on the rows of one difficulty."""
        names = [name for name in self.scope if self.difficulties.get(name) == difficulty]
        scope = {name: self.scope[name] for name in names}
        answers = {name: items for name, items in self.answers.items() if name in scope}
        return replace(self, scope=scope, answers=answers, part=difficulty)

    @property
    def headline(self) -> Level:
        """The level that ranks its track."""
        return Level(ranking_level(self.track))

    @property
    def rank(self) -> tuple[Any, ...]:
        """Sort key: the track, then the best score first (`lmrbench_data.base.proportions`)."""
        track = (*TRACK_ORDER, self.track).index(self.track)
        total = self.overall.total
        shares = self.overall.reproduced / total, self.overall.robust / total
        return track, *ranking_key(self.track, *shares), self.model, self.setting

    @property
    def is_on_methods(self) -> bool:
        """Whether the answers are to methods, which have functions and experiments."""
        return any(answer.functions for _, answer in self.each_answer())

    def parts(self, key: str) -> Share:
        """Return the share of `functions` or `experiments` of methods that passed."""
        return Share.clustered(
            (name, passed) for name, answer in self._graded() for passed in getattr(answer, key)
        )

    @property
    def has_readings(self) -> bool:
        """Whether the answers are to papers with altered choices."""
        return any(answer.readings for _, answer in self._graded())

    def reading(self, *readings: str) -> Share:
        """Return the share of altered choices with one of these readings."""
        return self._choice_share(lambda answer: [kind in readings for kind in answer.readings])

    @property
    def searching(self) -> int:
        """The number of answers that hold numbers of their paper's tables."""
        return sum(answer.searches_table for _, answer in self._graded())

    def settled(self) -> Share:
        """Return the share of open choices that were settled."""
        return self._choice_share(lambda answer: [choice.is_settled for choice in answer.settled])

    @property
    def open_choices(self) -> list[SettledChoice]:
        """The open choices of all graded answers."""
        return [choice for _, answer in self._graded() for choice in answer.settled]

    @property
    def sample_counts(self) -> list[int]:
        """The k of pass@k and pass^k: samples and smaller `PASS_AT`; none for a single sample."""
        if self.samples == 1:
            return []
        return [*(k for k in PASS_AT if k < self.samples), self.samples]

    def pass_at(self, level: Level) -> dict[int, float]:
        """Return k → mean pass@k over the instances: one of k samples reaches the level."""
        return self._rates(level, pass_at_k)

    def pass_all(self, level: Level) -> dict[int, float]:
        """Return k → mean pass^k over the instances: all of k samples reach the level."""
        return self._rates(level, pass_all_k)

    def _rates(self, level: Level, estimate: Callable[[int, int, int], float]) -> dict[int, float]:
        rates = {}
        for k in self.sample_counts:
            estimates = [
                estimate(tally.total, tally.reached(level), k) for tally in self.instances.values()
            ]
            rates[k] = sum(estimates) / len(estimates)
        return rates

    def rate_interval(self, rate: float) -> Interval:
        """Return the interval of a pass@k or pass^k; instances are its independent units."""
        return wilson(rate * len(self.scope), len(self.scope))

    def as_dict(self) -> dict[str, Any]:
        """Return all numbers, for report.json."""
        instances = self.instances.items()
        categories = sorted(self.categories.items())
        parts = {part.part: part.as_dict() for part in self.by_difficulty}
        return {
            "run": self.run,
            **self.names,
            **({"difficulty": self.difficulty} if self.difficulty else {}),
            "headline": str(self.headline),
            "complete": self.complete,
            "samples": self.samples,
            "spending": self.spending.as_dict(),
            "cut_at_token_limit": self.spending.cut,
            "overall": self.overall.as_dict(),
            **self._kind_dict(),
            "pass_at_k": {str(level): _rounded(self.pass_at(level)) for level in Level},
            "pass_all_k": {str(level): _rounded(self.pass_all(level)) for level in Level},
            "categories": {name: tally.as_dict() for name, tally in categories},
            "instances": {name: dict(tally.outcomes) for name, tally in instances},
            "judged": {name: dict(tally.judged) for name, tally in instances if tally.judged},
            **({"by_difficulty": parts} if parts else {}),
        }

    def _kind_dict(self) -> dict[str, Any]:
        """Return the numbers that only methods, or papers with choices, have."""
        facts: dict[str, Any] = {}
        if self.is_on_methods:
            facts |= {key: share_dict(self.parts(key)) for key in METHOD_KEYS}
        if self.has_readings:
            shares = {name: self.reading(*readings) for name, readings in READ.items()}
            facts["reading"] = {name: share_dict(share) for name, share in shares.items()}
        if self.open_choices:
            facts["settled"] = _settled(self)
        return facts


def _rounded(rates: Mapping[int, float]) -> dict[str, float | None]:
    return {str(k): rounded(rate) for k, rate in rates.items()}


#: Scores, usually best first.
Scores = Sequence[ModelScore]


def score_runs(paths: Sequence[Path], judge_model: str | None = None) -> list[ModelScore]:
    """Score all models of several runs, best first; folders of one name are named by their paths.

    The judgements of `judge_model` count, or of the last judge.
    """
    names = [path.resolve().name for path in paths]
    scores: list[ModelScore] = []
    for path, name in zip(paths, names, strict=True):
        scores += _score_run(path, name if names.count(name) == 1 else str(path), judge_model)
    return sorted(scores, key=lambda score: score.rank)


def _score_run(path: Path, name: str, judge_model: str | None) -> Iterator[ModelScore]:
    facts = RunFolder(path).facts
    by_model = _read_answers(path, facts["scope"], judge_model)
    complete = bool(facts.get("complete"))
    difficulties = facts["difficulties"]
    for names, answers in sorted(by_model.items()):
        for items in answers.values():
            items.sort(key=lambda answer: answer.sample)
        yield ModelScore(name, path, *names, facts["scope"], answers, complete, difficulties)


_Answers = dict[str, list[ScoredAnswer]]


def _read_answers(
    path: Path, scope: Collection[str], judge_model: str | None
) -> dict[tuple[str, str, str], _Answers]:
    """Return the answers of a run: model, setting and track → instance → answers."""
    run = RunFolder(path)
    judgements = read_judgements(path, judge_model)
    metadata = {item.key.row: item.metadata for item in run.predictions}
    by_model: dict[tuple[str, str, str], _Answers] = {}
    for row in run.rows():
        key = AnswerKey.of(row)
        if key.instance_id in scope:
            answer = ScoredAnswer.of(row, judgements.get(key.question), metadata.get(key.row))
            answers = by_model.setdefault(key[1:4], {})
            answers.setdefault(key.instance_id, []).append(answer)
    return by_model


def answers_by_key(scores: Iterable[ModelScore]) -> dict[AnswerKey, ScoredAnswer]:
    """Return the answers of all scores; where several have one with the same key, the first."""
    answers: dict[AnswerKey, ScoredAnswer] = {}
    for score in scores:
        for instance, answer in score.each_answer():
            answers.setdefault(AnswerKey(instance, *score.key, answer.sample), answer)
    return answers


def with_difficulties(scores: Iterable[ModelScore]) -> list[ModelScore]:
    """Return each score, followed by those on its rows of each difficulty if it has several."""
    split: list[ModelScore] = []
    for score in scores:
        split += [score, *score.by_difficulty]
    return split


def only_difficulty(scores: Iterable[ModelScore]) -> str:
    """Return words for the difficulty of all rows; empty if there are several or none."""
    difficulties = {score.difficulty for score in scores}
    if len(difficulties) != 1 or "" in difficulties:
        return ""
    return f", {ROWS[difficulties.pop()]}"


def paper_of(instance: str) -> str:
    """Return the paper of a counterfactual or underspecified instance, as its name tells."""
    return re.split(f"-(?:{COUNTERFACTUAL}|{UNDERSPECIFIED})-", instance)[0]


def _settled(score: ModelScore) -> dict[str, Any]:
    choices = score.open_choices
    groups = by_truth(choices)
    return {
        **share_dict(score.settled()),
        "chance": rounded(chance(choices)),
        "reciting": rounded(reciting(choices)),
        "corrected": rounded(corrected(choices)),
        "by_truth": {
            "published": share_dict(Share(*groups[True])),
            "other": share_dict(Share(*groups[False])),
        },
    }
