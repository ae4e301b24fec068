"""Ask a model about the answers of a run, each in a question of its own; shared by judging and error analysis.

An answer whose question cannot be built, or whose code is the reference's, is not sent; a question that was paid for
before is read from the cache.
"""

import time
from abc import abstractmethod
from typing import Any, Generic, TypeVar

from lmrbench_data.base.progress import Progress
from lmrbench_data.base.source import MalformedAnswerError
from lmrbench_data.chat.budget import Budget
from lmrbench_data.chat.client import RequestFailed
from lmrbench_data.chat.jobs import JobFailed, JobPass

from .cache import cache_key
from .client import JudgeClient
from .material import TOO_LONG, NotJudgedError
from .question import Question
from .question_log import AnswerId, Judge, QuestionLog, QuestionOutcome
from .settings import JudgeSettings
from .summary import JudgeSummary

#: The label of an answer without a candidate function.
MALFORMED = "malformed"
_Job = TypeVar("_Job")
_Read = TypeVar("_Read")


class AskingPass(JobPass[_Job], Generic[_Job, _Read]):
    """One pass over the questions that are missing in a log."""

    def __init__(
        self,
        settings: JudgeSettings,
        client: JudgeClient[_Read],
        version: str,
        log: QuestionLog,
        progress: Progress | None,
    ) -> None:
        self.settings, self.log, self.model = settings, log, client
        self.judge = Judge(settings.model, version, client.server)
        self.summary: JudgeSummary = JudgeSummary(judge=self.judge)
        super().__init__(client, self.summary, settings.workers, progress)
        self.price = settings.price()
        client.budget = Budget.after(settings.max_cost, self.price, log.spent[self.judge.model])

    @abstractmethod
    def answer(self, job: _Job) -> AnswerId:
        """Return which answer a job is about."""

    @abstractmethod
    async def question(self, job: _Job) -> Question:
        """Return the question.

        Raises:
            MalformedAnswerError: there is no candidate function.
            NotJudgedError: the answer cannot be shown to any model.
        """

    @abstractmethod
    def write(self, job: _Job, outcome: QuestionOutcome[_Read]) -> str:
        """Write down the outcome of a question; return its label."""

    @abstractmethod
    def identical(self) -> QuestionOutcome[_Read]:
        """Return the outcome for an answer whose code is the reference's."""

    def malformed(self) -> QuestionOutcome[_Read] | None:
        """Return the outcome for an answer without a candidate function; None if the log has no row for it."""
        return None

    def vote(self, job: _Job) -> int:
        """Return the number of a question among equal ones."""
        return 0

    @abstractmethod
    def to_cache(self, opinion: _Read) -> dict[str, Any]:
        """Convert an opinion for the cache."""

    @abstractmethod
    def from_cache(self, stored: Any) -> _Read:
        """Read what `to_cache` made.

        Raises:
            ValueError, LookupError, TypeError, AttributeError: it is something else.
        """

    def is_final(self, question: Question) -> bool:
        """Return whether an answer is not asked about again once a server finds the question too long."""
        return True

    def check(self, opinion: _Read, question: Question) -> _Read:
        """Compare an opinion with the material that the model was shown."""
        return opinion

    def run(self) -> None:
        """Ask the missing questions, and sum up the tokens and costs of all in the log."""
        super().run()
        self.summary.spent = self.log.spent[self.judge.model]
        self.summary.cost_usd = self.summary.spent.cost(self.price)

    async def work(self, job: _Job) -> str:
        """Ask one question, unless its outcome is known."""
        answer = self.answer(job)
        if answer in self.summary.malformed:
            return MALFORMED
        try:
            question = await self.question(job)
        except MalformedAnswerError:
            self.summary.malformed.add(answer)
            outcome = self.malformed()
            return self.write(job, outcome) if outcome else MALFORMED
        except NotJudgedError as error:
            self.summary.not_judged[answer] = error.outcome
            return self.write(job, QuestionOutcome(error=str(error), reason=error.outcome))
        except Exception as error:
            failed = JobFailed.because_of(error)
            self.write(job, QuestionOutcome(error=str(failed)))
            raise failed from error
        if question.identical:
            self.summary.identical += 1
            return self.write(job, self.identical())
        key = cache_key(self.judge, self.model.temperature, question.messages, self.vote(job))
        if stored := self._stored(key, question):
            self.summary.cached += 1
            return self.write(job, stored)
        return await self._ask(job, question, key)

    def _stored(self, key: str, question: Question) -> QuestionOutcome[_Read] | None:
        """Return the outcome that another run has paid for."""
        stored = self.settings.cache.read(key)
        try:
            opinion = self.check(self.from_cache(stored), question)
            return QuestionOutcome(opinion, cached=True, asked_at=str(stored["asked_at"]))
        except (ValueError, LookupError, TypeError, AttributeError):
            return None

    async def _ask(self, job: _Job, question: Question, key: str) -> str:
        """Ask, and write down the outcome.

        Raises:
            CostLimit: the budget does not allow another question.
            RequestFailed: there is no opinion.
        """
        started = time.monotonic()
        reply = await self.model.ask(question.messages)
        self.summary.asked += 1
        outcome = QuestionOutcome(
            None if reply.opinion is None else self.check(reply.opinion, question),
            reply.error,
            TOO_LONG if reply.too_long and self.is_final(question) else "",
            tokens=reply.tokens,
            counted=reply.counted,
            cost_usd=self.price.cost(*reply.tokens) if self.price else None,
            temperature=reply.temperature,
            duration_s=time.monotonic() - started,
        )
        label = self.write(job, outcome)
        if outcome.opinion is not None:
            self.answered()
            self.settings.cache.write(key, {**self.to_cache(outcome.opinion), "asked_at": outcome.asked_at})
        elif outcome.reason:
            self.summary.not_judged[self.answer(job)] = outcome.reason
        else:
            raise RequestFailed(reply.error, reached=not reply.hopeless)
        return label
