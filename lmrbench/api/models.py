"""Ask models: for answers, as agents, and as judges."""

from pathlib import Path
from typing import Any

from lmrbench_data.base.jobs import Progress
from lmrbench_data.base.settings import keywords
from lmrbench_data.dataset.load import load_rows
from lmrbench_evaluate.judge import judging
from lmrbench_evaluate.runs.settings import JudgeSettings

from ..generation import sampling
from ..generation.agents import agent_runs
from ..generation.settings import AgentSettings, SamplingSettings
from .run import Run, open_run, write_report


@keywords(SamplingSettings)
def generate(
    model: str,
    out: str | Path = "predictions.jsonl",
    *,
    progress: Progress | None = None,
    **settings: Any,
) -> sampling.SamplingSummary:
    """Ask a model for answers and append each to the predictions as soon as it arrives.

    The key is OPENAI_API_KEY. Repeat the call to resume. Works inside a notebook's event loop.

    Args:
        model: model name, as its server knows it.
        out: file of predictions; rows are added to it.
        progress: receives each answer.
        settings: `base_url`, `instances`, `samples` and the other fields of `SamplingSettings`, as
            `lmrbench generate --help` describes them.

    Raises:
        InputError: a wrong argument, or a key or model that the server does not know.
        InfraError: the account has no credit left.
    """
    chosen = SamplingSettings.of(**dict(settings, model=model, out=out))
    return sampling.sample(
        chosen, load_rows(chosen.dataset, chosen.config, chosen.instances), progress
    )


@keywords(AgentSettings)
def run_agent(
    agent: str, model: str, out: str | Path, *, progress: Progress | None = None, **settings: Any
) -> agent_runs.AgentSummary:
    """Run an agent on each instance, in a container without a network; write predictions.

    Rows go to `out`/predictions.jsonl one by one, records of the agent to `out`/trajectories. The
    key is OPENAI_API_KEY (ANTHROPIC_API_KEY for Anthropic's server) and stays outside the
    container, which reaches the model and nothing else. Repeat the call to resume. Needs Docker.

    Args:
        agent: `claude-code`, `codex`, `mini-swe-agent`, `openhands`, or a command that runs in the
            container.
        model: model name, as its server knows it.
        out: folder for predictions.jsonl and trajectories.
        progress: receives each row; the log has a line about it.
        settings: `base_url`, `instances`, `max_steps` and the other fields of `AgentSettings`, as
            `lmrbench agent run --help` describes them.

    Raises:
        InputError: a wrong argument, an agent that is not installed or has no image, or `out` holds
            rows of another agent.
        InfraError: there is no Docker, or no image of the tasks.
    """
    chosen = AgentSettings.of(**dict(settings, agent=agent, model=model, out=out))
    return agent_runs.run_agent(
        chosen, load_rows(chosen.dataset, chosen.config, chosen.instances), progress
    )


@keywords(JudgeSettings)
def judge(
    run: Run | str | Path, model: str, *, progress: Progress | None = None, **settings: Any
) -> Run:
    """Have a language model judge a run: completely correct, subtle errors, or wrong logic.

    The key is OPENAI_API_KEY. Judgements are added to the run folder one by one; repeat the call to
    resume. Works inside a notebook's event loop.

    Args:
        run: run of `evaluate`, or its folder.
        model: model name, as its server knows it.
        progress: receives each vote.
        settings: `base_url`, `votes` and the other fields of `JudgeSettings`, as `lmrbench judge
            --help` describes them.

    Raises:
        InputError: no run, another dataset, or a key or model that the server does not know.
        InfraError: the account has no credit left.
    """
    chosen = JudgeSettings.of(**dict(settings, run=Path(run), model=model))
    judged = open_run(chosen.run)
    judged.judging = judging.judge(chosen, progress)
    write_report(judged)
    return judged
