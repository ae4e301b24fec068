"""Run an agent on many instances: a box and a row for each, appended at once; what is there is not done again."""

import logging
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...chat.address import address_and_key, server_name
from ...chat.prices import Price, chosen_price
from ...errors import ArgumentError, InfraError
from ...evaluate.predictions import check_track
from ...evaluate.sandbox.docker import WORK, DockerSandbox
from ...progress import Progress
from ...rows import DatasetRow
from ...text import one_line
from ...times import now
from ..answers import AnswerFile, AnswerSummary, chosen_rows, model_name
from ..workspace import MARKER, REPO, TASK, collect_patch, write_workspace
from .base import TIME_LIMIT, Agent, Job
from .box import open_box
from .relay import Budget, Relay

PREDICTIONS, TRAJECTORIES = "predictions.jsonl", "trajectories"
#: A folder of the workspace in which an agent inside may leave records of its own.
OWN_RECORDS = "trajectory"
GIVE_UP_AFTER = 3
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class AgentSettings:
    """What a user may choose."""

    agent: str
    """`mini-swe-agent`, `openhands`, or a command."""
    model: str
    out: Path
    agent_files: Path | None = None
    """Of a command: a folder whose files are in the box, at /agent."""
    name: str = ""
    """Of the model in the rows; by default the one that its server knows."""
    base_url: str | None = None
    track: str = "paper"
    samples: int = 1
    workers: int = 2
    max_steps: int | None = 100
    """Answers of the model, for one row."""
    timeout_s: float = 1800.0
    """For one row."""
    prices: Path | None = None
    max_cost: float | None = None
    """US dollars, of all rows of the file together."""
    instances: Sequence[str] = ()


@dataclass
class AgentSummary(AnswerSummary):
    """What a run of an agent came to."""

    done: int = 0
    unchanged: int = 0
    """Rows without a change; they count as malformed."""


def open_agent(agent: str, files: Path | None = None) -> Agent:
    """The agent of that name, or the command.

    Raises:
        InputError: it is not installed, or no command.
    """
    from . import mini, openhands
    from .command import CommandAgent

    known = {mini.NAME: mini.MiniSweAgent, openhands.NAME: openhands.OpenHandsAgent}
    return known[agent]() if agent in known else CommandAgent(agent, files)


def run_agent(
    settings: AgentSettings,
    rows: Sequence[DatasetRow],
    progress: Progress | None = None,
    tell: Callable[[str], None] = _log.info,
) -> AgentSummary:
    """Run an agent on the instances whose rows are missing, and add them to `out`/predictions.jsonl.

    Args:
        rows: those of the dataset.
        progress: told of each row; the label is `done`, `unchanged`, `error` or what stopped the agent.
        tell: told one line about each row.

    Raises:
        InputError: a choice that does not exist, or an agent that is not installed.
        InfraError: there is no Docker.
        KeyboardInterrupt: rows had so far are kept, and no container is left.
    """
    check_track(settings.track)
    price = chosen_price(settings.prices, settings.model, settings.max_cost)
    agent = open_agent(settings.agent, settings.agent_files)
    address_and_key(settings.base_url)
    name, chosen = model_name(settings.name, settings.model), chosen_rows(rows, settings.instances)
    with AnswerFile.open(settings.out / PREDICTIONS) as file, DockerSandbox() as sandbox:
        names = name, f"agent:{agent.name}", settings.track
        if any(key[1:4] != names for key in file.keys):
            raise ArgumentError("out", f"{settings.out}: holds rows of another model, agent or track; give another")
        run = _AgentRun(settings, agent, names, price, file, sandbox, tell)
        images = {tag: agent.image(sandbox, tag) for tag in sorted({row["docker_image"] for row in chosen})}
        run.all(chosen, images, progress or Progress())
        run.summary.cost_usd = file.cost_usd if price else None
    return run.summary


class _AgentRun:
    """One pass over the rows that are missing."""

    def __init__(
        self,
        settings: AgentSettings,
        agent: Agent,
        names: tuple[str, str, str],
        price: Price | None,
        file: AnswerFile,
        sandbox: DockerSandbox,
        tell: Callable[[str], None],
    ) -> None:
        self.settings, self.agent, self.names, self.price = settings, agent, names, price
        self.file, self.sandbox, self.tell = file, sandbox, tell
        self.summary = AgentSummary()
        self.budget = Budget(settings.max_cost, file.cost_usd)
        self.server = server_name(address_and_key(settings.base_url)[0])
        self._called_off = threading.Event()
        self._failures = 0

    def plan(self, rows: Sequence[DatasetRow]) -> Iterator[tuple[DatasetRow, int]]:
        """The rows that are missing: first samples of all instances first."""
        for sample in range(self.settings.samples):
            for row in rows:
                if (row["instance_id"], *self.names, sample) in self.file.keys:
                    self.summary.kept += 1
                else:
                    yield row, sample

    def all(self, rows: Sequence[DatasetRow], images: dict[str, str], progress: Progress) -> None:
        """Make them, several at a time; rows are written by this thread alone."""
        jobs = list(self.plan(rows))
        progress.start(len(jobs))
        queue = iter(jobs)
        running: dict[Future[dict[str, Any]], str] = {}
        with ThreadPoolExecutor(self.settings.workers, thread_name_prefix="agent") as pool:
            try:
                while True:
                    while len(running) < self.settings.workers and not self._should_stop():
                        job = next(queue, None)
                        if job is None:
                            break
                        row, sample = job
                        label = f"{row['instance_id']}, sample {sample}"
                        running[pool.submit(self._one, row, sample, images[row["docker_image"]])] = label
                    if not running:
                        break
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        progress.step(self._take(future, running.pop(future)))
            except BaseException:
                self._called_off.set()
                self.sandbox.close()
                raise

    def _should_stop(self) -> bool:
        if self.budget.is_spent:
            self.summary.stopped = f"{self.budget.spent:.4f} USD are spent, of {self.budget.limit:g} allowed"
        return bool(self.summary.stopped)

    def _take(self, future: Future[dict[str, Any]], label: str) -> str:
        """Write down what an agent came to; its label."""
        summary = self.summary
        try:
            row = future.result()
        except InfraError as error:
            summary.errors += 1
            summary.first_error = summary.first_error or f"{label}: {error}"
            self._failures += 1
            if self._failures >= GIVE_UP_AFTER:
                summary.stopped = f"{GIVE_UP_AFTER} in a row have failed ({error})"
            self.tell(f"{label}: {error}")
            return "error"
        self._failures = 0
        self.file.append(row)
        facts = row["metadata"]
        summary.done += 1
        summary.input_tokens += facts["input_tokens"] or 0
        summary.output_tokens += facts["output_tokens"] or 0
        if not row["model_patch"]:
            summary.unchanged += 1
        what = "a patch" if row["model_patch"] else "nothing changed"
        self.tell(f"{label}: {facts['exit_status']}, {what}, {facts['steps']} steps, {facts['duration_s']:.0f} s")
        return "done" if row["model_patch"] else "unchanged"

    def _one(self, row: DatasetRow, sample: int, image: str) -> dict[str, Any]:
        """One instance from the workspace to the row."""
        settings, started = self.settings, time.monotonic()
        relay = Relay(
            settings.model,
            settings.base_url,
            budget=self.budget,
            price=self.price,
            max_steps=settings.max_steps,
            request_s=settings.timeout_s,
        )
        trajectory = settings.out / TRAJECTORIES / f"{row['instance_id']}-{sample}"
        shutil.rmtree(trajectory, ignore_errors=True)  # of a try that was cut short
        trajectory.mkdir(parents=True)
        with tempfile.TemporaryDirectory(prefix="lmrbench-agent-") as name:
            folder = write_workspace(row, Path(name) / "before", track=settings.track)
            (folder / MARKER).unlink()
            files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
            with open_box(self.sandbox, image, settings.timeout_s) as box:
                box.put(WORK, files)
                task = (folder / TASK).read_text(encoding="utf-8")
                deadline = time.monotonic() + settings.timeout_s
                job = Job(task, box, relay, trajectory, settings.max_steps, deadline, self._called_off)
                ending = self.agent.work(job)
                relay.close()
                if self._called_off.is_set():
                    raise InfraError("called off")
                if relay.failure and ending != TIME_LIMIT:
                    raise InfraError(relay.failure)
                problem, after = "", Path(name) / "after"
                try:
                    box.snapshot(after, (REPO, OWN_RECORDS))
                    if (after / REPO).is_dir():
                        patch = collect_patch(row, after)
                    else:
                        patch, problem = "", "the repository is gone"
                except OverflowError as error:
                    patch, problem = "", one_line(error)
            if (after / OWN_RECORDS).is_dir():
                shutil.copytree(after / OWN_RECORDS, trajectory, dirs_exist_ok=True)
        metadata = {
            "agent": settings.agent,
            "server": self.server,
            "steps": relay.steps,
            "input_tokens": relay.input_tokens if relay.counted else None,
            "output_tokens": relay.output_tokens if relay.counted else None,
            "cost_usd": relay.cost_usd,
            "duration_s": round(time.monotonic() - started, 3),
            "exit_status": ending if ending == TIME_LIMIT else relay.limit or ending,
            "image": image,
            "answered_at": now(),
            **({"problem": problem} if problem else {}),
        }
        names = dict(zip(("model_name_or_path", "setting", "track"), self.names, strict=True))
        return {
            "instance_id": row["instance_id"],
            **names,
            "sample": sample,
            "model_patch": patch,
            "metadata": metadata,
        }
