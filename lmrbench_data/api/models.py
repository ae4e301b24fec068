"""What asks a model: answers from it, from an agent that uses it, and its judgement of answers."""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from ..chat.client import Endpoint
from ..evaluate.judge.cache import Cache
from ..evaluate.judge.run import judge as judge_run
from ..evaluate.judge.settings import JudgeSettings
from ..generate.agents.run import AgentSettings, AgentSummary
from ..generate.agents.run import run_agent as run_agent_on
from ..generate.sampling import SamplingSettings, SamplingSummary, sample
from ..loader import load_rows
from ..progress import Progress
from .run import Run, open_run, write_report

_log = logging.getLogger(__name__)


def generate(
    model: str,
    out: str | Path,
    *,
    setting: str = "standard",
    track: str = "paper",
    paper: str = "text",
    paper_pages: str = "",
    samples: int = 1,
    name: str = "",
    base_url: str | None = None,
    temperature: float | None = None,
    workers: int = 4,
    prices: str | Path | None = None,
    max_cost: float | None = None,
    requests_per_minute: float | None = None,
    retries: int = 5,
    timeout_s: float = 600.0,
    max_tokens: int | None = None,
    max_prompt_tokens: int | None = None,
    instances: Sequence[str] = (),
    dataset: str = "embedded",
    progress: Progress | None = None,
) -> SamplingSummary:
    """Ask a model for answers, and write each as a row of predictions to `out` at once.

    The same call again asks only for those that are missing. Works inside a notebook's event loop.

    Args:
        model: as its server calls it.
        setting: what it is shown: `standard`, `paper-only`, `paper+goal-file`, `full-repo`.
        track: `paper`, or `contract`: then it is shown the contract, too.
        paper: its form: `text` (our summary), `pdf-json`, `pdf-markdown` (of a PDF in the cache) or `none`.
        paper_pages: of the PDF, such as `1-9`; all by default.
        samples: answers for each instance.
        name: of the model in the rows; by default `model`.
        base_url: an OpenAI-compatible server; OPENAI_BASE_URL or OpenAI's own by default. The key is OPENAI_API_KEY.
        temperature: the server's own by default.
        workers: requests at a time.
        prices: YAML file, model -> {input_per_mtok, output_per_mtok}, in US dollars.
        max_cost: stop when the answers of the file have cost this much, in US dollars; needs `prices`.
        requests_per_minute: limit on requests started.
        retries, timeout_s: of each request; seconds.
        max_tokens: limit of one answer, its reasoning included.
        max_prompt_tokens: cut longer prompts, by the rule of `generate/prompt.py`.
        instances: only these.
        dataset: `embedded`, a folder, or `org/name[@revision]`.
        progress: told of each answer.

    Raises:
        InputError: a choice that does not exist, or a key or model that the server does not know.
        InfraError: the account has no credit left.
    """
    settings = SamplingSettings(
        Path(out),
        Endpoint(model, base_url, retries, timeout_s, max_tokens, requests_per_minute),
        name,
        setting,
        track,
        paper,
        paper_pages,
        samples,
        temperature,
        workers,
        Path(prices) if prices is not None else None,
        max_cost,
        max_prompt_tokens,
        instances,
    )
    return sample(settings, load_rows(dataset), progress)


def run_agent(
    agent: str,
    model: str,
    out: str | Path,
    *,
    agent_files: str | Path | None = None,
    name: str = "",
    base_url: str | None = None,
    track: str = "paper",
    samples: int = 1,
    workers: int = 2,
    max_steps: int | None = 100,
    timeout_s: float = 1800.0,
    prices: str | Path | None = None,
    max_cost: float | None = None,
    instances: Sequence[str] = (),
    dataset: str = "embedded",
    progress: Progress | None = None,
    tell: Callable[[str], None] | None = None,
) -> AgentSummary:
    """Run an agent on each instance, in a container without a network, and keep what it changed as predictions.

    Rows go to `out`/predictions.jsonl one by one, what the agent did to `out`/trajectories. The same call again does
    only what is missing. Needs Docker.

    Args:
        agent: `mini-swe-agent`, `openhands`, or a command that is run in the container.
        model: as its server calls it; the container reaches it and nothing else.
        agent_files: of a command: a folder with its files; the container has a copy.
        name: of the model in the rows; by default `model`.
        base_url: an OpenAI-compatible server; OPENAI_BASE_URL or OpenAI's own by default. The key is OPENAI_API_KEY,
            and stays outside.
        track: `paper`, or `contract`: then the agent is shown the contract, too.
        samples: rows for each instance.
        workers: containers at a time.
        max_steps: answers of the model, for one row.
        timeout_s: seconds for one row.
        prices: YAML file, model -> {input_per_mtok, output_per_mtok}, in US dollars.
        max_cost: stop when the rows of the file have cost this much, in US dollars; needs `prices`.
        instances: only these.
        dataset: `embedded`, a folder, or `org/name[@revision]`.
        progress: told of each row.
        tell: told a line about each row; by default the line is logged.

    Raises:
        InputError: a choice that does not exist, an agent that is not installed or has no image, or `out` holds rows of
            another.
        InfraError: there is no Docker, or no image of the tasks.
    """
    settings = AgentSettings(
        agent,
        model,
        Path(out),
        Path(agent_files) if agent_files is not None else None,
        name,
        base_url,
        track,
        samples,
        workers,
        max_steps,
        timeout_s,
        Path(prices) if prices is not None else None,
        max_cost,
        instances,
    )
    return run_agent_on(settings, load_rows(dataset), progress, tell or _log.info)


def judge(
    run: Run | str | Path,
    model: str,
    *,
    base_url: str | None = None,
    votes: int = 1,
    workers: int = 4,
    prices: str | Path | None = None,
    max_cost: float | None = None,
    requests_per_minute: float | None = None,
    retries: int = 5,
    timeout_s: float = 300.0,
    max_tokens: int | None = None,
    instances: Sequence[str] = (),
    dataset: str | None = None,
    use_cache: bool = True,
    progress: Progress | None = None,
) -> Run:
    """Have a language model judge the answers of a run: completely correct, subtle errors, or wrong logic.

    Judgements are added to the run folder one by one; the same call again asks only for those that are missing. Works
    inside a notebook's event loop.

    Args:
        model: the judge, as its server calls it.
        base_url: an OpenAI-compatible server; OPENAI_BASE_URL or OpenAI's own by default. The key is OPENAI_API_KEY.
        votes: judgements of each answer; most votes win.
        workers: questions at a time.
        prices: YAML file, model -> {input_per_mtok, output_per_mtok}, in US dollars.
        max_cost: stop when the run's judgements have cost this much, in US dollars; needs `prices`.
        requests_per_minute: limit on requests started.
        retries, timeout_s: of each request; seconds.
        max_tokens: limit of one answer of the judge.
        instances: only these.
        dataset: where the run's dataset is now, if it has moved.
        use_cache: take judgements that an earlier run has paid for.
        progress: told of each vote.

    Raises:
        InputError: no run, another dataset, or a key or model that the server does not know.
        InfraError: the account has no credit left.
    """
    run = run if isinstance(run, Run) else open_run(run)
    endpoint = Endpoint(model, base_url, retries, timeout_s, max_tokens, requests_per_minute)
    settings = JudgeSettings(
        run.path,
        endpoint,
        votes,
        workers,
        Path(prices) if prices is not None else None,
        max_cost,
        dataset,
        instances,
        Cache.of_user() if use_cache else Cache(None),
    )
    judged = Run(run.path, run.summary, judge_run(settings, progress))
    write_report(judged)
    return judged
