"""Sample answers: ask a model about each instance, once or several times, and write a prediction for each answer.

A refusal, an empty or a cut answer is an answer: it gets a row, which is malformed if nothing in it can be used. A
request that the server did not answer gets no row; the next call tries it again.
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
from lmrbench_data.base.finish_reasons import is_token_limit
from lmrbench_data.base.jobs import Progress
from lmrbench_data.base.source import MalformedAnswerError
from lmrbench_data.base.text import one_line, plural
from lmrbench_data.chat.budget import Tokens
from lmrbench_data.chat.client import ChatClient, Completion, RequestError, tool_problem
from lmrbench_data.chat.jobs import do_jobs
from lmrbench_data.chat.refusals import Cause
from lmrbench_data.dataset.rows import DatasetRow, check_contracts, choose_rows
from lmrbench_evaluate.predictions.prediction import AnswerKey, Prediction
from lmrbench_evaluate.rebuild.workspace import rebuild

from .answer_log import AnswerLog, AnswerSummary, model_name
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


def sample(
    settings: SamplingSettings, rows: Sequence[DatasetRow], progress: Progress | None = None
) -> SamplingSummary:
    """Ask for the answers that the file lacks, and append them.

    Args:
        rows: the rows of the dataset.
        progress: receives each answer; the label is `answered`, `unusable` or `error`.

    Raises:
        InputError: a choice that does not exist, a damaged file, a key or model that the server does not know.
        InfraError: the account has no credit left.
        KeyboardInterrupt: answers so far are kept.
    """
    chosen = choose_rows(rows, settings.instances)[: settings.limit]
    check_contracts(chosen, settings.track)
    settings.price()  # fails before any work
    # Read now, so that missing papers are reported before any request, and no paper is read twice.
    papers = {
        row["instance_id"]: paper_text(row, settings.paper, settings.paper_pages) for row in chosen
    }
    with AnswerLog.open(settings.out) as log:
        sampling = _Sampling(settings, chosen, papers, log)
        log.check_request(sampling.names, sampling.request)
        client, summary, name = sampling.client, sampling.summary, sampling.names[0]
        client.budget = log.budget(settings, name)
        missing = sampling.missing()
        summary.kept = settings.samples * len(chosen) - len(missing)
        if missing:
            _log.info("%s: %s", settings.model, sampling.extent(missing))
        do_jobs(
            [functools.partial(sampling.work, *job) for job in missing],
            client,
            summary,
            settings.workers,
            progress,
        )
        lost = max(0, client.budget.unknown - log.spent[name].unknown)  # requests without a row
        summary.unknown_costs = log.unknown_costs + lost
    return summary


@dataclass
class _Sampling:
    """One pass over the answers that are missing."""

    settings: SamplingSettings
    rows: Sequence[DatasetRow]
    papers: Mapping[str, str]
    log: AnswerLog

    def __post_init__(self) -> None:
        settings, self.summary = self.settings, SamplingSummary()
        self.client = ChatClient(settings, temperature=settings.temperature)
        self.names = model_name(settings.name or settings.model), settings.label, settings.track
        self.request = settings.request()
        self._prompts: dict[str, Prompt] = {}

    def missing(self) -> list[tuple[DatasetRow, int]]:
        """Return the answers that the file lacks: first samples of all instances first."""
        jobs = []
        for number in range(self.settings.samples):
            for row in self.rows:
                kept = self.log.keys.get(AnswerKey(row["instance_id"], *self.names, number))
                if kept is None:
                    jobs.append((row, number))
                elif any(kept.get(name, value) != value for name, value in _version(row).items()):
                    problem = f"{self.log.path} has an answer to another version of {row['instance_id']}; choose another"
                    raise ArgumentError("out", problem)
        return jobs

    def extent(self, missing: Sequence[tuple[DatasetRow, int]]) -> str:
        """Return how many requests the missing answers take, and what these cost at most if there is a price."""
        text = f"sending {plural(len(missing), 'request')}"
        price, limit = self.client.budget.price, self.settings.max_tokens
        if price is None:
            return text
        prompts = sum(self._prompt(row, 0).tokens for row, _ in missing)
        cost = price.cost(Tokens(prompts, len(missing) * (limit or 0)))
        if limit:
            return f"{text}, which cost at most about {cost:.4f} USD"
        return f"{text}; prompts cost about {cost:.4f} USD, and answers have no limit unless max_tokens sets one"

    async def work(self, row: DatasetRow, number: int) -> str:
        """Sample one answer; return `answered` or `unusable`."""
        started = time.monotonic()
        prompt, completion = await self._ask(row)
        duration_s = time.monotonic() - started
        problem = completion.problem or await asyncio.to_thread(_problem, completion, row)
        facts = self._metadata(row, prompt, completion, duration_s, problem)
        model, setting, track = self.names
        answer = Prediction(
            row["instance_id"], model, "function", completion.text, number, setting, track, facts
        )
        self.log.write(answer.as_row())
        self.summary.asked += 1
        self.summary.unusable += bool(problem)
        self.summary.cut += is_token_limit(completion.finish_reason)
        return "unusable" if problem else "answered"

    async def _ask(self, row: DatasetRow) -> tuple[Prompt, Completion]:
        """Ask for one answer; a prompt that the server finds too long is cut, once for all samples.

        Raises:
            RequestError: the server gave none.
        """
        cuts = 0
        while True:
            prompt = self._prompt(
                row, cuts
            )  # takes a millisecond, once for an instance: a thread would take longer
            try:
                return prompt, await self.client.complete(prompt.messages)
            except RequestError as error:
                if error.cause is not Cause.LENGTH or not prompt.can_be_cut:
                    message = f"{row['instance_id']}: {error}"
                    raise RequestError(message, reached=error.reached, cause=error.cause) from error
                cuts = len(prompt.cut) + 1

    def _metadata(
        self,
        row: DatasetRow,
        prompt: Prompt,
        completion: Completion,
        duration_s: float,
        problem: str,
    ) -> dict[str, Any]:
        """Return the metadata of a row, and count its tokens."""
        tokens = completion.tokens
        self.summary.input_tokens += tokens.question if tokens else 0
        self.summary.output_tokens += tokens.answer if tokens else 0
        return {
            **_version(row),
            "prompt_sha256": prompt.sha256,
            "cut": list(prompt.cut),
            "request": self.request,
            "temperature": completion.temperature,
            "finish_reason": completion.finish_reason,
            "input_tokens": tokens.question if tokens else None,
            "output_tokens": tokens.answer if tokens else None,
            "cost_usd": completion.cost_usd,
            "duration_s": round(duration_s, 3),
            "answered_at": now(),
            **({} if completion.has_system_role else {"system_role": "in the user's message"}),
            **({"cut_by_server": completion.cut_by_server} if completion.cut_by_server else {}),
            **({"cached_tokens": tokens.cached} if tokens and tokens.cached else {}),
            **({"problem": problem} if problem else {}),
        }

    def _prompt(self, row: DatasetRow, cuts: int) -> Prompt:
        """Return the prompt for an instance with at least so many cuts, built once."""
        settings, instance = self.settings, row["instance_id"]
        kept = self._prompts.get(instance)
        if kept is None or len(kept.cut) < cuts:
            kept = self._prompts[instance] = build_prompt(
                row,
                setting=settings.setting,
                track=settings.track,
                paper=self.papers[instance],
                max_tokens=settings.max_prompt_tokens,
                cuts=cuts,
            )
        return kept


def _version(row: DatasetRow) -> dict[str, str]:
    """Return the versions of an instance and its prompt."""
    return {
        "row_sha256": row["row_sha256"],
        "prompt_version": prompt_version(configuration_of(row).name),
    }


def _problem(completion: Completion, row: DatasetRow) -> str:
    """Return why an answer cannot be put into the masked repository; empty if it can."""
    facts = {"finish_reason": completion.finish_reason}
    try:
        rebuild(
            row, Prediction(row["instance_id"], "", "function", completion.text, metadata=facts)
        )
    except MalformedAnswerError as error:
        problem = f"{tool_problem(completion.tool)}: {error}" if completion.tool else error
        return one_line(problem)[:300]
    return ""
