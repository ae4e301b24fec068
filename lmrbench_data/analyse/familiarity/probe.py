"""Probe how familiar a model is with the methods' code: probabilities of references and controls, verbatim runs.

With an echoing server each body is scored under the masked prefix. With any server the model goes on after the prefix,
and the longest verbatim run of the reference in what it writes is compared with that of the controls. Rows go to
probes.jsonl one by one, and the same call again asks only for what is missing.
"""

import asyncio
import difflib
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ...chat.client import Endpoint, Message, RequestFailed
from ...chat.logprobs import ECHO, TEXT, LogprobClient, Token, Unsupported, Written
from ...chat.loop import run_to_end, share_out
from ...errors import ArgumentError
from ...evaluate.runs.jsonl import locked, parse_row, read_log, resume_log
from ...progress import Progress
from ...rows import DatasetRow
from ...tasks import Task
from ...times import now
from .texts import VARIANT, Body, Probe, build_probe

FILE = "probes.jsonl"
SCORE, CONTINUATION = "score", "continuation"
#: Share of the least likely tokens that min-k% looks at (Shi et al. 2024, Section 3).
MIN_K = 0.2
#: So many requests in a row without an answer mean that the server will not come back by itself.
GIVE_UP_AFTER = 3
#: Tokens that a continuation may have: more than any reference.
MAX_TOKENS = 1200
_TOKEN = re.compile(r"\w+|[^\w\s]")
_ASK = (
    "Here is the beginning of a Python file from a research repository. Go on exactly where it stops, with the code of "
    "the function that has just begun, as you remember it from there if you know it. Write the code alone.\n\n"
)
_ROW: dict[str, Any] = {
    "what": str,
    "instance_id": str,
    "model": str,
    "base_url": str,
    "way": str,
    "kind": str,
    "name": str,
    "text_sha256": str,
    "tokens": int,
    "mean_logprob": (int, float, type(None)),
    "mean_probability": (int, float, type(None)),
    "min_k": (int, float, type(None)),
    "run": (int, float, type(None)),
    "control_run": (int, float, type(None)),
}


class Scores(NamedTuple):
    """How likely a text is to a model; logarithms are natural, a token."""

    tokens: int
    mean_logprob: float | None
    mean_probability: float | None
    min_k: float | None
    """Mean logarithm of the least likely `MIN_K` of the tokens."""

    @classmethod
    def of(cls, logprobs: Sequence[float]) -> "Scores":
        """Of the tokens of a text."""
        if not logprobs:
            return cls(0, None, None, None)
        least = sorted(logprobs)[: max(1, math.floor(MIN_K * len(logprobs)))]
        count = len(logprobs)
        mean = math.fsum(map(math.exp, logprobs)) / count
        return cls(count, math.fsum(logprobs) / count, mean, math.fsum(least) / len(least))


@dataclass(frozen=True)
class ProbeSettings:
    """What a user may choose."""

    out: Path
    endpoint: Endpoint
    workers: int = 4


@dataclass
class ProbeSummary:
    """What probing came to."""

    model: str
    server: str
    way: str = TEXT
    asked: int = 0
    kept: int = 0
    errors: int = 0
    first_error: str = ""
    stopped: str = ""
    rows: list[dict[str, Any]] = field(default_factory=list)
    """Those of this model, server and way, earlier ones included."""

    @property
    def complete(self) -> bool:
        """Whether everything was answered."""
        return not self.errors and not self.stopped


class _Job(NamedTuple):
    """What is missing: a score of a body, or a continuation."""

    probe: Probe
    body: Body | None
    """None for the continuation."""

    @property
    def key(self) -> str:
        """Identity of what is asked."""
        return self.probe.key(self.body or self.probe.bodies[0])


def build_probes(rows: Sequence[DatasetRow], tasks: Sequence[Task] = (), instances: Sequence[str] = ()) -> list[Probe]:
    """The texts of some instances.

    Args:
        rows: those of the dataset.
        tasks: where they come from, as far as they are at hand; their variants are controls.
        instances: only these; all by default.

    Raises:
        ArgumentError: an unknown instance.
    """
    if unknown := sorted(set(instances) - {row["instance_id"] for row in rows}):
        raise ArgumentError("instances", f"{unknown[0]!r} is unknown; see `lmrbench tasks list`")
    chosen = [row for row in rows if not instances or row["instance_id"] in instances]
    owners = {item.instance_id: task for task in tasks for item in task.implementations}
    return [build_probe(row, owners.get(row["instance_id"])) for row in chosen]


def probe(
    settings: ProbeSettings, probes: Callable[[], Sequence[Probe]], progress: Progress | None = None
) -> ProbeSummary:
    """Ask for the scores and continuations that are missing in the folder.

    Args:
        probes: gives the texts, which take a while to make; it is called once the server has answered.
        progress: told of each answer; the label is the kind of text.

    Raises:
        InputError: a damaged file, a key or model that the server does not know.
        InfraError: nothing answers at the address, or the account has no credit left.
        KeyboardInterrupt: answers had so far are kept.
    """
    client = LogprobClient(settings.endpoint)
    summary = ProbeSummary(settings.endpoint.model, client.server)
    with _ProbeFile.open(settings.out) as file:
        run_to_end(_Probing(settings, client, probes, file, summary, progress or Progress()).run())
    return summary


@dataclass
class _Probing:
    """One pass over what is missing."""

    settings: ProbeSettings
    client: LogprobClient
    build: Callable[[], Sequence[Probe]]
    file: "_ProbeFile"
    summary: ProbeSummary
    progress: Progress
    probes: Sequence[Probe] = ()
    _failures: int = 0

    async def run(self) -> None:
        """Find out what the server offers, and ask for what is missing."""
        async with self.client:
            try:
                self.summary.way = await self.client.way()
            except RequestFailed as error:
                self._failed(str(error))
                self.summary.stopped = f"the server {self.summary.server} does not answer ({error})"
                return
            self.probes = await asyncio.to_thread(self.build)
            wanted = {item.key(body) for item in self.probes for body in item.bodies}
            ours = self.summary.model, self.summary.server, self.summary.way
            kept = (row for row in self.file.rows if (row["model"], row["base_url"], row["way"]) == ours)
            self.summary.rows = [row for row in kept if row["text_sha256"] in wanted]
            done = {(row["what"], row["text_sha256"]) for row in self.summary.rows}
            jobs = []
            for item in self.probes:
                bodies: list[Body | None] = [None, *(item.bodies if self.summary.way == ECHO else ())]
                for job in (_Job(item, body) for body in bodies):
                    if (SCORE if job.body else CONTINUATION, job.key) in done:
                        self.summary.kept += 1
                    else:
                        jobs.append(job)
            self.progress.start(len(jobs))
            await share_out(jobs, self.settings.workers, self._work)

    async def _work(self, queue: Iterator[_Job]) -> None:
        for job in queue:
            if self.summary.stopped:
                return
            try:
                row = await (self._score(job, job.body) if job.body else self._continue(job))
            except (RequestFailed, Unsupported) as error:
                self._failed(f"{job.probe.instance_id}: {error}")
                self.progress.step("error")
                continue
            self._failures = 0
            self.summary.asked += 1
            self.summary.rows.append(self.file.append(row))
            self.progress.step(str(row["kind"]))

    async def _score(self, job: _Job, body: Body) -> dict[str, Any]:
        tokens = await self.client.score(job.probe.prefix + body.text)
        scores = Scores.of(_of_body(tokens, len(job.probe.prefix)))
        return {**self._row(job, SCORE), "kind": body.kind, "name": body.name, **scores._asdict()}

    async def _continue(self, job: _Job) -> dict[str, Any]:
        written = await self._written(job.probe.prefix)
        reference, *controls = job.probe.bodies
        runs = [verbatim_run(written.text, body.text) for body in controls if body.kind == VARIANT]
        return {
            **self._row(job, CONTINUATION),
            "kind": CONTINUATION,
            "text": written.text,
            **Scores.of(written.logprobs or ())._asdict(),
            "run": verbatim_run(written.text, reference.text),
            "control_run": sum(runs) / len(runs) if runs else None,
        }

    async def _written(self, prefix: str) -> Written:
        if self.summary.way == ECHO:
            return await self.client.go_on(prefix, MAX_TOKENS)
        messages: list[Message] = [{"role": "user", "content": f"{_ASK}```python\n{prefix}"}]
        return await self.client.write(messages, MAX_TOKENS)

    def _row(self, job: _Job, what: str) -> dict[str, Any]:
        return {
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

    def _failed(self, reason: str) -> None:
        self.summary.errors += 1
        self.summary.first_error = self.summary.first_error or reason
        self._failures += 1
        if self._failures >= GIVE_UP_AFTER:
            self.summary.stopped = f"the server keeps failing ({reason})"


def verbatim_run(written: str, text: str) -> float:
    """The longest run of neighbouring tokens of `text` that is in what was written, as a share of its tokens."""
    ours, theirs = _TOKEN.findall(text), _TOKEN.findall(written)
    if not ours:
        return 0.0
    return difflib.SequenceMatcher(None, ours, theirs, autojunk=False).find_longest_match().size / len(ours)


def _of_body(tokens: Sequence[Token], start: int) -> list[float]:
    """The tokens of the body; one that begins in the prefix is none of them."""
    return [token.logprob for token in tokens if token.start >= start]


@dataclass
class _ProbeFile:
    """An open probes.jsonl."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    """Those that were there when it was opened, and those since."""
    _append: Callable[[dict[str, Any]], None] | None = None

    @classmethod
    @contextmanager
    def open(cls, folder: Path) -> Iterator["_ProbeFile"]:
        """Create or resume it; a last row that was cut short is removed.

        Raises:
            InputError: another process has it open, or it is damaged.
        """
        folder.mkdir(parents=True, exist_ok=True)
        path, busy = folder / FILE, f"{folder}: another process is probing into it; wait for it"
        with locked(folder / ".probes.lock", busy), path.open("ab") as file:
            lines = read_log(path, lambda line: parse_row(line, _ROW), "remove that line")
            opened = cls()
            opened._append = resume_log(file, path, lines, opened.rows.append)
            yield opened

    def append(self, row: dict[str, Any]) -> dict[str, Any]:
        """Write one row; it is on its way to the disk when this returns."""
        assert self._append is not None
        self._append(row)
        return row
