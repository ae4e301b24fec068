"""Run an agent on many instances, each in its own box; append each row at once; resume a run."""

import contextlib
import itertools
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmrbench_data.base.errors import ArgumentError, InfraError
from lmrbench_data.base.files import now
from lmrbench_data.base.jobs import GIVE_UP_AFTER, Failures, Progress, run_jobs
from lmrbench_data.base.suggestions import did_you_mean
from lmrbench_data.base.text import plural
from lmrbench_data.chat.endpoint import Endpoint
from lmrbench_data.chat.server import address_and_key
from lmrbench_data.dataset.rows import DatasetRow, check_contracts, choose_rows
from lmrbench_data.loader import read_archive
from lmrbench_evaluate.predictions.prediction import AGENT_PREFIX
from lmrbench_evaluate.runs.folder import PREDICTIONS
from lmrbench_evaluate.sandbox.docker import DockerSandbox
from lmrbench_evaluate.sandbox.zygote import WORK

from ..answer_log import AnswerLog, AnswerSummary, Missing, model_name, names_of
from ..settings import AgentSettings
from ..workspace import TASK, with_cpu_budget, workspace_files
from .base import TIME_LIMIT, Agent, Job
from .box import CPU_LIMIT, Box, CpuMeter, open_box
from .command import CommandAgent
from .installed import PROGRAMS, InstalledAgent
from .leftovers import take_leftovers
from .relay import Relay, RunEndedError

TRAJECTORIES = "trajectories"
#: The folder among the records of an agent for the files that the agent left itself.
RECORDS = "agent"
_log = logging.getLogger(__name__)


@dataclass
class AgentSummary(AnswerSummary):
    """The outcome of an agent run."""

    done: int = 0
    unchanged: int = 0
    """Rows whose agent changed nothing; they count as malformed."""

    def count(self, row: Mapping[str, Any]) -> None:
        """Count a row that is written."""
        super().count(row)
        self.done += 1
        self.unchanged += not row["model_patch"]


def open_agent(agent: str, files: Path | None = None) -> Agent:
    """Return the agent of that name, or the command; ArgumentError if it cannot be used."""
    if agent in PROGRAMS:
        if files is not None:
            problem = f"{agent} is installed in its image and needs no files; leave them out"
            raise ArgumentError("agent_files", problem)
        return InstalledAgent(agent)
    command = CommandAgent(agent, files)
    hint = did_you_mean(agent, PROGRAMS)
    if hint and files is None and len(agent.split()) == 1:
        _log.warning("%s is not the name of an agent, and runs as a command%s", agent, hint)
    return command


def run_agent(
    settings: AgentSettings, rows: Sequence[DatasetRow], progress: Progress | None = None
) -> AgentSummary:
    """Run an agent on the instances whose rows `out`/predictions.jsonl lacks, and add these.

    Args:
        rows: the rows of the dataset.
        progress: receives each row; the label is `done`, `unchanged` or `error`.

    Raises:
        InputError: a choice that does not exist, or an agent whose image is missing.
        InfraError: there is no Docker.
        KeyboardInterrupt: rows so far are kept, and no container is left.
    """
    settings.price()  # fails before any work
    agent = open_agent(settings.agent, settings.agent_files)
    address_and_key(settings.base_url)
    rows = choose_rows(rows, settings.instances)[: settings.limit]
    check_contracts(rows, settings.track)
    with AnswerLog.open(settings.out / PREDICTIONS) as log, DockerSandbox() as sandbox:
        return _AgentRun(settings, agent, log, sandbox).run(rows, progress or Progress())


@dataclass
class _AgentRun:
    """One pass over the rows that are missing."""

    settings: AgentSettings
    agent: Agent
    log: AnswerLog
    sandbox: DockerSandbox

    def __post_init__(self) -> None:
        settings = self.settings
        self.summary = AgentSummary()
        model = model_name(settings.name or settings.model)
        self.names = (model, f"{AGENT_PREFIX}{self.agent.name}", settings.track)
        self.request = {**settings.request(), "agent_files": self.agent.files_sha256}
        self.budget = self.log.budget(settings, model)
        self._endpoint = Endpoint(**settings.model_dump(include=set(Endpoint.model_fields)))
        self._called_off = threading.Event()
        self._failures = Failures()

    def run(self, rows: Sequence[DatasetRow], progress: Progress) -> AgentSummary:
        """Make the missing rows."""
        self._check_earlier()
        tags = sorted({row["docker_image"] for row in rows})
        self._images = {tag: self.agent.image(self.sandbox, tag) for tag in tags}
        missing = self.log.missing(rows, self.settings.samples, self.names)
        self.summary.kept = self.settings.samples * len(rows) - len(missing)
        progress.start(len(missing))
        self._make(missing, progress)
        self.summary.close(self.budget)
        self.summary.unknown_costs = self.log.unknown_costs
        return self.summary

    def _make(self, missing: Sequence[Missing], progress: Progress) -> None:
        """Make several rows at a time; only this thread writes them."""
        workers = self.settings.workers
        done = run_jobs(
            missing, self._answer, workers, stop=self._call_off, may_start=self._may_start
        )
        with contextlib.closing(done):
            for (_, key), future in done:
                progress.step(self._take(future, f"{key.instance_id}, sample {key.sample}"))

    def _check_earlier(self) -> None:
        """Check that the rows of the file come from this agent with these settings."""
        if any(names_of(key) != self.names for key in self.log.keys):
            problem = "holds rows of another model, agent or track; choose another folder"
            raise ArgumentError("out", f"{self.settings.out}: {problem}")
        self.log.check_request(self.names, self.request)

    def _call_off(self) -> None:
        self._called_off.set()
        self.sandbox.close()

    def _may_start(self) -> bool:
        self.summary.out_of_budget = bool(self.budget.why)
        return not (self.summary.stopped or self.summary.out_of_budget)

    def _take(self, future: Future[dict[str, Any]], label: str) -> str:
        """Write the row of an agent; return the label."""
        try:
            row = future.result()
        except (InfraError, OSError) as error:  # an agent's files never raise here
            self._fail(label, error)
            return "error"
        self._failures.note(failed=False)
        self.log.write(row)
        self.summary.count(row)
        _log.info("%s: %s", label, _describe(row))
        return "done" if row["model_patch"] else "unchanged"

    def _fail(self, label: str, error: Exception) -> None:
        summary = self.summary
        if isinstance(error, RunEndedError):
            summary.stopped = summary.stopped or str(error)
            return
        summary.fail(f"{label}: {error}")
        if self._failures.note(failed=True):
            summary.stopped = f"{GIVE_UP_AFTER} tries in a row failed ({error})"
        _log.info("%s: %s", label, error)

    def _answer(self, missing: Missing) -> dict[str, Any]:
        """Have the agent work on an instance; return its row, InfraError if it has no answer."""
        row, key = missing
        started = time.monotonic()
        records = _new_folder(self.settings.out / TRAJECTORIES / f"{key.instance_id}-{key.sample}")
        relay = Relay(self._endpoint, self.budget, self.settings.max_steps)
        image = self._images[row["docker_image"]]
        with (
            contextlib.closing(relay),
            open_box(self.sandbox, image, self.settings.timeout_s) as box,
        ):
            meter = CpuMeter(box, self._cpu_budget(row), lambda: relay.fatal)
            ending = self._work(self._prepare(box, relay, records, row), meter)
            answer = take_leftovers(box, read_archive(row["repo_archive"]), records / RECORDS)
        metadata = {
            "request": self.request,
            **relay.usage.as_metadata(),
            "duration_s": round(time.monotonic() - started, 3),
            **meter.as_metadata(),
            "exit_status": ending,
            "image": image,
            "answered_at": now(),
            **answer.as_metadata(),
        }
        return answer.as_row(key, metadata)

    def _cpu_budget(self, row: DatasetRow) -> int | None:
        return self.settings.cpu_budget or row.get("cpu_budget_s")

    def _prepare(self, box: Box, relay: Relay, records: Path, row: DatasetRow) -> Job:
        """Put the workspace of a row into a box, and start the clock."""
        budget_s = self._cpu_budget(row)
        if budget_s:
            row = with_cpu_budget(row, budget_s)
        files = workspace_files(row, track=self.settings.track)
        box.put(WORK, files)
        task = files[TASK].data.decode()
        deadline = time.monotonic() + self.settings.timeout_s
        return Job(box, relay, task, records, self.settings.max_steps, deadline)

    def _work(self, job: Job, meter: CpuMeter) -> str:
        """Have the agent work in a box; return how it ended.

        Raises:
            InfraError: what the agent leaves is not an answer of the model.
        """
        relay = job.relay
        with meter.running():
            ending = self.agent.work(job)
            job.box.stop()
        relay.close()
        if self._called_off.is_set():
            raise InfraError("called off")
        relay.check()
        if meter.is_over:
            return CPU_LIMIT
        if ending == TIME_LIMIT:
            return TIME_LIMIT
        return relay.limit or ending


def _describe(row: Mapping[str, Any]) -> str:
    facts = row["metadata"]
    what = "a patch" if row["model_patch"] else facts.get("problem", "nothing changed")
    steps = plural(facts["steps"], "step")
    return f"{facts['exit_status']}, {what}, {steps}, {facts['duration_s']:.0f} s"


def _new_folder(path: Path) -> Path:
    """Make a folder; an earlier one, of a try that was stopped, is renamed."""
    if path.exists():
        names = (path.with_name(f"{path.name}.old-{number}") for number in itertools.count(1))
        path.rename(next(name for name in names if not name.exists()))
    path.mkdir(parents=True)
    return path
