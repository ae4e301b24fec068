"""LMR-Bench as an Inspect task: samples are our prompts; the scorer is our verdict and sandbox.

inspect eval lmrbench/lmr_bench --model openai/gpt-4.1 -T setting=full-repo
"""

import atexit
import contextlib
import functools
from collections.abc import Callable, Iterator

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, ChatMessageSystem, ChatMessageUser
from inspect_ai.scorer import Score, Target, mean, scorer, stderr
from inspect_ai.scorer import Scorer as InspectScorer
from inspect_ai.solver import TaskState, generate

from lmrbench_data.base.errors import ArgumentError, InfraError, LMRBenchError
from lmrbench_data.base.text import one_line
from lmrbench_data.dataset.load import load_rows
from lmrbench_data.dataset.rows import DatasetRow, choose_rows
from lmrbench_data.loader import Config, dataset_sha256
from lmrbench_evaluate.predictions.inspect_logs import answer_of, finish_reason, is_unanswered
from lmrbench_evaluate.predictions.prediction import check_track

from .api.scorer import Scorer
from .generation.paper_texts import paper_text
from .generation.prompt import Prompt, build_prompt, prompt_version

LEVELS = ("reproduced", "robust")
_METRICS = {level: [mean(), stderr()] for level in LEVELS}
_MESSAGES: dict[str, Callable[..., ChatMessage]] = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
}


@task
def lmr_bench(
    setting: str = "standard",
    track: str = "paper",
    paper: str = "text",
    paper_pages: str = "",
    instances: str | list[str] = "",
    dataset: str = "embedded",
    config: Config = "function",
    sandbox: str = "auto",
    workers: int = 2,
) -> Task:
    """Write the masked functions of a paper's repository; unit tests in a container score them.

    Args:
        setting: context for the model: `standard`, `paper-only`, `paper+goal-file`, `full-repo`.
        track: `paper`, or `contract` to also show the contract.
        paper: form of the paper: `text` (our summary), `pdf-json` (from a PDF in the cache) or
            `none`.
        paper_pages: pages of the PDF, such as `1-9`; all by default.
        instances: instance ids, as a list or separated by commas; all by default.
        dataset: `embedded`, a folder, or `org/name[@revision]`.
        config: configuration: `function`, `method`, `counterfactual` or `underspecified`.
        sandbox: sandbox for the tests: `auto`, `docker`, `bwrap` or `local`; not Inspect's own.
        workers: number of concurrent sandboxes.
    """
    with _errors_in_one_line():
        check_track(track)
        if workers < 1:
            raise ArgumentError("workers", f"must be at least 1, not {workers}")
        if isinstance(instances, str):
            instances = instances.split(",")
        names = [name.strip() for name in instances if name.strip()]
        rows = choose_rows(load_rows(dataset, config, names), names)
        samples = []
        for row in rows:
            text = paper_text(row, paper, paper_pages)
            samples.append(
                _sample(row, build_prompt(row, setting=setting, track=track, paper=text))
            )
    return Task(
        dataset=MemoryDataset(samples, name="lmr-bench"),
        solver=generate(),
        scorer=verdict(
            track=track,
            setting=setting,
            dataset=dataset,
            config=config,
            sandbox=sandbox,
            workers=workers,
        ),
        version=rows[0]["benchmark_version"],
        metadata={"dataset_sha256": dataset_sha256(rows), "prompt_version": prompt_version(config)},
    )


def _sample(row: DatasetRow, prompt: Prompt) -> Sample:
    """Return a prompt as a sample without a target: the tests decide, and a log shows no answer."""
    messages = [
        _MESSAGES[message["role"]](content=message["content"]) for message in prompt.messages
    ]
    metadata = {
        "category": row["category"],
        "row_sha256": row["row_sha256"],
        "prompt_sha256": prompt.sha256,
    }
    return Sample(id=row["instance_id"], input=messages, metadata=metadata)


@scorer(metrics=_METRICS)
def verdict(
    track: str = "paper",
    setting: str = "standard",
    dataset: str = "embedded",
    config: Config = "function",
    sandbox: str = "auto",
    workers: int = 2,
) -> InspectScorer:
    """Score an answer as reproduced (every core case passed) and robust (every case passed).

    A sandbox failure, or a prompt that the provider found too long, is an error of the sample,
    never a verdict; `inspect eval-retry` retries it.
    """

    @functools.cache
    def opened() -> Scorer:
        """Return the scorer, opened for the first answer and closed with the process."""
        scorer = Scorer(
            dataset=dataset, config=config, sandbox=sandbox, workers=workers, isolation="container"
        )
        atexit.register(scorer.close)
        return scorer

    async def score(state: TaskState, target: Target) -> Score:
        output = state.output
        if is_unanswered(output):
            text = one_line(output.completion)[:300]
            raise InfraError(f"the model wrote no answer ({output.stop_reason}: {text})")
        row = {
            "instance_id": str(state.sample_id),
            "model_name_or_path": str(state.model),
            "track": track,
            "setting": setting,
            "metadata": {"finish_reason": finish_reason(output)},
            **answer_of(output),
        }
        [result] = await opened().ascore([row])
        if result.reward is None:
            raise InfraError(result.reason)
        return Score(
            value={level: float(getattr(result, level)) for level in LEVELS},
            answer=output.completion,
            explanation=result.reason or "every case passed",
            metadata={
                "core_status": result.status,
                "core_cases": result.reward,
                "choices": dict(result.choices),
            },
        )

    return score


# A log names its scorer without the package, and `inspect score` looks for that name; a partial has
# no package.
scorer(metrics=_METRICS, name="verdict")(functools.partial(verdict))


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
