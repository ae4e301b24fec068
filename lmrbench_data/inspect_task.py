"""LMR-Bench as an Inspect task: the samples are our prompts; the scorer is our verdict in our sandbox.

inspect eval lmrbench_data/lmr_bench --model openai/gpt-4.1 -T setting=full-repo
"""

import asyncio
import atexit
import contextlib
import threading
from collections.abc import Iterator, Sequence

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, ChatMessageSystem, ChatMessageUser
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState, generate
from inspect_ai.util import concurrency

from lmrbench_evaluate.predictions.prediction import Prediction, check_track, read_predictions
from lmrbench_evaluate.sandbox import open_sandbox
from lmrbench_evaluate.sandbox.base import Sandbox
from lmrbench_evaluate.verdict.evaluator import evaluate_prediction
from lmrbench_evaluate.verdict.levels import Level, outcome, reaches
from lmrbench_evaluate.verdict.verdict import Status, Verdict

from .base.errors import ArgumentError, InfraError, LMRBenchError
from .dataset.load import load_rows
from .dataset.rows import DatasetRow, PartRow, choose_rows
from .generation.paper_texts import paper_text
from .generation.prompt import build_prompt, prompt_version
from .loader import FUNCTION, dataset_sha256


@task
def lmr_bench(
    setting: str = "standard",
    track: str = "paper",
    paper: str = "text",
    paper_pages: str = "",
    instances: str | list[str] = "",
    dataset: str = "embedded",
    config: str = FUNCTION,
    sandbox: str = "auto",
    workers: int = 2,
) -> Task:
    """Write the masked functions of a paper's repository; unit tests in a container score them.

    Args:
        setting: context for the model: `standard`, `paper-only`, `paper+goal-file`, `full-repo`.
        track: `paper`, or `contract` to also show the contract.
        paper: form of the paper: `text` (our summary), `pdf-json`, `pdf-markdown` (from a PDF in the cache) or `none`.
        paper_pages: pages of the PDF, such as `1-9`; all by default.
        instances: instance ids, as a list or separated by commas; all by default.
        dataset: `embedded`, a folder, or `org/name[@revision]`.
        config: configuration of the dataset: `function` or `method`.
        sandbox: sandbox for the tests: `auto`, `docker`, `bwrap` or `local`; not Inspect's own.
        workers: number of concurrent sandboxes.

    Raises:
        PrerequisiteError: a choice or an instance is unknown, or a PDF is missing; Inspect prints it as one line.
    """
    with _errors_in_one_line():
        check_track(track)
        if workers < 1:
            raise ArgumentError("workers", f"must be at least 1, not {workers}")
        names = instances.split(",") if isinstance(instances, str) else instances
        rows = choose_rows(load_rows(dataset, config), [name.strip() for name in names if name.strip()])
        texts = [paper_text(row, paper, paper_pages) for row in rows]
        prompts = [
            build_prompt(row, setting=setting, track=track, paper=text) for row, text in zip(rows, texts, strict=True)
        ]
    samples = []
    for row, prompt in zip(rows, prompts, strict=True):
        messages: list[ChatMessage] = [
            ChatMessageSystem(content=message["content"])
            if message["role"] == "system"
            else ChatMessageUser(content=message["content"])
            for message in prompt.messages
        ]
        # No target: the tests decide, and a log should not contain the answer.
        metadata = {"category": row["category"], "prompt_sha256": prompt.sha256}
        samples.append(Sample(id=row["instance_id"], input=messages, metadata=metadata))
    return Task(
        dataset=MemoryDataset(samples, name="lmr-bench"),
        solver=generate(),
        scorer=verdict(track=track, setting=setting, dataset=dataset, config=config, sandbox=sandbox, workers=workers),
        version=rows[0]["benchmark_version"],
        metadata={
            "dataset_sha256": dataset_sha256(rows),
            "prompt_version": prompt_version(config),
            "config": config,
            "setting": setting,
            "track": track,
        },
    )


@scorer(metrics={str(level): [mean(), stderr()] for level in Level}, name="verdict")
def verdict(
    track: str = "paper",
    setting: str = "standard",
    dataset: str = "embedded",
    config: str = FUNCTION,
    sandbox: str = "auto",
    workers: int = 2,
) -> Scorer:
    """Score an answer as reproduced (every core case passed) and robust (every case passed).

    A sandbox failure is an error of the sample, never a verdict; `inspect eval-retry` retries it.
    """
    tester = _Tester(load_rows(dataset, config), sandbox)

    async def score(state: TaskState, target: Target) -> Score:
        row = {
            "instance_id": str(state.sample_id),
            "model_name_or_path": str(state.model),
            "function": state.output.completion,
            "track": track,
            "setting": setting,
        }
        async with concurrency("lmr-bench sandboxes", workers):
            result = await asyncio.to_thread(tester.test, row)
        if result.status is Status.INFRA_ERROR:
            raise InfraError(result.detail)
        reached = outcome(result.status, result.core_status)
        return Score(
            value={str(level): float(reaches(reached, level)) for level in Level},
            answer=state.output.completion,
            explanation=result.reason(core=True) or result.reason() or "every case passed",
            metadata={
                "status": str(result.status),
                "core_status": str(result.core_status),
                "cases": [case.as_row() for case in result.cases],
                **({"functions": tester.functions(row["instance_id"], result)} if config != FUNCTION else {}),
                "sandbox": tester.sandbox.name,
                "official_sandbox": tester.sandbox.official,
            },
        )

    return score


@contextlib.contextmanager
def _errors_in_one_line() -> Iterator[None]:
    """Convert errors to the type that Inspect prints without a traceback."""
    try:
        yield
    except LMRBenchError as error:
        # A private name of Inspect, imported here so that a move breaks nothing but this message.
        from inspect_ai._util.error import PrerequisiteError
        from rich.markup import escape

        raise PrerequisiteError(escape(str(error))) from error


class _Tester:
    """Tests answers in one sandbox, opened for the first answer and closed with the process."""

    def __init__(self, rows: Sequence[DatasetRow], kind: str) -> None:
        self._rows = {row["instance_id"]: row for row in rows}
        self._kind = kind
        self._opened: Sandbox | None = None
        self._images: dict[str, str] = {}
        self._lock = threading.Lock()

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox, opened when first used."""
        if self._opened is None:
            self._opened = open_sandbox(self._kind)
            atexit.register(self._opened.close)
        return self._opened

    def functions(self, instance: str, result: Verdict) -> list[PartRow]:
        """Return the verdict on each function of a method."""
        return result.functions(self._rows[instance]["tests"]["cases"])

    def test(self, raw: dict[str, str]) -> Verdict:
        """Test a prediction row and return the verdict.

        Raises:
            InfraError: the sandbox or the image is unavailable.
            StreamError, LoadError: the dataset's row is damaged.
        """
        row = self._rows[raw["instance_id"]]
        [prediction] = read_predictions([raw], self._rows)
        if not isinstance(prediction, Prediction):
            raise InfraError(str(prediction))
        with self._lock:
            tag = row["docker_image"]
            image = self._images[tag] = self._images.get(tag) or self.sandbox.prepare(tag)
        return evaluate_prediction(row, prediction, self.sandbox, image)
