"""Judge the answers of a run: plan the votes, ask in parallel, write each judgement at once, resume a stopped pass.

Only a judgement counts: an answer that could not be judged stays unjudged, is tried again by the same command,
and is never a category.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lmrbench_data.base.errors import ArgumentError, InputError
from lmrbench_data.base.near import did_you_mean
from lmrbench_data.base.progress import Progress
from lmrbench_data.dataset.rows import DatasetRow, config_of

from ..runs.folder import RunFolder
from .asking import AskingPass
from .category import Category
from .client import JUDGEMENT, JudgeClient
from .judgement_log import FILE, JUDGE_ERROR, NOT_JUDGED, JudgementLog, VoteKey
from .parse import Opinion
from .question import Question, build_question, prompt_version
from .question_log import BY_COMPARISON, AnswerId, QuestionOutcome
from .settings import JudgeSettings
from .summary import JudgeSummary

#: The judgement of an answer with the reference's code.
_IDENTICAL = Opinion(
    Category.CC,
    "The reference's.",
    "The reference's.",
    ("Each goal file has the syntax tree of the reference's.", "No other file of the repository was changed."),
)


def judge(
    settings: JudgeSettings, progress: Progress | None = None, rows: Sequence[DatasetRow] | None = None
) -> JudgeSummary:
    """Judge the predictions of a run folder and fill its judgements.jsonl.

    Args:
        progress: receives each vote; the label is a category, `judge_error`, `not_judged` or `malformed`.
        rows: the rows of the run's dataset, if loaded already.

    Raises:
        InputError: no run, another dataset, prices without the model, or a key or model that the server does not know.
        InfraError: nothing answers at the address, or the account of the judge has no credit left.
        KeyboardInterrupt: judgements so far are kept.
    """
    settings.price()
    client = JudgeClient(settings, JUDGEMENT)
    return _judge(settings, client, _rows_of_run(settings, rows), progress)


def judge_predictions(
    settings: JudgeSettings, rows: Sequence[DatasetRow], progress: Progress | None = None
) -> JudgeSummary:
    """Judge the predictions of a folder that is not a run: nobody has evaluated them.

    Args:
        rows: the dataset rows of their instances.

    Raises:
        InputError, InfraError, KeyboardInterrupt: as `judge`.
    """
    by_id = {row["instance_id"]: row for row in rows}
    return _judge(settings, JudgeClient(settings, JUDGEMENT), by_id, progress)


def _judge(
    settings: JudgeSettings, client: JudgeClient[Opinion], rows: Mapping[str, DatasetRow], progress: Progress | None
) -> JudgeSummary:
    with JudgementLog.open(settings.run / FILE) as log:
        judging = _Judging(settings, client, rows, log, progress)
        judging.run()
        return judging.summary


def _rows_of_run(settings: JudgeSettings, rows: Sequence[DatasetRow] | None) -> dict[str, DatasetRow]:
    run = RunFolder(settings.run)
    scope = run.facts["scope"]
    run.needed_predictions()
    found = run.dataset_rows(settings.dataset, rows)
    if unknown := [name for name in settings.instances if name not in scope]:
        raise ArgumentError("instances", f"{unknown[0]!r} is not in this run{did_you_mean(unknown[0], scope)}")
    return found


@dataclass(frozen=True)
class _Job:
    """A vote that is missing."""

    key: VoteKey
    position: int
    """The offset of a row with this answer in predictions.jsonl."""


class _Judging(AskingPass[_Job, Opinion]):
    """One pass over the votes that are missing."""

    FAILED = JUDGE_ERROR

    def __init__(
        self,
        settings: JudgeSettings,
        client: JudgeClient[Opinion],
        rows: Mapping[str, DatasetRow],
        log: JudgementLog,
        progress: Progress | None,
    ) -> None:
        configs = {config_of(row) for row in rows.values()}
        if len(configs) != 1:
            raise InputError(f"{settings.run}: methods and single functions are judged apart")
        super().__init__(settings, client, prompt_version(*configs), log, progress)
        self.votes, self.rows = log, rows
        self._predictions = RunFolder(settings.run).needed_predictions()
        self._questions: dict[AnswerId, asyncio.Task[Question]] = {}

    async def plan(self) -> list[_Job]:
        """Return the votes that are missing, each answer once."""
        jobs = []
        seen: set[AnswerId] = set()
        for position, prediction in self._predictions.placed():
            answer = prediction.answer
            if answer in seen or (self.settings.instances and prediction.instance_id not in self.settings.instances):
                continue
            seen.add(answer)
            for vote in range(self.settings.votes):
                key = VoteKey(answer, self.judge, vote)
                if self.log.is_done(key):
                    self.summary.kept += 1
                else:
                    jobs.append(_Job(key, position))
        return jobs

    def answer(self, job: _Job) -> AnswerId:
        """Return which answer a vote is about."""
        return job.key.answer

    def vote(self, job: _Job) -> int:
        """Return the number of a vote."""
        return job.key.vote

    async def question(self, job: _Job) -> Question:
        """Return the question on an answer, built once for all its votes, which follow each other in the queue."""
        if job.key.answer not in self._questions:
            while len(self._questions) > self.settings.workers:
                del self._questions[next(iter(self._questions))]
            building = asyncio.to_thread(self._build_question, job)
            self._questions[job.key.answer] = asyncio.create_task(building)
        return await self._questions[job.key.answer]

    def _build_question(self, job: _Job) -> Question:
        prediction = self._predictions.read(job.position)
        if prediction.answer != job.key.answer:
            raise InputError(f"{self.settings.run}: the predictions have changed meanwhile; judge again")
        return build_question(self.rows[prediction.instance_id], prediction)

    def write(self, job: _Job, outcome: QuestionOutcome[Opinion]) -> str:
        """Write down a vote; return its category, or its status if it has none."""
        self.votes.append(job.key, outcome)
        if outcome.opinion:
            return str(outcome.opinion.category)
        return NOT_JUDGED if outcome.reason else JUDGE_ERROR

    def identical(self) -> QuestionOutcome[Opinion]:
        """Return the vote for an answer whose code is the reference's."""
        return QuestionOutcome(_IDENTICAL, by=BY_COMPARISON)

    def is_final(self, question: Question) -> bool:
        """Return whether the candidate's code makes a question too long."""
        return question.is_mostly_candidate

    def to_cache(self, opinion: Opinion) -> dict[str, Any]:
        """Convert an opinion for the cache."""
        return asdict(opinion)

    def from_cache(self, stored: Any) -> Opinion:
        """Read what `to_cache` made."""
        points = tuple(str(point) for point in stored["rationale"])
        texts = str(stored["algorithm"]), str(stored["implementation"])
        return Opinion(Category(stored["category"]), *texts, points)
