"""Probe how familiar a model is with the methods' code: probabilities of references and controls, verbatim runs.

With an echoing server each body is scored under the masked prefix. With any server the model continues the prefix, and
the longest verbatim run of the reference in its text is compared with that of the controls. Rows go to probes.jsonl one
by one, and a repeated call asks only for the missing ones.
"""

import asyncio
import difflib
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...base.progress import Progress
from ...base.times import now
from ...chat.budget import Budget, Tokens
from ...chat.client import Message, RequestFailed
from ...chat.jobs import JobPass, JobSummary
from ...chat.logprobs import ECHO, TEXT, LogprobClient, Token, Unsupported, Written
from ...dataset.rows import DatasetRow, choose_rows
from ...dataset.single_functions import only_functions
from ...tasks.task import Task
from .probe_log import FILE, ProbeLog
from .settings import ProbeSettings
from .texts import VARIANT, Body, ProbeTexts, probe_texts

SCORE, CONTINUATION = "score", "continuation"
#: Share of the least likely tokens that min-k% looks at (Shi et al. 2024, Section 3).
MIN_K = 0.2
#: Tokens that a continuation may have: more than any reference.
MAX_TOKENS = 1200
_TOKEN = re.compile(r"\w+|[^\w\s]")
_ASK = (
    "Here is the beginning of a Python file from a research repository. Go on exactly where it stops, with the code of "
    "the function that has just begun, as you remember it from there if you know it. Write the code alone.\n\n"
)


class Scores(NamedTuple):
    """The probability of a text under a model; logarithms are natural, per token."""

    tokens: int
    mean_logprob: float | None
    mean_probability: float | None
    min_k: float | None
    """Mean logarithm of the least likely `MIN_K` of the tokens."""

    @classmethod
    def of(cls, logprobs: Sequence[float]) -> "Scores":
        """Summarise the log-probabilities of a text's tokens."""
        if not logprobs:
            return cls(0, None, None, None)
        least = sorted(logprobs)[: max(1, math.floor(MIN_K * len(logprobs)))]
        count = len(logprobs)
        mean = math.fsum(map(math.exp, logprobs)) / count
        return cls(count, math.fsum(logprobs) / count, mean, math.fsum(least) / len(least))


@dataclass(kw_only=True)
class ProbeSummary(JobSummary):
    """The outcome of probing."""

    model: str
    server: str
    way: str = TEXT
    asked: int = 0
    """Requests that the server answered in this call."""
    rows: list[dict[str, Any]] = field(default_factory=list)
    """All rows of this model, server and way, earlier ones included."""


class _Job(NamedTuple):
    """A row that is missing: a score of a body, or a continuation."""

    probe: ProbeTexts
    body: Body | None
    """None for the continuation."""

    @property
    def key(self) -> str:
        """Identity of the request."""
        return self.probe.key(self.body or self.probe.bodies[0])


def build_probes(
    rows: Sequence[DatasetRow], tasks: Sequence[Task] = (), instances: Sequence[str] = ()
) -> list[ProbeTexts]:
    """Build the texts to probe.

    Args:
        rows: those of the dataset.
        tasks: their tasks, as far as available; the variants of these are controls.
        instances: only these; all by default.

    Raises:
        ArgumentError: an unknown instance.
        InputError: an instance is a method.
    """
    only_functions(rows, "the probe")
    owners = {item.instance_id: task for task in tasks for item in task.implementations}
    return [probe_texts(row, owners.get(row["instance_id"])) for row in choose_rows(rows, instances)]


def probe(
    settings: ProbeSettings, probes: Callable[[], Sequence[ProbeTexts]], progress: Progress | None = None
) -> ProbeSummary:
    """Ask for the scores and continuations that the folder lacks.

    Args:
        probes: returns the texts, which take a while to build; called once the server has answered.
        progress: receives each answer; the label is the kind of text.

    Raises:
        InputError: a damaged file, a key or model that the server does not know.
        InfraError: nothing answers at the address, or the account has no credit left.
        KeyboardInterrupt: answers so far are kept.
    """
    with ProbeLog.open(settings.folder / FILE) as log:
        probing = _Probing(settings, probes, log, progress)
        probing.run()
        probing.summary.cost_usd = probing.client.budget.cost_usd
        return probing.summary


class _Probing(JobPass[_Job]):
    """One pass over the missing scores and continuations."""

    def __init__(
        self,
        settings: ProbeSettings,
        build: Callable[[], Sequence[ProbeTexts]],
        log: ProbeLog,
        progress: Progress | None,
    ) -> None:
        self.model = LogprobClient(settings)
        self.summary: ProbeSummary = ProbeSummary(model=settings.model, server=self.model.server)
        super().__init__(self.model, self.summary, settings.workers, progress)
        self.build, self.log = build, log
        self.model.budget = Budget.after(settings.max_cost, settings.price(), log.spent(self.summary.model))

    async def plan(self) -> list[_Job]:
        """Find out what the server offers, and return the scores and continuations that are missing."""
        try:
            self.summary.way = await self.model.way()
        except RequestFailed as error:
            self.summary.fail(str(error))
            self.summary.stopped = f"the server {self.summary.server} does not answer ({error})"
            return []
        probes = await asyncio.to_thread(self.build)
        wanted = {item.key(body) for item in probes for body in item.bodies}
        ours = self.summary.model, self.summary.server, self.summary.way
        kept = (row for row in self.log.rows if (row["model"], row["base_url"], row["way"]) == ours)
        self.summary.rows = [row for row in kept if row["text_sha256"] in wanted]
        done = {(row["what"], row["text_sha256"]) for row in self.summary.rows}
        jobs = []
        for item in probes:
            bodies: list[Body | None] = [None, *(item.bodies if self.summary.way == ECHO else ())]
            for job in (_Job(item, body) for body in bodies):
                if (SCORE if job.body else CONTINUATION, job.key) in done:
                    self.summary.kept += 1
                else:
                    jobs.append(job)
        return jobs

    async def work(self, job: _Job) -> str:
        """Ask for one score or continuation."""
        try:
            row = await (self._score(job, job.body) if job.body else self._continue(job))
        except (RequestFailed, Unsupported) as error:
            reached = isinstance(error, RequestFailed) and error.reached
            raise RequestFailed(f"{job.probe.instance_id}: {error}", reached=reached) from error
        self.answered()
        self.summary.asked += 1
        self.log.write(row)
        self.summary.rows.append(row)
        return str(row["kind"])

    async def _score(self, job: _Job, body: Body) -> dict[str, Any]:
        found = await self.model.score(job.probe.prefix + body.text)
        scores = Scores.of(_of_body(found.tokens, len(job.probe.prefix)))
        return {**self._row(job, SCORE, found.usage), "kind": body.kind, "name": body.name, **scores._asdict()}

    async def _continue(self, job: _Job) -> dict[str, Any]:
        written = await self._written(job.probe.prefix)
        reference, *controls = job.probe.bodies
        runs = [verbatim_run(written.text, body.text) for body in controls if body.kind == VARIANT]
        return {
            **self._row(job, CONTINUATION, written.usage),
            "kind": CONTINUATION,
            "text": written.text,
            **Scores.of(written.logprobs or ())._asdict(),
            "run": verbatim_run(written.text, reference.text),
            "control_run": sum(runs) / len(runs) if runs else None,
        }

    async def _written(self, prefix: str) -> Written:
        if self.summary.way == ECHO:
            return await self.model.go_on(prefix, MAX_TOKENS)
        messages: list[Message] = [{"role": "user", "content": f"{_ASK}```python\n{prefix}"}]
        return await self.model.write(messages, MAX_TOKENS)

    def _row(self, job: _Job, what: str, usage: Tokens | None) -> dict[str, Any]:
        price = self.client.budget.price
        return {
            "input_tokens": usage[0] if usage else None,
            "output_tokens": usage[1] if usage else None,
            "cost_usd": price.cost(*usage) if price and usage else None,
            "what": what,
            "instance_id": job.probe.instance_id,
            "model": self.summary.model,
            "base_url": self.summary.server,
            "way": self.summary.way,
            "name": "",
            "text_sha256": job.key,
            "run": None,
            "control_run": None,
            "asked_at": now(),
        }


def verbatim_run(written: str, text: str) -> float:
    """Return the longest run of tokens of `text` found in the written text, as a share of the tokens of `text`."""
    ours, theirs = _TOKEN.findall(text), _TOKEN.findall(written)
    if not ours:
        return 0.0
    return difflib.SequenceMatcher(None, ours, theirs, autojunk=False).find_longest_match().size / len(ours)


def _of_body(tokens: Sequence[Token], start: int) -> list[float]:
    """Return the log-probabilities of the body's tokens; a token that begins in the prefix is not one of them."""
    return [token.logprob for token in tokens if token.start >= start]
