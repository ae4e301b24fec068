"""Run an agent on many instances, each in a box of its own; append each row at once, and resume a stopped run."""

import contextlib
import itertools
import logging
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmrbench_data.base.errors import ArgumentError, InfraError
from lmrbench_data.base.files import now
from lmrbench_data.base.jobs import GIVE_UP_AFTER, Failures, Progress, run_jobs
from lmrbench_data.base.text import plural
from lmrbench_data.chat.budget import Budget
from lmrbench_data.chat.server import address_and_key
from lmrbench_data.dataset.rows import DatasetRow, check_contracts, choose_rows
from lmrbench_data.loader import read_archive
from lmrbench_evaluate.predictions.prediction import AnswerKey, Prediction
from lmrbench_evaluate.sandbox.docker import DockerSandbox
from lmrbench_evaluate.sandbox.zygote import WORK

from ..answer_log import AnswerLog, AnswerSummary, model_name
from ..settings import AgentSettings
from ..workspace import with_cpu_budget, workspace_files
from .base import TIME_LIMIT, Agent, Job
from .box import CPU_LIMIT, CpuMeter, open_box
from .command import CommandAgent
from .installed import PROGRAMS, InstalledAgent
from .leftovers import take_leftovers
from .relay import Relay, RunEndedError

PREDICTIONS, TRAJECTORIES = "predictions.jsonl", "trajectories"
#: The folder among an agent's records for the files that the agent left itself.
RECORDS = "agent"
_log = logging.getLogger(__name__)


@dataclass
class AgentSummary(AnswerSummary):
    """The outcome of an agent run."""

    done: int = 0
    unchanged: int = 0
    """Rows whose agent changed nothing; they count as malformed."""


def open_agent(agent: str, files: Path | None = None) -> Agent:
    """Return the agent of that name, or the command; ArgumentError if it is none, or its files cannot be used."""
    return InstalledAgent(agent) if agent in PROGRAMS else CommandAgent(agent, files)


def run_agent(
    settings: AgentSettings, rows: Sequence[DatasetRow], progress: Progress | None = None
) -> AgentSummary:
    """Run an agent on the instances whose rows are missing, and add them to `out`/predictions.jsonl.

    Args:
        rows: those of the dataset.
        progress: receives each row; the label is `done`, `unchanged` or `error`.

    Raises:
        InputError: a choice that does not exist, or an agent whose image is missing.
        InfraError: there is no Docker.
        KeyboardInterrupt: rows so far are kept, and no container is left.
    """
    settings.price()  # fails before any work
    agent = open_agent(settings.agent, settings.agent_files)
    address_and_key(settings.base_url)
    name = model_name(settings.name or settings.model)
    chosen = choose_rows(rows, settings.instances)[: settings.limit]
    check_contracts(chosen, settings.track)
    with AnswerLog.open(settings.out / PREDICTIONS) as file, DockerSandbox() as sandbox:
        names = name, f"agent:{agent.name}", settings.track
        if any(key[1:4] != names for key in file.keys):
            raise ArgumentError(
                "out",
                f"{settings.out}: holds rows of another model, agent or track; choose another",
            )
        budget = file.budget(settings, name)
        run = _AgentRun(settings, agent, names, budget, file, sandbox)
        file.check_request(names, run.request)
        images = {
            tag: agent.image(sandbox, tag)
            for tag in sorted({row["docker_image"] for row in chosen})
        }
        run.all(chosen, images, progress or Progress())
        run.summary.close(budget)
        run.summary.unknown_costs = file.unknown_costs
    return run.summary


@dataclass
class _AgentRun:
    """One pass over the rows that are missing."""

    settings: AgentSettings
    agent: Agent
    names: tuple[str, str, str]
    budget: Budget
    file: AnswerLog
    sandbox: DockerSandbox

    def __post_init__(self) -> None:
        self.request = {**self.settings.request(), "agent_files": self.agent.files_sha256}
        self.summary = AgentSummary()
        self._called_off = threading.Event()
        self._failures = Failures()

    def all(self, rows: Sequence[DatasetRow], images: dict[str, str], progress: Progress) -> None:
        """Make the missing rows, several at a time, first samples first; only this thread writes."""
        keys = [(row, sample) for sample in range(self.settings.samples) for row in rows]
        jobs = [
            job
            for job in keys
            if AnswerKey(job[0]["instance_id"], *self.names, job[1]) not in self.file.keys
        ]
        self.summary.kept = len(keys) - len(jobs)
        progress.start(len(jobs))

        def work(job: tuple[DatasetRow, int]) -> dict[str, Any]:
            return self._one(*job, images[job[0]["docker_image"]])

        done = run_jobs(jobs, work, self.settings.workers, stop=self._call_off, go_on=self._goes_on)
        with contextlib.closing(done):
            for (row, sample), future in done:
                progress.step(self._take(future, f"{row['instance_id']}, sample {sample}"))

    def _call_off(self) -> None:
        self._called_off.set()
        self.sandbox.close()

    def _goes_on(self) -> bool:
        self.summary.out_of_budget = bool(self.budget.why)
        return not (self.summary.stopped or self.summary.out_of_budget)

    def _take(self, future: Future[dict[str, Any]], label: str) -> str:
        """Write the row of an agent; return the label."""
        summary = self.summary
        try:
            row = future.result()
        except RunEndedError as error:
            summary.stopped = summary.stopped or str(error)
            return "error"
        except (
            InfraError,
            OSError,
        ) as error:  # of this machine's disk; an agent's files never raise here
            summary.fail(f"{label}: {error}")
            if self._failures.note(failed=True):
                summary.stopped = f"{GIVE_UP_AFTER} tries in a row failed ({error})"
            _log.info("%s: %s", label, error)
            return "error"
        self._failures.note(failed=False)
        self.file.write(row)
        facts = row["metadata"]
        summary.done += 1
        summary.input_tokens += facts["input_tokens"] or 0
        summary.output_tokens += facts["output_tokens"] or 0
        summary.unchanged += not row["model_patch"]
        what = "a patch" if row["model_patch"] else facts.get("problem", "nothing changed")
        ending, duration_s = facts["exit_status"], facts["duration_s"]
        _log.info(
            "%s: %s, %s, %s, %.0f s",
            label,
            ending,
            what,
            plural(facts["steps"], "step"),
            duration_s,
        )
        return "done" if row["model_patch"] else "unchanged"

    def _one(self, row: DatasetRow, sample: int, image: str) -> dict[str, Any]:
        """Make a row, from the workspace to the answer; InfraError if there is none."""
        settings, started = self.settings, time.monotonic()
        trajectory = _new_folder(settings.out / TRAJECTORIES / f"{row['instance_id']}-{sample}")
        budget_s = settings.cpu_budget or row.get("cpu_budget_s")
        files = workspace_files(
            with_cpu_budget(row, budget_s) if budget_s else row, track=settings.track
        )
        relay = Relay(
            settings.model,
            settings.base_url,
            budget=self.budget,
            max_steps=settings.max_steps,
            max_tokens=settings.max_tokens,
            request_s=settings.timeout_s,
            body=settings.body,
        )
        with contextlib.closing(relay), open_box(self.sandbox, image, settings.timeout_s) as box:
            box.put(WORK, files)
            deadline = time.monotonic() + settings.timeout_s
            meter = CpuMeter(box, budget_s, lambda: relay.fatal)
            job = Job(box, relay, trajectory, settings.max_steps, deadline)
            with meter.running():
                ending = self.agent.work(job)
                box.stop()
            ending = CPU_LIMIT if meter.is_over else ending
            relay.close()
            if self._called_off.is_set():
                raise InfraError("called off")
            relay.check()
            left = take_leftovers(box, read_archive(row["repo_archive"]), trajectory / RECORDS)
        metadata = {
            "request": self.request,
            "steps": relay.steps,
            "input_tokens": relay.input_tokens if relay.counted else None,
            "output_tokens": relay.output_tokens if relay.counted else None,
            "cost_usd": relay.cost_usd,
            **(
                {"refused": relay.refused, "refused_s": round(relay.waited_s, 3)}
                if relay.refused
                else {}
            ),
            "duration_s": round(time.monotonic() - started, 3),
            "cpu_s": round(meter.used_s, 3),
            **({"cpu_budget_s": budget_s} if budget_s else {}),
            "exit_status": ending if ending in (TIME_LIMIT, CPU_LIMIT) else relay.limit or ending,
            "image": image,
            "answered_at": now(),
            **({"problem": left.problem} if left.problem else {}),
            **({"left_out": list(left.left_out)} if left.left_out else {}),
        }
        model, setting, track = self.names
        answer = Prediction(
            row["instance_id"],
            model,
            "model_patch",
            left.patch,
            sample,
            setting,
            track,
            metadata,
            left.problem,
        )
        return answer.as_row()


def _new_folder(path: Path) -> Path:
    """Make a folder; one that is there, of a try that was cut short or of a file that was moved, is renamed."""
    if path.exists():
        names = (path.with_name(f"{path.name}.old-{number}") for number in itertools.count(1))
        path.rename(next(name for name in names if not name.exists()))
    path.mkdir(parents=True)
    return path
