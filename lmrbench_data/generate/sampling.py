"""Sample answers: ask a model for each instance as often as wanted, and write a row of predictions for each answer.

A refusal, an empty or a cut answer is an answer: it has a row, and is malformed if nothing in it can be used. A request
that the server did not answer has none, and is asked for by the next call.
"""

import asyncio
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..chat.client import ChatClient, Completion, Endpoint, RequestFailed
from ..chat.loop import run_to_end, share_out
from ..chat.prices import Price, chosen_price
from ..errors import ArgumentError
from ..evaluate.extract import MalformedAnswer
from ..evaluate.killable import MAX_IDLE, call_killable
from ..evaluate.predictions import check_track
from ..progress import Progress
from ..rows import DatasetRow
from ..text import one_line
from ..times import now
from .answers import AnswerFile, AnswerSummary, chosen_rows, model_name
from .papers import paper_text
from .prompt import SETTINGS, Prompt, build_prompt, prompt_version, shorter
from .tolerance import tolerated

_log = logging.getLogger(__name__)

#: So many requests in a row without an answer mean that the server will not come back by itself.
GIVE_UP_AFTER = 5


@dataclass(frozen=True)
class SamplingSettings:
    """What a user may choose."""

    out: Path
    endpoint: Endpoint
    name: str = ""
    """Of the model in the rows; by default the one that its server knows."""
    setting: str = "standard"
    track: str = "paper"
    paper: str = "text"
    paper_pages: str = ""
    """Of a PDF, such as `1-9`; all by default."""
    samples: int = 1
    temperature: float | None = None
    """None leaves it to the server."""
    workers: int = 4
    prices: Path | None = None
    max_cost: float | None = None
    max_prompt_tokens: int | None = None
    instances: Sequence[str] = ()

    def check(self) -> Price | None:
        """The price of the model, if it is known.

        Raises:
            ArgumentError: a choice that does not exist, or a limit of costs without prices.
        """
        if self.setting not in SETTINGS:
            raise ArgumentError("setting", f"{self.setting!r} is unknown; one of: {', '.join(SETTINGS)}")
        check_track(self.track)
        return chosen_price(self.prices, self.endpoint.model, self.max_cost)


@dataclass
class SamplingSummary(AnswerSummary):
    """What sampling came to."""

    asked: int = 0
    unusable: int = 0
    """Rows without a function in them: refused, empty, cut, or prose."""


def sample(settings: SamplingSettings, rows: Sequence[DatasetRow], progress: Progress | None = None) -> SamplingSummary:
    """Ask for the answers that are missing in the file, and add them to it.

    Args:
        rows: those of the dataset.
        progress: told of each answer; the label is `answered`, `unusable` or `error`.

    Raises:
        InputError: a choice that does not exist, a damaged file, a key or model that the server does not know.
        InfraError: the account has no credit left.
        KeyboardInterrupt: answers had so far are kept.
    """
    price = settings.check()
    chosen = chosen_rows(rows, settings.instances)
    # Read now: what is missing is said before anything is asked, and no paper is read twice.
    papers = {row["instance_id"]: paper_text(row, settings.paper, settings.paper_pages) for row in chosen}
    with AnswerFile.open(settings.out) as file:
        sampling = _Sampling(settings, price, chosen, papers, file, progress or Progress())
        jobs = list(sampling.plan())
        sampling.progress.start(len(jobs))
        run_to_end(sampling.run(jobs))
        sampling.summary.cost_usd = file.cost_usd if price else None
    if sampling.client.refused:
        _log.info("%s: the server does not accept %s", settings.endpoint.model, sampling.client.refused)
    return sampling.summary


@dataclass(frozen=True)
class _Job:
    """An answer that is missing."""

    row: DatasetRow
    sample: int


@dataclass(frozen=True)
class _Answer:
    """One that was had."""

    prompt: Prompt
    completion: Completion
    duration_s: float
    cost_usd: float | None
    """None if the price or the tokens are not known."""


class _Sampling:
    """One pass over the answers that are missing."""

    def __init__(
        self,
        settings: SamplingSettings,
        price: Price | None,
        rows: Sequence[DatasetRow],
        papers: Mapping[str, str],
        file: AnswerFile,
        progress: Progress,
    ) -> None:
        self.settings, self.price, self.rows, self.papers = settings, price, rows, papers
        self.file, self.progress = file, progress
        self.client = ChatClient(settings.endpoint, temperature=settings.temperature)
        self.summary = SamplingSummary()
        self.name = model_name(settings.name, settings.endpoint.model)
        self._failures = 0
        self._prompts: dict[str, Prompt] = {}
        #: So many questions at a time; while an answer is looked at, its place is another's.
        self._asking = asyncio.Semaphore(settings.workers)
        #: No more at a time than there are processes kept for it.
        self._looking = asyncio.Semaphore(MAX_IDLE)
        #: US dollars, of the file's answers and of those that are not written yet.
        self._spent = file.cost_usd

    def plan(self) -> Iterator[_Job]:
        """The answers that are missing: first samples of all instances first."""
        names = self.name, self.settings.setting, self.settings.track
        for number in range(self.settings.samples):
            for row in self.rows:
                if (row["instance_id"], *names, number) in self.file.keys:
                    self.summary.kept += 1
                else:
                    yield _Job(row, number)

    async def run(self, jobs: Sequence[_Job]) -> None:
        """Have the answers; whatever ends this early, nothing is left under way."""
        async with self.client:
            await share_out(jobs, self.settings.workers + MAX_IDLE, self._work)

    async def _work(self, queue: Iterator[_Job]) -> None:
        for job in queue:
            async with self._asking:
                if self.summary.stopped or self._spent_all():
                    return
                answer = await self._ask(job)
            self.progress.step("error" if answer is None else await self._write(job, answer))

    async def _ask(self, job: _Job) -> _Answer | None:
        """Have one answer; None if the server has none."""
        instance, started = job.row["instance_id"], time.monotonic()
        prompt = self._prompt(job.row)  # takes a millisecond, once for an instance: a thread would take longer
        while True:
            try:
                completion = await self.client.complete(prompt.messages)
                break
            except RequestFailed as error:
                # What the server finds too long is cut by the rule of `prompt`, once for all samples.
                fitting = self._shorter(job.row, prompt) if error.too_long else None
                if fitting is None:
                    self._fail(f"{instance}: {error}", reached=error.reached)
                    return None
                prompt = fitting
        self._failures = 0
        self.summary.asked += 1
        if self.settings.max_cost is not None and completion.tokens is None:
            self.summary.stopped = "the server does not say how many tokens it used, so max_cost cannot be kept"
        cost = self.price.cost(*completion.tokens) if self.price and completion.tokens else None
        self._spent += cost or 0.0
        return _Answer(prompt, completion, time.monotonic() - started, cost)

    async def _write(self, job: _Job, answer: _Answer) -> str:
        """Look at an answer and write it down; what it came to."""
        async with self._looking:
            usable, notes = await asyncio.to_thread(_look_at, answer.completion, job.row["goal_function"])
        self.file.append(self._row(job, answer, notes))
        self.summary.unusable += not usable
        return "answered" if usable else "unusable"

    def _row(self, job: _Job, answer: _Answer, notes: Mapping[str, Any]) -> dict[str, Any]:
        prompt, completion = answer.prompt, answer.completion
        tokens = completion.tokens
        self.summary.input_tokens += tokens[0] if tokens else 0
        self.summary.output_tokens += tokens[1] if tokens else 0
        metadata = {
            "prompt_version": prompt_version(),
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

    def _fail(self, reason: str, *, reached: bool) -> None:
        self.summary.errors += 1
        self.summary.first_error = self.summary.first_error or reason
        self._failures = 0 if reached else self._failures + 1
        if self._failures >= GIVE_UP_AFTER:
            self.summary.stopped = f"the server keeps failing ({reason})"

    def _spent_all(self) -> bool:
        limit = self.settings.max_cost
        if limit is not None and self._spent >= limit:
            self.summary.stopped = f"{self._spent:.4f} USD are spent, of {limit:g} allowed"
        return bool(self.summary.stopped)


def _look_at(completion: Completion, goal_function: str) -> tuple[bool, dict[str, Any]]:
    """(whether there is a function in an answer, what is noted about it)."""
    if completion.problem:
        return False, {"problem": completion.problem}
    try:
        return True, {"tolerated": call_killable(tolerated, completion.text, goal_function)}
    except MalformedAnswer as error:
        return False, {"problem": one_line(error)[:300]}
