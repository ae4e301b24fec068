"""Ask a model about answers: build questions, ask until a reply can be read, write outcomes.

An answer that cannot be shown, or whose code is the reference's, is not sent. Judging and error
analysis differ in their `Prompt` and in the type of their log.
"""

import asyncio
import functools
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lmrbench_data.base.jobs import Progress
from lmrbench_data.base.source import MalformedAnswerError
from lmrbench_data.chat.budget import Budget, CostLimitError, Spent
from lmrbench_data.chat.client import FILTERED, ChatClient, Completion, RequestError, cut_problem
from lmrbench_data.chat.finish_reasons import is_token_limit
from lmrbench_data.chat.jobs import JobSummary, do_jobs
from lmrbench_data.chat.refusals import Cause

from ..predictions.prediction import AnswerKey
from ..runs.settings import JudgeSettings
from .judgement_log import BY_COMPARISON, JUDGE_ERROR, NOT_JUDGED, Judge, VoteKey, VoteLog
from .material import TOO_LONG, NotJudgedError
from .opinion import Reply, UnreadableError
from .question import Prompt, Question

#: The label of an answer without a candidate function.
MALFORMED = "malformed"
#: The reason for not asking about code that needs no opinion.
IDENTICAL = "the reference's own code"
#: Maximum number of attempts to get a readable reply to a question.
ATTEMPTS = 3
#: Largest reply in characters; a larger opinion would not fit into a line of the log.
_MAX_REPLY = 1_000_000
#: Characters of an unreadable reply that are shown to its author again.
_MAX_ECHO = 8000


class Vote(NamedTuple):
    """One of the questions about an answer."""

    answer: AnswerKey
    number: int
    build: Callable[[], Question]
    """Builds the question.

    Raises MalformedAnswerError if there is no candidate function, and NotJudgedError if no model
    can be asked."""


@dataclass(kw_only=True)
class JudgeSummary(JobSummary):
    """The outcome of asking about the answers of a run."""

    judge: Judge
    asked: int = 0
    """Questions asked in this call, whether they were answered or not."""
    identical: int = 0
    """Questions that were not asked because the code is the reference's."""
    malformed: set[AnswerKey] = field(default_factory=set)
    """Answers without a candidate function; they are not sent."""
    not_judged: dict[AnswerKey, str] = field(default_factory=dict)
    """Answers that cannot be shown to any model, and why: they count in no category."""
    spent: Spent = field(default_factory=Spent)
    """Tokens and costs of all questions of the run to this model, in earlier calls too."""


class Asking:
    """One pass over the votes that are missing in a log.

    Making one raises InputError without a key or with a malformed address; nothing has been sent.

    Args:
        votes: all votes, those of an answer next to each other.
        progress: receives each vote; its label is that of the reply, or `judge_error`, `not_judged`
            or `malformed`.
    """

    def __init__(
        self,
        settings: JudgeSettings,
        prompt: Prompt,
        votes: Sequence[Vote],
        log: VoteLog,
        progress: Progress | None = None,
    ) -> None:
        self.prompt = prompt
        self.votes = votes
        self.log = log
        self.progress = progress
        self.workers = settings.workers
        self.client = _client(settings, prompt, log.spent[settings.model])
        body = json.dumps(settings.body, sort_keys=True) if settings.body else ""
        self.judge = Judge(settings.model, prompt.version, self.client.server, body)
        self.summary = JudgeSummary(judge=self.judge)
        self._questions: dict[AnswerKey, asyncio.Task[Question]] = {}

    def run(self) -> JudgeSummary:
        """Ask the missing questions, and sum up the tokens and costs of all in the log."""
        missing = [vote for vote in self.votes if not self.log.is_done(self._key(vote))]
        self.summary.kept = len(self.votes) - len(missing)
        jobs = [functools.partial(self._work, vote) for vote in missing]
        do_jobs(jobs, self.client, self.summary, self.workers, self.progress)
        spent = self.summary.spent = self.log.spent[self.judge.model]
        self.summary.cost_usd = None if spent.unknown else spent.cost_usd
        return self.summary

    async def _work(self, job: Vote) -> str:
        """Ask one question, unless no model is needed (identical or malformed)."""
        try:
            question = await self._question(job)
        except MalformedAnswerError:
            self.summary.malformed.add(job.answer)
            return MALFORMED
        except NotJudgedError as error:
            return self._write(job, reason=error.outcome, error=str(error))
        if question.identical:
            return self._write_identical(job)
        return await self._ask(job, question)

    def _write_identical(self, job: Vote) -> str:
        """Write the outcome of an answer with the reference's code."""
        self.summary.identical += 1
        if not self.prompt.identical:
            return self._write(job, reason=IDENTICAL)
        return self._write(job, self.prompt.identical, by=BY_COMPARISON)

    async def _question(self, job: Vote) -> Question:
        """Return the question on an answer, built once for all its votes, which come in a row."""
        if job.answer not in self._questions:
            while len(self._questions) > self.workers:
                del self._questions[next(iter(self._questions))]
            self._questions[job.answer] = asyncio.create_task(asyncio.to_thread(job.build))
        return await self._questions[job.answer]

    async def _ask(self, job: Vote, question: Question) -> str:
        """Ask the model and write the outcome, even if there is no reply."""
        completions: list[Completion] = []
        reply: Reply | None = None
        failure: RequestError | None = None
        started = time.monotonic()
        try:
            reply = await self._read_reply(question, completions)
        except RequestError as error:
            failure = error
        self.summary.asked += 1
        facts = _spent(completions, is_lost=bool(failure and failure.is_billed))
        facts["duration_s"] = round(time.monotonic() - started, 3)
        if failure:
            return self._write_failure(job, question, failure, facts)
        return self._write(job, reply, **facts)

    def _write_failure(
        self, job: Vote, question: Question, failure: RequestError, facts: dict[str, Any]
    ) -> str:
        """Write that a question failed and raise the failure, unless the answer is the cause."""
        facts["error"] = str(failure)
        if failure.cause is Cause.LENGTH and question.is_mostly_candidate:
            return self._write(job, reason=TOO_LONG, **facts)
        self._write(job, **facts)
        raise failure

    async def _read_reply(self, question: Question, completions: list[Completion]) -> Reply:
        """Ask until a reply can be read; `completions` receives each reply."""
        messages = question.messages
        problem = ""
        for _ in range(ATTEMPTS):
            try:
                completion = await self.client.complete(messages)
            except CostLimitError as limit:
                if not completions:
                    raise
                raise RequestError(f"{problem}; {limit}", reached=True) from None
            completions.append(completion)
            problem = completion.problem
            reason = completion.finish_reason
            if len(completion.text) > _MAX_REPLY:
                problem = f"it is longer than {_MAX_REPLY} characters"
            if not problem:
                try:
                    return self.prompt.parse(completion.text, question)
                except UnreadableError as error:
                    problem = cut_problem(reason) if is_token_limit(reason) else str(error)
            if reason == FILTERED or is_token_limit(reason):  # it would end the same way again
                raise RequestError(f"no readable answer: {problem}", reached=reason == FILTERED)
            messages = question.messages
            if completion.text.strip():
                echo = {"role": "assistant", "content": completion.text[:_MAX_ECHO]}
                repair = {"role": "user", "content": self.prompt.repair(problem)}
                messages = [*messages, echo, repair]
        raise RequestError(f"no readable answer in {ATTEMPTS} attempts: {problem}", reached=False)

    def _write(self, job: Vote, reply: Reply | None = None, **facts: Any) -> str:
        """Write an outcome; return its label."""
        self.log.add(self._key(job), reply, **facts)
        if reply:
            return reply.label
        if reason := facts.get("reason"):
            self.summary.not_judged[job.answer] = reason
            return NOT_JUDGED
        return JUDGE_ERROR

    def _key(self, job: Vote) -> VoteKey:
        return VoteKey(job.answer, self.judge, job.number)


def _client(settings: JudgeSettings, prompt: Prompt, spent: Spent) -> ChatClient:
    """Return a client that asks for replies of the prompt's form, within the budget."""
    schema = {"name": prompt.name, "strict": True, "schema": prompt.schema}
    form = {"type": "json_schema", "json_schema": schema}
    client = ChatClient(settings, prompt.temperature, form)
    client.budget = Budget(settings.max_cost, settings.price(), spent.cost_usd, spent.unknown)
    return client


def _spent(completions: Sequence[Completion], is_lost: bool) -> dict[str, Any]:
    """Return what replies cost, as a row has it; another one may have been lost and billed."""
    tokens = [completion.tokens for completion in completions if completion.tokens]
    notes = [completion.cut_by_server for completion in completions if completion.cut_by_server]
    return {
        "temperature": completions[-1].temperature if completions else None,
        "input_tokens": sum(item.question for item in tokens),
        "output_tokens": sum(item.answer for item in tokens),
        "counted": len(tokens) == len(completions) and not is_lost,
        "cost_usd": None if is_lost else _cost(completions),
        "cut_by_server": notes[0] if notes else "",
    }


def _cost(completions: Sequence[Completion]) -> float | None:
    """Return what replies cost together; None if one of them does not say."""
    costs = [completion.cost_usd for completion in completions]
    return None if None in costs else sum(filter(None, costs))
