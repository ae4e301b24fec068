"""Sample answers: ask a model about each instance, and write a prediction for each answer.

A refusal, an empty or a cut answer is an answer: it gets a row, which is malformed if nothing in
it can be used. A request that the server did not answer gets no row; the next call tries it again.
"""

import asyncio
import functools
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lmrbench_data.base.configurations import configuration_of
from lmrbench_data.base.errors import ArgumentError
from lmrbench_data.base.files import now
from lmrbench_data.base.jobs import Progress
from lmrbench_data.base.source import MalformedAnswerError
from lmrbench_data.base.text import one_line, plural
from lmrbench_data.chat.budget import Tokens
from lmrbench_data.chat.client import ChatClient, Completion, RequestError, tool_problem
from lmrbench_data.chat.finish_reasons import is_token_limit
from lmrbench_data.chat.jobs import Job, do_jobs
from lmrbench_data.chat.refusals import Cause
from lmrbench_data.dataset.rows import DatasetRow, check_contracts, choose_rows
from lmrbench_evaluate.predictions.prediction import AnswerKey, Prediction
from lmrbench_evaluate.rebuild.workspace import rebuild

from .answer_log import AnswerLog, AnswerSummary, model_name, names_of
from .paper_texts import paper_text
from .prompt import Prompt, build_prompt, prompt_version
from .settings import SamplingSettings

_log = logging.getLogger(__name__)


@dataclass
class SamplingSummary(AnswerSummary):
    """The outcome of sampling."""

    asked: int = 0
    """Answers that the server gave in this call."""
    unusable: int = 0
    """Rows without a function in them: refused, empty, cut, or prose."""
    cut: int = 0
    """Answers that were cut at the token limit."""

    def count(self, row: Mapping[str, Any]) -> None:
        """Count a row that is written."""
        super().count(row)
        self.asked += 1
        self.unusable += "problem" in row["metadata"]
        self.cut += is_token_limit(row["metadata"]["finish_reason"])


def sample(
    settings: SamplingSettings, rows: Sequence[DatasetRow], progress: Progress | None = None
) -> SamplingSummary:
    """Ask for the answers that the file lacks, and append them.

    Args:
        rows: the rows of the dataset.
        progress: receives each answer; the label is `answered`, `unusable` or `error`.

    Raises:
        InputError: a choice that does not exist, a damaged file, a key or model that the server
            does not know.
        InfraError: the account has no credit left.
        KeyboardInterrupt: answers so far are kept.
    """
    rows = choose_rows(rows, settings.instances)[: settings.limit]
    check_contracts(rows, settings.track)
    settings.price()  # fails before any work
    with AnswerLog.open(settings.out) as log:
        return _Sampling(settings, rows, log).run(progress)


@dataclass
class _Sampling:
    """One pass over the answers that are missing."""

    settings: SamplingSettings
    rows: Sequence[DatasetRow]
    log: AnswerLog

    def __post_init__(self) -> None:
        settings = self.settings
        self.summary = SamplingSummary()
        self.client = ChatClient(settings, temperature=settings.temperature)
        self.model = model_name(settings.name or settings.model)
        self.names = (self.model, settings.label, settings.track)
        self.request = settings.request()
        self._prompts: dict[str, Prompt] = {}
        # Read now, so missing papers are reported before any request, and no paper is read twice.
        self._papers = {
            row["instance_id"]: paper_text(row, settings.paper, settings.paper_pages)
            for row in self.rows
        }

    def run(self, progress: Progress | None) -> SamplingSummary:
        """Ask for the missing answers."""
        self._check_earlier()
        budget = self.client.budget = self.log.budget(self.settings, self.model)
        jobs = self._missing_jobs()
        do_jobs(jobs, self.client, self.summary, self.settings.workers, progress)
        without_row = max(0, budget.unknown - self.log.spent[self.model].unknown)
        self.summary.unknown_costs = self.log.unknown_costs + without_row
        return self.summary

    def _missing_jobs(self) -> list[Job]:
        missing = self.log.missing(self.rows, self.settings.samples, self.names)
        self.summary.kept = self.settings.samples * len(self.rows) - len(missing)
        if missing:
            _log.info("%s: %s", self.settings.model, self._extent([row for row, _ in missing]))
        return [functools.partial(self._answer, row, key) for row, key in missing]

    def _check_earlier(self) -> None:
        """Check that earlier answers had the same settings, instances and prompts."""
        self.log.check_request(self.names, self.request)
        versions = {row["instance_id"]: _version(row) for row in self.rows}
        for key, metadata in self.log.keys.items():
            if names_of(key) != self.names:
                continue
            for name, value in versions.get(key.instance_id, {}).items():
                if metadata.get(name, value) != value:
                    what = f"an answer to another version of {key.instance_id}"
                    raise ArgumentError("out", f"{self.log.path} has {what}; choose another file")

    def _extent(self, rows: Sequence[DatasetRow]) -> str:
        """Return how many requests there are, and what these cost at most if there is a price."""
        text = f"sending {plural(len(rows), 'request')}"
        price = self.client.budget.price
        limit = self.settings.max_tokens
        if price is None:
            return text
        prompts = sum(self._prompt(row, 0).tokens for row in rows)
        cost = price.cost(Tokens(prompts, len(rows) * (limit or 0)))
        if limit:
            return f"{text}, which cost at most about {cost:.4f} USD"
        no_limit = "answers have no limit unless max_tokens sets one"
        return f"{text}; prompts cost about {cost:.4f} USD, and {no_limit}"

    async def _answer(self, row: DatasetRow, key: AnswerKey) -> str:
        """Sample one answer; return `answered` or `unusable`."""
        started = time.monotonic()
        prompt, completion = await self._ask(row)
        duration_s = time.monotonic() - started
        problem = completion.problem or await asyncio.to_thread(_problem, completion, row)
        metadata = {
            **_version(row),
            "prompt_sha256": prompt.sha256,
            "cut": list(prompt.cut),
            "request": self.request,
            "duration_s": round(duration_s, 3),
            "answered_at": now(),
            **_facts(completion),
        }
        if problem:
            metadata["problem"] = problem
        answer = Prediction(
            key.instance_id,
            key.model,
            "function",
            completion.text,
            key.sample,
            key.setting,
            key.track,
            metadata,
        )
        line = answer.as_row()
        self.log.write(line)
        self.summary.count(line)
        return "unusable" if problem else "answered"

    async def _ask(self, row: DatasetRow) -> tuple[Prompt, Completion]:
        """Ask for one answer; a prompt that the server finds too long is cut, for all samples.

        Raises:
            RequestError: the server gave none.
        """
        cuts = 0
        while True:
            # Takes a millisecond, once for an instance: a thread would take longer.
            prompt = self._prompt(row, cuts)
            try:
                return prompt, await self.client.complete(prompt.messages)
            except RequestError as error:
                if error.cause is not Cause.LENGTH or not prompt.can_be_cut:
                    message = f"{row['instance_id']}: {error}"
                    raise RequestError(message, reached=error.reached, cause=error.cause) from error
                cuts = len(prompt.cut) + 1

    def _prompt(self, row: DatasetRow, cuts: int) -> Prompt:
        """Return the prompt for an instance with at least this many cuts, built once."""
        settings = self.settings
        instance = row["instance_id"]
        prompt = self._prompts.get(instance)
        if prompt is None or len(prompt.cut) < cuts:
            prompt = self._prompts[instance] = build_prompt(
                row,
                setting=settings.setting,
                track=settings.track,
                paper=self._papers[instance],
                max_tokens=settings.max_prompt_tokens,
                cuts=cuts,
            )
        return prompt


def _version(row: DatasetRow) -> dict[str, str]:
    """Return the versions of an instance and its prompt."""
    return {
        "row_sha256": row["row_sha256"],
        "prompt_version": prompt_version(configuration_of(row).name),
    }


def _facts(completion: Completion) -> dict[str, Any]:
    """Return what the metadata of a row says about the reply."""
    tokens = completion.tokens
    facts = {
        "temperature": completion.temperature,
        "finish_reason": completion.finish_reason,
        "input_tokens": tokens and tokens.question,
        "output_tokens": tokens and tokens.answer,
        "cost_usd": completion.cost_usd,
    }
    if not completion.has_system_role:
        facts["system_role"] = "in the user's message"
    if completion.cut_by_server:
        facts["cut_by_server"] = completion.cut_by_server
    if tokens and tokens.cached:
        facts["cached_tokens"] = tokens.cached
    return facts


def _problem(completion: Completion, row: DatasetRow) -> str:
    """Return why an answer cannot be put into the masked repository; empty if it can."""
    metadata = {"finish_reason": completion.finish_reason}
    answer = Prediction(row["instance_id"], "", "function", completion.text, metadata=metadata)
    try:
        rebuild(row, answer)
    except MalformedAnswerError as error:
        problem = str(error)
        if completion.tool:
            problem = f"{tool_problem(completion.tool)}: {problem}"
        return one_line(problem)[:300]
    return ""
