"""Judge the answers of a run: plan the votes, ask in parallel, write each judgement at once, resume a stopped one.

Nothing but a judgement counts: an answer that could not be judged stays unjudged, is tried again by the same command,
and is never a category.
"""

import asyncio
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...chat.loop import run_to_end, share_out
from ...chat.prices import Price
from ...errors import ArgumentError, InputError, LMRBenchError
from ...loader import dataset_sha256, load_rows
from ...progress import Progress
from ...rows import DatasetRow
from ...text import error_line
from ..extract import MalformedAnswer
from ..predictions import PredictionFile
from ..runs.results import read_facts
from ..runs.standing import is_imported
from .cache import cache_key
from .category import Category
from .client import JUDGEMENT, TEMPERATURE, JudgeClient
from .limits import Limits
from .parse import Opinion
from .prompt import TOO_LONG, NotJudged, Question, build_question, prompt_version
from .settings import JudgeSettings, JudgeSummary
from .store import (
    BY_COMPARISON,
    JUDGE_ERROR,
    JUDGED,
    NOT_JUDGED,
    AnswerId,
    Judge,
    JudgementFile,
    Vote,
    VoteKey,
)

#: On an answer with the reference's code.
_IDENTICAL = Opinion(
    Category.CC,
    "The reference's.",
    "The reference's.",
    ("The goal file has the syntax tree of the reference's.", "No other file of the repository was changed."),
)

_log = logging.getLogger(__name__)


def judge(
    settings: JudgeSettings, progress: Progress | None = None, rows: Sequence[DatasetRow] | None = None
) -> JudgeSummary:
    """Judge the predictions of a run folder and fill its judgements.jsonl.

    Args:
        progress: told of each vote; the label is a category, `judge_error`, `not_judged` or `malformed`.
        rows: those of the run's dataset, if they are at hand.

    Raises:
        InputError: no run, another dataset, prices without the model, or a key or model that the server does not know.
        InfraError: nothing answers at the address, or the account of the judge has no credit left.
        KeyboardInterrupt: judgements had so far are kept.
    """
    price = settings.price()
    client = JudgeClient(settings.endpoint, JUDGEMENT)
    of_run = _rows_of_run(settings, read_facts(settings.run), rows)
    return _judge(settings, client, price, of_run, progress)


def judge_predictions(
    settings: JudgeSettings, rows: Sequence[DatasetRow], progress: Progress | None = None
) -> JudgeSummary:
    """The same for a folder that holds predictions.jsonl and is no run: nobody has evaluated them.

    Args:
        rows: of their instances.

    Raises:
        InputError, InfraError, KeyboardInterrupt: as `judge`.
    """
    by_id = {row["instance_id"]: row for row in rows}
    return _judge(settings, JudgeClient(settings.endpoint, JUDGEMENT), settings.price(), by_id, progress)


def _judge(
    settings: JudgeSettings,
    client: JudgeClient[Opinion],
    price: Price | None,
    rows: Mapping[str, DatasetRow],
    progress: Progress | None,
) -> JudgeSummary:
    with JudgementFile.open(settings.run) as file:
        judging = _Judging(settings, client, price, rows, file, progress or Progress())
        jobs = list(judging.plan())
        judging.progress.start(len(jobs))
        run_to_end(judging.run(jobs))
        summary = judging.summary
        summary.spent = file.spent[settings.endpoint.model]
        summary.cost_usd = summary.spent.cost(price)
    if client.refused:
        _log.info("%s: the server does not accept %s", settings.endpoint.model, client.refused)
    return summary


def _predictions(settings: JudgeSettings) -> PredictionFile:
    file = PredictionFile(settings.run / "predictions.jsonl")
    if not file.path.is_file():
        raise InputError(f"{settings.run}: no predictions.jsonl; evaluate again to have it")
    return file


def _rows_of_run(
    settings: JudgeSettings, facts: Mapping[str, Any], rows: Sequence[DatasetRow] | None
) -> dict[str, DatasetRow]:
    if is_imported(facts):
        raise InputError(f"{settings.run}: an imported run has no answers that could be judged")
    spec = settings.dataset or facts["dataset"]
    rows = rows if rows is not None else load_rows(spec)
    if dataset_sha256(rows) != facts["dataset_sha256"]:
        raise ArgumentError(
            "dataset", f"{settings.run} was evaluated on other rows than {spec!r} has; name the one it was on"
        )
    if unknown := [name for name in settings.instances if name not in facts["scope"]]:
        raise ArgumentError("instances", f"{unknown[0]!r} is not in this run")
    return {row["instance_id"]: row for row in rows}


@dataclass(frozen=True)
class _Job:
    """A vote that is missing."""

    key: VoteKey
    position: int
    """Where a row with this answer starts in predictions.jsonl."""


class _Judging:
    """One pass over the votes that are missing."""

    def __init__(
        self,
        settings: JudgeSettings,
        client: JudgeClient[Opinion],
        price: Price | None,
        rows: Mapping[str, DatasetRow],
        file: JudgementFile,
        progress: Progress,
    ) -> None:
        self.settings, self.client, self.price, self.rows = settings, client, price, rows
        self.file, self.progress = file, progress
        self.judge = Judge(settings.endpoint.model, prompt_version(), client.server)
        self.summary = JudgeSummary(self.judge)
        self._predictions = _predictions(settings)
        self._limits = Limits(self.summary, settings.max_cost, price, file.spent[self.judge.model])

    def plan(self) -> Iterator[_Job]:
        """The votes that are missing, each answer once."""
        predictions = self._predictions
        seen: set[AnswerId] = set()
        for position, prediction in zip(_line_starts(predictions.path), predictions, strict=True):
            answer = prediction.answer
            if answer in seen or (self.settings.instances and prediction.instance_id not in self.settings.instances):
                continue
            seen.add(answer)
            for vote in range(self.settings.votes):
                key = VoteKey(answer, self.judge, vote)
                if self.file.statuses.get(key) in (JUDGED, NOT_JUDGED):
                    self.summary.kept += 1
                else:
                    yield _Job(key, position)

    async def run(self, jobs: Sequence[_Job]) -> None:
        """Have the votes; whatever ends this early, nothing is left under way."""
        async with self.client:
            await share_out(jobs, self.settings.workers, self._work)

    async def _work(self, queue: Iterator[_Job]) -> None:
        for job in queue:
            if self.summary.stopped:
                return
            if outcome := await self._vote(job):
                self.progress.step(outcome)

    async def _vote(self, job: _Job) -> str:
        """What a vote came to; empty if it was not to be had within the limit of costs."""
        if job.key.answer in self.summary.malformed:
            return "malformed"
        try:
            question = await asyncio.to_thread(self._question, job)
        except MalformedAnswer:
            self.summary.malformed.add(job.key.answer)
            return "malformed"
        except NotJudged as error:
            self.summary.not_judged[job.key.answer] = error.outcome
            self.file.append(job.key, Vote(error=str(error), reason=error.outcome, cost_usd=0.0))
            return NOT_JUDGED
        except LMRBenchError:
            raise
        except OSError as error:  # patches are applied on this machine's disk
            return self._failed(job, f"cannot rebuild: {error}")
        except Exception as error:
            detail = f"{type(error).__name__}: {error_line(error)}"
            return self._failed(job, f"a bug in lmrbench, please report it: {detail}")
        if question.identical:
            self.summary.identical += 1
            self.file.append(job.key, Vote(_IDENTICAL, by=BY_COMPARISON, cost_usd=0.0))
            return str(Category.CC)
        key = cache_key(self.judge, TEMPERATURE, question.messages, job.key.vote)
        if stored := self.settings.cache.get(key):
            self.summary.cached += 1
            self.file.append(job.key, Vote(stored[0], cost_usd=0.0, judged_at=stored[1], cached=True))
            return str(stored[0].category)
        async with self._limits.turn():
            return await self._ask(job, key, question)

    async def _ask(self, job: _Job, key: str, question: Question) -> str:
        """Ask for a vote, unless there is a reason to stop, and write down what came of it."""
        if self._limits.reached():
            return ""
        started = time.monotonic()
        asked = await self.client.ask(question.messages)
        self.summary.asked += 1
        reason = TOO_LONG if asked.too_long and question.is_mostly_candidate else ""
        vote = Vote(
            asked.opinion,
            asked.error,
            reason,
            tokens=asked.tokens,
            counted=asked.counted,
            cost_usd=self.price.cost(*asked.tokens) if self.price else None,
            temperature=asked.temperature,
            duration_s=time.monotonic() - started,
        )
        self.file.append(job.key, vote)
        if reason:
            self.summary.not_judged[job.key.answer] = reason
            return NOT_JUDGED
        self._limits.learn(asked)
        if asked.opinion is None:
            return self._missing(asked.error)
        self.settings.cache.put(key, asked.opinion, vote.judged_at)
        return str(asked.opinion.category)

    def _failed(self, job: _Job, reason: str) -> str:
        """A vote for which nobody could be asked."""
        self.file.append(job.key, Vote(error=reason, cost_usd=0.0))
        return self._missing(reason)

    def _missing(self, reason: str) -> str:
        self.summary.errors += 1
        self.summary.first_error = self.summary.first_error or reason
        return JUDGE_ERROR

    def _question(self, job: _Job) -> Question:
        prediction = self._predictions.read(job.position)
        if prediction.answer != job.key.answer:
            raise InputError(f"{self.settings.run}: the predictions changed meanwhile; judge again")
        return build_question(self.rows[prediction.instance_id], prediction)


def _line_starts(path: Path) -> Iterator[int]:
    """The byte at which each line of a file starts."""
    start = 0
    with path.open("rb") as file:
        for line in file:
            yield start
            start += len(line)
