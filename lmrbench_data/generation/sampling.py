"""Sample answers: ask a model about each instance, once or several times, and write a prediction for each answer.

A refusal, an empty or a cut answer is an answer: it gets a row, which is malformed if nothing in it can be used. A
request that the server did not answer gets no row; the next call tries it again.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..base.child_calls import MAX_IDLE, call_on_answer
from ..base.progress import Progress
from ..base.source import MalformedAnswerError
from ..base.text import one_line
from ..base.times import now
from ..chat.client import ChatClient, RequestFailed
from ..chat.completion import Completion
from ..chat.jobs import JobPass
from ..chat.prices import Price
from ..dataset.rows import DatasetRow, check_contracts, choose_rows, config_of, goals_of, is_method
from .answer_log import AnswerLog, AnswerSummary, model_name
from .paper_texts import paper_text
from .prompt import Prompt, build_prompt, prompt_version, shorter
from .settings import SamplingSettings
from .tolerance import missing_functions, tolerated


@dataclass
class SamplingSummary(AnswerSummary):
    """The outcome of sampling."""

    asked: int = 0
    """Answers that the server gave in this call."""
    unusable: int = 0
    """Rows without a function in them: refused, empty, cut, or prose."""


def sample(settings: SamplingSettings, rows: Sequence[DatasetRow], progress: Progress | None = None) -> SamplingSummary:
    """Ask for the answers that the file lacks, and append them.

    Args:
        rows: the rows of the dataset.
        progress: receives each answer; the label is `answered`, `unusable` or `error`.

    Raises:
        InputError: a choice that does not exist, a damaged file, a key or model that the server does not know.
        InfraError: the account has no credit left.
        KeyboardInterrupt: answers so far are kept.
    """
    price = settings.price()
    chosen = choose_rows(rows, settings.instances)
    check_contracts(chosen, settings.track)
    # Read now, so that missing papers are reported before any request, and no paper is read twice.
    papers = {row["instance_id"]: paper_text(row, settings.paper, settings.paper_pages) for row in chosen}
    with AnswerLog.open(settings.out) as log:
        sampling = _Sampling(settings, price, chosen, papers, log, progress)
        sampling.run()
        sampling.summary.unknown_costs = log.unknown(sampling.name, price)
    return sampling.summary


@dataclass(frozen=True)
class _Job:
    """An answer that is missing."""

    row: DatasetRow
    sample: int


@dataclass(frozen=True)
class _Answer:
    """A completed answer."""

    prompt: Prompt
    completion: Completion
    duration_s: float
    cost_usd: float | None
    """None if the price or the tokens are unknown."""


class _Sampling(JobPass[_Job]):
    """One pass over the answers that are missing."""

    def __init__(
        self,
        settings: SamplingSettings,
        price: Price | None,
        rows: Sequence[DatasetRow],
        papers: Mapping[str, str],
        log: AnswerLog,
        progress: Progress | None,
    ) -> None:
        self.settings, self.price, self.rows, self.papers, self.log = settings, price, rows, papers, log
        self.summary: SamplingSummary = SamplingSummary()
        client = ChatClient(settings, temperature=settings.temperature)
        # While an answer is checked, its place at the server is free for another question.
        super().__init__(client, self.summary, settings.workers + MAX_IDLE, progress)
        self.name = model_name(settings.name, settings.model)
        self._prompts: dict[str, Prompt] = {}
        self._asking = asyncio.Semaphore(settings.workers)
        #: At most as many at a time as processes are kept for them.
        self._checking = asyncio.Semaphore(MAX_IDLE)
        client.budget = log.budget(settings.max_cost, price, self.name)

    async def plan(self) -> list[_Job]:
        """Return the answers that are missing: first samples of all instances first."""
        names = self.name, self.settings.setting, self.settings.track
        jobs = [_Job(row, number) for number in range(self.settings.samples) for row in self.rows]
        missing = [job for job in jobs if (job.row["instance_id"], *names, job.sample) not in self.log.keys]
        self.summary.kept = len(jobs) - len(missing)
        return missing

    async def work(self, job: _Job) -> str | None:
        """Sample one answer."""
        async with self._asking:
            if self.is_over:
                return None
            answer = await self._ask(job)
        return await self._write(job, answer)

    async def _ask(self, job: _Job) -> _Answer:
        """Ask for one answer.

        Raises:
            RequestFailed: the server gave none.
        """
        started = time.monotonic()
        prompt = self._prompt(job.row)  # takes a millisecond, once for an instance: a thread would take longer
        while True:
            try:
                completion = await self.client.complete(prompt.messages)
                break
            except RequestFailed as error:
                # A prompt that the server finds too long is cut by the rule of `prompt`, once for all samples.
                fitting = self._shorter(job.row, prompt) if error.too_long else None
                if fitting is None:
                    raise RequestFailed(f"{job.row['instance_id']}: {error}", reached=error.reached) from error
                prompt = fitting
        self.answered()
        self.summary.asked += 1
        cost = self.price.cost(*completion.tokens) if self.price and completion.tokens else None
        return _Answer(prompt, completion, time.monotonic() - started, cost)

    async def _write(self, job: _Job, answer: _Answer) -> str:
        """Check an answer and write it down; return `answered` or `unusable`."""
        async with self._checking:
            usable, notes = await asyncio.to_thread(_check, answer.completion, job.row)
        self.log.write(self._row(job, answer, notes))
        self.summary.unusable += not usable
        return "answered" if usable else "unusable"

    def _row(self, job: _Job, answer: _Answer, notes: Mapping[str, Any]) -> dict[str, Any]:
        prompt, completion = answer.prompt, answer.completion
        tokens = completion.tokens
        self.summary.input_tokens += tokens[0] if tokens else 0
        self.summary.output_tokens += tokens[1] if tokens else 0
        metadata = {
            "prompt_version": prompt_version(config_of(job.row)),
            "prompt_sha256": prompt.sha256,
            "paper": self.settings.paper,
            "paper_pages": self.settings.paper_pages,
            "cut": list(prompt.cut),
            "server": self.client.server,
            "temperature": completion.temperature,
            "finish_reason": completion.finish_reason,
            "input_tokens": tokens[0] if tokens else None,
            "output_tokens": tokens[1] if tokens else None,
            "cost_usd": answer.cost_usd,
            "duration_s": round(answer.duration_s, 3),
            "answered_at": now(),
            **notes,
        }
        return {
            "instance_id": job.row["instance_id"],
            "model_name_or_path": self.name,
            "setting": self.settings.setting,
            "track": self.settings.track,
            "sample": job.sample,
            "function": completion.text,
            "metadata": metadata,
        }

    def _prompt(self, row: DatasetRow) -> Prompt:
        """The prompt for an instance, built once."""
        instance = row["instance_id"]
        if instance not in self._prompts:
            chosen = self.settings
            paper = self.papers[instance]
            self._prompts[instance] = build_prompt(
                row, setting=chosen.setting, track=chosen.track, paper=paper, max_tokens=chosen.max_prompt_tokens
            )
        return self._prompts[instance]

    def _shorter(self, row: DatasetRow, prompt: Prompt) -> Prompt | None:
        known = self._prompts[row["instance_id"]]
        if len(known.cut) > len(prompt.cut):  # another sample has found it out
            return known
        chosen = self.settings
        paper = self.papers[row["instance_id"]]
        found = shorter(row, setting=chosen.setting, track=chosen.track, paper=paper, than=prompt)
        if found is not None:
            self._prompts[row["instance_id"]] = found
        return found


def _check(completion: Completion, row: DatasetRow) -> tuple[bool, dict[str, Any]]:
    """Return whether an answer defines the function, or any function of a method, and notes about it."""
    if completion.problem:
        return False, {"problem": completion.problem}
    try:
        if is_method(row):
            missing = call_on_answer(missing_functions, completion.text, goals_of(row))
            return True, {"missing": missing} if missing else {}
        return True, {"tolerated": call_on_answer(tolerated, completion.text, row["goal_function"])}
    except MalformedAnswerError as error:
        return False, {"problem": one_line(error)[:300]}
