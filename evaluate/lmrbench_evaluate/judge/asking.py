"""Ask a model about answers: build each question, ask until a reply can be read, write every outcome at once.

An answer that cannot be shown, or whose code is the reference's, is not sent; a question that was paid for before is
read from the cache. Judging and error analysis differ in their `Prompt` and in the type of their log.
"""

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from lmrbench_data.base.errors import LMRBenchError
from lmrbench_data.base.files import write_atomically
from lmrbench_data.base.paths import cache_folder
from lmrbench_data.base.progress import Progress
from lmrbench_data.base.source import MalformedAnswerError
from lmrbench_data.base.text import error_line
from lmrbench_data.chat.budget import Budget, CostLimit, Spent, Tokens
from lmrbench_data.chat.client import CUT, ChatClient, Message, RequestFailed
from lmrbench_data.chat.endpoint import Endpoint
from lmrbench_data.chat.jobs import JobPass, JobSummary

from ..predictions.prediction import AnswerKey
from ..runs.settings import JudgeSettings
from .judgement_log import BY_COMPARISON, JUDGE_ERROR, NOT_JUDGED, Judge, VoteKey, VoteLog
from .material import TOO_LONG, NotJudgedError
from .opinion import Reply, Unreadable
from .question import Question

#: The label of an answer without a candidate function.
MALFORMED = "malformed"
#: The reason for not asking about code that needs no opinion.
IDENTICAL = "the reference's own code"
#: Maximum number of attempts to get a readable reply to a question.
ATTEMPTS = 3
#: Characters of an unreadable reply that are shown to its author again.
_MAX_ECHO = 8000


@dataclass(frozen=True)
class Prompt:
    """A kind of question about an answer, and how its replies are read."""

    name: str
    version: str
    schema: Mapping[str, Any]
    parse: Callable[[str, Question], Reply]
    """Raises Unreadable."""
    repair: Callable[[str], Message]
    """Returns the message for a model whose reply could not be read, given the reason."""
    temperature: float
    identical: Reply | None = None
    """The reply about an answer whose code is the reference's; None if there is nothing to say about it."""

    def client(self, endpoint: Endpoint) -> ChatClient:
        """Return a connection to a model that replies in this form.

        Raises:
            InputError: no key, or a malformed address; nothing has been sent.
        """
        return ChatClient(endpoint, temperature=self.temperature, schema=self.schema, schema_name=self.name)


class Vote(NamedTuple):
    """One of the questions about an answer."""

    answer: AnswerKey
    number: int
    build: Callable[[], Question]
    """Builds the question.

    Raises MalformedAnswerError if there is no candidate function, and NotJudgedError if no model can be asked."""


@dataclass(kw_only=True)
class JudgeSummary(JobSummary):
    """The outcome of asking about the answers of a run."""

    judge: Judge
    asked: int = 0
    """Questions asked in this call, whether they were answered or not."""
    cached: int = 0
    """Questions that another run had paid for."""
    identical: int = 0
    """Questions that were not asked because the code is the reference's."""
    malformed: set[AnswerKey] = field(default_factory=set)
    """Answers without a candidate function; they are not sent."""
    not_judged: dict[AnswerKey, str] = field(default_factory=dict)
    """Answers that cannot be shown to any model, and why: they count in no category."""
    spent: Spent = field(default_factory=Spent)
    """Tokens and costs of all questions of the run to this model, those of earlier calls included."""


@dataclass
class Asked:
    """The outcome of one question: a reply, or the reason why there is none."""

    reply: Reply | None = None
    error: str = ""
    tokens: Tokens = (0, 0)
    """Tokens of questions and of replies, all attempts together."""
    counted: bool = True
    """False if the server did not report the tokens of a reply."""
    temperature: float | None = None
    """None if the server's own was used."""
    is_hopeless: bool = False
    """True if other questions will probably fail as well: the server does not answer, or its replies are unreadable."""
    too_long: bool = False
    """True if the server finds the question too long."""


async def ask(client: ChatClient, prompt: Prompt, question: Question) -> Asked:
    """Ask a model; if its reply cannot be read, say why and ask again.

    Raises:
        CostLimit: the budget does not allow even a first attempt.
        InputError: the server does not know the key, the model or the address: no further question makes sense.
        InfraError: nothing answers at the address, or the account has no credit left.
    """
    asked, messages, problem = Asked(), question.messages, ""
    for attempt in range(ATTEMPTS):
        try:
            completion = await client.complete(messages)
        except CostLimit as limit:
            if not attempt:
                raise
            asked.error = f"{problem}; {limit}"
            return asked
        except RequestFailed as error:
            asked.error, asked.is_hopeless, asked.too_long = str(error), not error.reached, error.too_long
            return asked
        used = completion.tokens or (0, 0)
        asked.tokens = asked.tokens[0] + used[0], asked.tokens[1] + used[1]
        asked.counted = asked.counted and completion.tokens is not None
        asked.temperature = completion.temperature
        problem = completion.problem
        if not problem:
            try:
                asked.reply = prompt.parse(completion.text, question)
            except Unreadable as error:
                problem = CUT if completion.finish_reason == "length" else str(error)
            else:
                return asked
        echo = {"role": "assistant", "content": completion.text[:_MAX_ECHO]}
        messages = question.messages
        if completion.text.strip():
            messages = [*messages, echo, prompt.repair(problem)]
    asked.error, asked.is_hopeless = f"no readable answer in {ATTEMPTS} attempts: {problem}", True
    return asked


class Asking(JobPass[Vote]):
    """One pass over the votes that are missing in a log.

    Args:
        client: made by `prompt.client`.
        votes: all votes, those of an answer next to each other.
        progress: receives each vote; its label is that of the reply, or `judge_error`, `not_judged` or `malformed`.
    """

    FAILED = JUDGE_ERROR
    summary: JudgeSummary

    def __init__(
        self,
        settings: JudgeSettings,
        prompt: Prompt,
        client: ChatClient,
        votes: Sequence[Vote],
        log: VoteLog,
        progress: Progress | None = None,
    ) -> None:
        self.prompt, self.votes, self.log = prompt, votes, log
        self.judge = Judge(settings.model, prompt.version, client.server)
        super().__init__(client, JudgeSummary(judge=self.judge), settings.workers, progress)
        self.price = settings.price()
        spent = log.spent[settings.model]
        client.budget = Budget(settings.max_cost, self.price, spent.cost_usd, spent.unknown)
        self._cache = None if settings.no_cache else cache_folder() / "judgements"
        self._questions: dict[AnswerKey, asyncio.Task[Question]] = {}

    def run(self) -> None:
        """Ask the missing questions, and sum up the tokens and costs of all in the log."""
        super().run()
        spent = self.summary.spent = self.log.spent[self.judge.model]
        self.summary.cost_usd = None if spent.unknown else spent.cost_usd

    def plan(self) -> list[Vote]:
        """Return the missing votes."""
        missing = [vote for vote in self.votes if not self.log.is_done(self._key(vote))]
        self.summary.kept = len(self.votes) - len(missing)
        return missing

    async def work(self, job: Vote) -> str:
        """Ask one question, unless its outcome is certain.

        Raises:
            CostLimit: the budget does not allow another question.
            RequestFailed: there is no reply.
        """
        try:
            question = await self._question(job)
        except MalformedAnswerError:
            self.summary.malformed.add(job.answer)
            return MALFORMED
        except NotJudgedError as error:
            return self._write(job, reason=error.outcome, error=str(error))
        except LMRBenchError:
            raise
        except Exception as error:  # as of a full disk
            problem = f"the question cannot be built ({type(error).__name__}: {error_line(error)})"
            self._write(job, error=problem)
            raise RequestFailed(problem, reached=True) from error
        if question.identical:
            self.summary.identical += 1
            if not self.prompt.identical:
                return self._write(job, reason=IDENTICAL)
            return self._write(job, self.prompt.identical, by=BY_COMPARISON)
        if stored := self._stored(job, question):
            self.summary.cached += 1
            return self._write(job, stored, cached=True)
        return await self._ask(job, question)

    async def _question(self, job: Vote) -> Question:
        """Return the question on an answer, built once for all its votes, which follow each other in the queue."""
        if job.answer not in self._questions:
            while len(self._questions) > self.workers:
                del self._questions[next(iter(self._questions))]
            self._questions[job.answer] = asyncio.create_task(asyncio.to_thread(job.build))
        return await self._questions[job.answer]

    async def _ask(self, job: Vote, question: Question) -> str:
        started = time.monotonic()
        asked = await ask(self.client, self.prompt, question)
        self.summary.asked += 1
        facts = {
            "error": asked.error,
            "reason": TOO_LONG if asked.too_long and question.is_mostly_candidate else "",
            "temperature": asked.temperature,
            "input_tokens": asked.tokens[0],
            "output_tokens": asked.tokens[1],
            "counted": asked.counted,
            "cost_usd": self.price.cost(asked.tokens) if self.price and asked.counted else None,
            "duration_s": round(time.monotonic() - started, 3),
        }
        label = self._write(job, asked.reply, **facts)
        if asked.reply:
            if path := self._cached_file(job, question):
                write_atomically(path, asked.reply.model_dump_json(by_alias=True))
        elif not facts["reason"]:
            raise RequestFailed(asked.error, reached=not asked.is_hopeless)
        return label

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

    def _stored(self, job: Vote, question: Question) -> Reply | None:
        """Return the reply that another run has paid for; never a failure to get one."""
        path = self._cached_file(job, question)
        try:
            return self.log.OPINION.model_validate_json(path.read_bytes()) if path else None
        except (OSError, ValueError):
            return None

    def _cached_file(self, job: Vote, question: Question) -> Path | None:
        """Return the file for a question; two servers may call different models by one name."""
        if self._cache is None:
            return None
        content = json.dumps([*self.judge, self.prompt.temperature, question.messages, job.number])
        key = hashlib.sha256(content.encode("ascii")).hexdigest()
        return self._cache / key[:2] / f"{key}.json"
