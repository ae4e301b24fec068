"""Score runs: every total is recomputed from the result rows and judgements, never stored.

Each level has two rates: of all instances in the run's scope, where an unanswered one counts as not passed, and of the
graded ones. A run with infra errors is incomplete. The judge's shares are of all answers, including those that are
missing, malformed or too long to be shown; answers that it was not asked about or failed to judge are counted apart.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from lmrbench_data.base.proportions import Share, ranking_key, ranking_level
from lmrbench_data.loader import COUNTERFACTUAL, UNDERSPECIFIED
from lmrbench_data.tasks.experiments import DIFFICULTIES, ROWS
from lmrbench_data.tasks.guessing import SettledChoice, by_truth, chance, corrected, reciting

from ..judge.judgement_log import read_judgements
from ..predictions.prediction import AnswerKey
from ..runs.folder import RunFolder
from ..runs.result_log import METHOD_KEYS
from ..verdict.choices import NONE, OTHER, PUBLISHED, STATED
from ..verdict.levels import MISSING, TRACK_ORDER, Level
from ..verdict.verdict import Status
from .spending import Spending
from .stats import pass_at_k
from .tally import ScoredAnswer, Tally, share_dict

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
        for answer in itertools.chain.from_iterable(self.answers.values()):
            self.spending.add(answer.amounts, answer.outcome)
            self.spending.cut += answer.cut
        self.instances = {name: self._tally(name) for name in sorted(self.scope)}
        self.categories = {category: Tally() for category in self.scope.values()}
        self.overall = Tally()
        for name, tally in self.instances.items():
            self.categories[self.scope[name]].add(tally)
            self.overall.add(tally)
        self.complete = self.complete and not self.overall.outcomes[Status.INFRA_ERROR]

    def _tally(self, name: str) -> Tally:
        answers = self.answers.get(name, [])
        tally = Tally(
            Counter(answer.outcome for answer in answers),
            Counter(a.judged for a in answers if a.judged),
            instances=1,
        )
        tally.nothing_to_judge = sum(
            answer.status == Status.MALFORMED and not answer.judged for answer in answers
        )
        tally.votes_lost = sum(answer.votes_lost > 0 for answer in answers)
        if missing := self.samples - len(answers):
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
    def names(self) -> dict[str, str]:
        """The keys of a result row that name it."""
        return dict(zip(("model_name_or_path", "setting", "track"), self.key, strict=True))

    @property
    def difficulty(self) -> str:
        """The difficulty of all rows; empty if they have several or none."""
        found = {self.difficulties.get(name, "") for name in self.scope}
        return found.pop() if len(found) == 1 and found <= set(DIFFICULTIES) else ""

    @cached_property
    def by_difficulty(self) -> list["ModelScore"]:
        """The scores on the rows of each difficulty; empty if all rows have one difficulty or none."""
        parts = []
        for difficulty in DIFFICULTIES:
            scope = {
                name: kind
                for name, kind in self.scope.items()
                if self.difficulties.get(name) == difficulty
            }
            if 0 < len(scope) < len(self.scope):
                answers = {name: items for name, items in self.answers.items() if name in scope}
                parts.append(replace(self, scope=scope, answers=answers, part=difficulty))
        return parts

    @property
    def headline(self) -> Level:
        """The level that ranks its track."""
        return Level(ranking_level(self.track))

    @property
    def rank(self) -> tuple[Any, ...]:
        """Sort key: the track, then the best score first (`lmrbench_data.base.proportions`)."""
        tally, total = self.overall, self.overall.total
        track = TRACK_ORDER.index(self.track) if self.track in TRACK_ORDER else len(TRACK_ORDER)
        return (
            track,
            *ranking_key(self.track, tally.reproduced / total, tally.robust / total),
            self.model,
            self.setting,
        )

    @property
    def is_on_methods(self) -> bool:
        """Whether the answers are to methods, which have functions and experiments."""
        return any(answer.functions for answers in self.answers.values() for answer in answers)

    def parts(self, key: str) -> Share:
        """Return the share of `functions` or `experiments` of methods that passed, over all graded answers."""
        return Share.clustered(
            (name, passed) for name, answer in self._graded() for passed in getattr(answer, key)
        )

    @property
    def has_readings(self) -> bool:
        """Whether the answers are to papers with altered choices."""
        return any(answer.readings for _, answer in self._graded())

    def reading(self, *readings: str) -> Share:
        """Return the share of altered choices with one of these readings, over all graded answers.

        Choices of one paper resemble each other, so an interval counts papers.
        """
        return Share.clustered(
            (paper_of(name), kind in readings)
            for name, answer in self._graded()
            for kind in answer.readings
        )

    @property
    def searching(self) -> int:
        """The number of answers that hold numbers of their paper's tables."""
        return sum(answer.searches_table for _, answer in self._graded())

    def settled(self) -> Share:
        """Return the share of open choices that were settled, over all graded answers; an interval counts papers."""
        return Share.clustered(
            (paper_of(name), hit) for name, answer in self._graded() for hit, *_ in answer.settled
        )

    @property
    def open_choices(self) -> list[SettledChoice]:
        """The open choices of all graded answers."""
        return [choice for _, answer in self._graded() for choice in answer.settled]

    def _graded(self) -> Iterator[tuple[str, ScoredAnswer]]:
        """Yield instance and answer of all answers but infra errors."""
        for name, answers in self.answers.items():
            yield from ((name, answer) for answer in answers if answer.status != Status.INFRA_ERROR)

    def pass_at(self, level: Level) -> dict[int, float]:
        """Return k → mean pass@k over the instances of the scope, for k = samples and the smaller ones of `PASS_AT`."""
        if self.samples == 1:
            return {}
        ks = [*(k for k in PASS_AT if k < self.samples), self.samples]
        tallies = self.instances.values()
        return {
            k: sum(pass_at_k(tally.total, tally.reached(level), k) for tally in tallies)
            / len(tallies)
            for k in ks
        }

    def as_dict(self) -> dict[str, Any]:
        """Return all numbers, for report.json."""
        readings = {name: share_dict(self.reading(*kinds)) for name, kinds in READ.items()}
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
            **(
                {key: share_dict(self.parts(key)) for key in METHOD_KEYS}
                if self.is_on_methods
                else {}
            ),
            **({"reading": readings} if self.has_readings else {}),
            **({"settled": _settled(self)} if self.open_choices else {}),
            "pass_at_k": {
                str(level): {str(k): round(value, 4) for k, value in self.pass_at(level).items()}
                for level in Level
            },
            "categories": {
                name: tally.as_dict() for name, tally in sorted(self.categories.items())
            },
            "instances": {name: dict(tally.outcomes) for name, tally in self.instances.items()},
            "judged": {
                name: dict(tally.judged) for name, tally in self.instances.items() if tally.judged
            },
            **(
                {"by_difficulty": by}
                if (by := {part.part: part.as_dict() for part in self.by_difficulty})
                else {}
            ),
        }


def score_runs(paths: Sequence[Path], judge_model: str | None = None) -> list[ModelScore]:
    """Score all models of several run folders, best first; runs with equal folder names are named by their paths.

    The judgements of `judge_model` count, or of the last judge.
    """
    names = [path.resolve().name for path in paths]
    scores: list[ModelScore] = []
    for path, name in zip(paths, names, strict=True):
        scores += _score_run(path, name if names.count(name) == 1 else str(path), judge_model)
    return sorted(scores, key=lambda score: score.rank)


def _score_run(path: Path, name: str, judge_model: str | None) -> Iterator[ModelScore]:
    run = RunFolder(path)
    facts = run.facts
    judgements = read_judgements(path, judge_model)
    metadata = {item.key.row: item.metadata for item in run.predictions}
    by_model: dict[tuple[str, str, str], dict[str, list[ScoredAnswer]]] = {}
    for row in run.rows():
        instance = row["instance_id"]
        if instance in facts["scope"]:
            key = AnswerKey.of(row)
            answer = ScoredAnswer.of(row, judgements.get(key.question), metadata.get(key.row))
            by_instance = by_model.setdefault(
                (row["model_name_or_path"], row["setting"], row["track"]), {}
            )
            by_instance.setdefault(instance, []).append(answer)
    for names, answers in sorted(by_model.items()):
        in_order = {
            instance: sorted(items, key=lambda answer: answer.sample)
            for instance, items in answers.items()
        }
        complete, difficulties = bool(facts.get("complete")), facts["difficulties"]
        yield ModelScore(name, path, *names, facts["scope"], in_order, complete, difficulties)


def answers_by_key(scores: Iterable[ModelScore]) -> dict[AnswerKey, ScoredAnswer]:
    """Return the answers of all scores; that of the first run counts where several have one with the same key."""
    answers: dict[AnswerKey, ScoredAnswer] = {}
    for score in scores:
        for instance, items in score.answers.items():
            for answer in items:
                answers.setdefault(AnswerKey(instance, *score.key, answer.sample), answer)
    return answers


def with_difficulties(scores: Iterable[ModelScore]) -> list[ModelScore]:
    """Return each score, followed by those on its rows of each difficulty if it has several."""
    return [part for score in scores for part in (score, *score.by_difficulty)]


def only_difficulty(scores: Iterable[ModelScore]) -> str:
    """Return words for the difficulty of all rows of these scores; empty if there are several or none."""
    found = {score.difficulty for score in scores}
    return f", {ROWS[found.pop()]}" if len(found) == 1 and "" not in found else ""


def paper_of(instance: str) -> str:
    """Return the paper of a counterfactual or underspecified instance, as far as its name tells."""
    return re.split(f"-(?:{COUNTERFACTUAL}|{UNDERSPECIFIED})-", instance)[0]


def _settled(score: ModelScore) -> dict[str, Any]:
    choices = score.open_choices
    groups = by_truth(choices)
    return {
        **share_dict(score.settled()),
        "chance": round(chance(choices), 4),
        "reciting": round(reciting(choices), 4),
        "corrected": None if (beyond := corrected(choices)) is None else round(beyond, 4),
        "by_truth": {
            "published": share_dict(Share(*groups[True])),
            "other": share_dict(Share(*groups[False])),
        },
    }
