"""Ask a model why the failed answers of a run fail: in parallel, written one by one, resumed after a stop."""

import asyncio
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...chat.loop import run_to_end, share_out
from ...errors import ArgumentError, InputError, LMRBenchError
from ...evaluate.extract import MalformedAnswer
from ...evaluate.judge.cache import cache_key
from ...evaluate.judge.client import JudgeClient
from ...evaluate.judge.limits import Limits
from ...evaluate.judge.prompt import TOO_LONG, NotJudged
from ...evaluate.judge.settings import JudgeSettings, JudgeSummary
from ...evaluate.judge.store import AnswerId, Judge, answer_id
from ...evaluate.levels import headline, outcome, reaches
from ...evaluate.predictions import Prediction, PredictionFile
from ...evaluate.runs.results import read_facts, read_results
from ...evaluate.verdict import Status
from ...loader import dataset_sha256, load_rows
from ...progress import Progress
from ...rows import DatasetRow, ResultRow
from ...text import error_line
from .prompt import DIAGNOSIS, Diagnosis, Question, build_question, prompt_version
from .store import DIAGNOSED, NOT_ASKED, ErrorFile, Outcome, as_rows, from_rows

#: One question an answer, so it is asked as reproducibly as the server can.
TEMPERATURE = 0.0
MALFORMED, IDENTICAL = "malformed", "the reference's own code"
_log = logging.getLogger(__name__)


def has_failed(result: ResultRow) -> bool:
    """Whether an answer failed by the level that leads its track; what the machinery failed on did not."""
    found = outcome(result["status"], result["core_status"])
    return found != Status.INFRA_ERROR and not reaches(found, headline(result["track"]))


class Failed(NamedTuple):
    """A failed answer; equal ones to the same question are one."""

    result: ResultRow
    prediction: Prediction


def failed_answers(settings: JudgeSettings) -> list[Failed]:
    """The failed answers of a run.

    Raises:
        InputError: no run folder, a damaged one, or one without predictions.
    """
    file = PredictionFile(settings.run / "predictions.jsonl")
    results = {answer_id(row): row for row in read_results(settings.run) if has_failed(row)}
    if not file.path.is_file():
        raise InputError(f"{settings.run}: no predictions.jsonl; evaluate again to have it")
    found: dict[AnswerId, Failed] = {}
    for prediction in file:
        wanted = not settings.instances or prediction.instance_id in settings.instances
        if wanted and prediction.answer in results:
            found.setdefault(prediction.answer, Failed(results[prediction.answer], prediction))
    return list(found.values())


def ask_why(settings: JudgeSettings, progress: Progress | None = None) -> JudgeSummary:
    """Ask about each failed answer that has no diagnosis yet, and fill the run's errors.jsonl.

    Args:
        settings: those of judging; `votes` does not matter, each answer is asked about once.
        progress: told of each answer; the label is its primary class, `error` or `not asked`.

    Raises:
        InputError: no run, another dataset, prices without the model, or a key or model that the server does not know.
        InfraError: nothing answers at the address, or the account has no credit left.
        KeyboardInterrupt: diagnoses had so far are kept.
    """
    facts, price = read_facts(settings.run), settings.price()
    client = JudgeClient(settings.endpoint, DIAGNOSIS, TEMPERATURE)
    spec = settings.dataset or facts["dataset"]
    rows = load_rows(spec)
    if dataset_sha256(rows) != facts["dataset_sha256"]:
        problem = f"{settings.run} was evaluated on other rows than {spec!r} has; name the one it was on"
        raise ArgumentError("dataset", problem)
    if unknown := [name for name in settings.instances if name not in facts["scope"]]:
        raise ArgumentError("instances", f"{unknown[0]!r} is not in this run")
    with ErrorFile.open(settings.run) as file:
        by_id = {row["instance_id"]: row for row in rows}
        asking = _Asking(settings, client, by_id, file, progress or Progress())
        jobs = list(asking.plan())
        asking.progress.start(len(jobs))
        run_to_end(asking.run(jobs))
        summary = asking.summary
        summary.spent = file.spent[settings.endpoint.model]
        summary.cost_usd = summary.spent.cost(price)
    if client.refused:
        _log.info("%s: the server does not accept %s", settings.endpoint.model, client.refused)
    return summary


@dataclass
class _Asking:
    """One pass over the answers without a diagnosis."""

    settings: JudgeSettings
    client: JudgeClient[Diagnosis]
    rows: Mapping[str, DatasetRow]
    file: ErrorFile
    progress: Progress

    def __post_init__(self) -> None:
        endpoint = self.settings.endpoint
        self.asked = Judge(endpoint.model, prompt_version(), self.client.server)
        self.summary = JudgeSummary(self.asked)
        self.price = self.settings.price()
        spent, nouns = self.file.spent[endpoint.model], ("diagnosis", "diagnoses")
        self._limits = Limits(self.summary, self.settings.max_cost, self.price, spent, nouns)

    def plan(self) -> Iterator[Failed]:
        """The answers that nobody was asked about yet."""
        for failed in failed_answers(self.settings):
            if self.file.statuses.get((failed.prediction.answer, self.asked)) in (DIAGNOSED, NOT_ASKED):
                self.summary.kept += 1
            else:
                yield failed

    async def run(self, jobs: Sequence[Failed]) -> None:
        """Have the diagnoses."""
        async with self.client:
            await share_out(jobs, self.settings.workers, self._work)

    async def _work(self, queue: Iterator[Failed]) -> None:
        for failed in queue:
            if self.summary.stopped:
                return
            if label := await self._diagnose(failed):
                self.progress.step(label)

    async def _diagnose(self, failed: Failed) -> str:
        """What an answer came to; empty if it was not to be had within the limit of costs."""
        answer = failed.prediction.answer
        try:
            row = self.rows[failed.prediction.instance_id]
            question = await asyncio.to_thread(build_question, row, failed.prediction, failed.result)
        except MalformedAnswer:
            self.summary.malformed.add(answer)
            return self._write(answer, Outcome(reason=MALFORMED))
        except NotJudged as error:
            self.summary.not_judged[answer] = error.outcome
            return self._write(answer, Outcome(error=str(error), reason=error.outcome))
        except LMRBenchError:
            raise
        except OSError as error:
            return self._write(answer, Outcome(error=f"cannot rebuild: {error}"))
        except Exception as error:
            detail = f"a bug in lmrbench, please report it: {type(error).__name__}: {error_line(error)}"
            return self._write(answer, Outcome(error=detail))
        if question.identical:
            return self._write(answer, Outcome(reason=IDENTICAL))
        key = cache_key(self.asked, TEMPERATURE, question.messages, 0)
        if stored := self._stored(key, question):
            self.summary.cached += 1
            return self._write(answer, stored)
        async with self._limits.turn():
            if self._limits.reached():
                return ""
            started = time.monotonic()
            reply = await self.client.ask(question.messages)
            self.summary.asked += 1
            found = _found(question, reply.opinion)
            made = Outcome(
                reply.opinion,
                found,
                reply.error,
                TOO_LONG if reply.too_long else "",
                tokens=reply.tokens,
                counted=reply.counted,
                cost_usd=self.price.cost(*reply.tokens) if self.price else None,
                temperature=reply.temperature,
                duration_s=time.monotonic() - started,
            )
            if made.reason:
                self.summary.not_judged[answer] = made.reason
            label = self._write(answer, made)
            self._limits.learn(reply)
        if reply.opinion:
            kept = {"primary": reply.opinion.classes.primary, "errors": as_rows(reply.opinion, found)}
            self.settings.cache.write(key, {**kept, "asked_at": made.asked_at})
        return label

    def _stored(self, key: str, question: Question) -> Outcome | None:
        """What another run has paid for."""
        kept = self.settings.cache.read(key)
        try:
            diagnosis, _ = from_rows(kept["primary"], kept["errors"])
            return Outcome(diagnosis, _found(question, diagnosis), cached=True, asked_at=str(kept["asked_at"]))
        except (ValueError, LookupError, TypeError, AttributeError):
            return None

    def _write(self, answer: AnswerId, made: Outcome) -> str:
        self.file.append(answer, self.asked, made)
        if made.diagnosis:
            return str(made.diagnosis.classes.primary)
        if made.reason:
            return "not asked"
        self.summary.errors += 1
        self.summary.first_error = self.summary.first_error or made.error
        return "error"


def _found(question: Question, diagnosis: Diagnosis | None) -> tuple[bool, ...]:
    return tuple(question.holds(item.quote) for item in diagnosis.evidence) if diagnosis else ()
