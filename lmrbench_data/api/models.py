"""Ask models: for answers, as agents, and as judges."""

import logging
from collections.abc import Callable

from lmrbench_evaluate.judge.judging import judge as judge_run
from lmrbench_evaluate.judge.settings import JudgeSettings

from ..base.progress import Progress
from ..base.settings import accepts
from ..dataset.load import load_rows
from ..generation.agents.agent_runs import AgentSummary
from ..generation.agents.agent_runs import run_agent as run_agent_on
from ..generation.sampling import SamplingSummary, sample
from ..generation.settings import AgentSettings, SamplingSettings
from .run import Run, open_run, write_report

_log = logging.getLogger(__name__)


@accepts(SamplingSettings, "model", "out")
def generate(settings: SamplingSettings, *, progress: Progress | None = None) -> SamplingSummary:
    """Ask a model for answers and append each to the predictions as soon as it arrives.

    The key is OPENAI_API_KEY. Repeat the call to resume. Works inside a notebook's event loop.

    Args:
        progress: Receives each answer.

    Raises:
        InputError: An unknown choice, or a key or model that the server does not know.
        InfraError: The account has no credit left.
    """
    return sample(settings, load_rows(settings.dataset, settings.config), progress)


@accepts(AgentSettings, "agent", "model", "out")
def run_agent(
    settings: AgentSettings, *, progress: Progress | None = None, tell: Callable[[str], None] | None = None
) -> AgentSummary:
    """Run an agent on each instance, in a container without a network, and keep its changes as predictions.

    Rows go to `out`/predictions.jsonl one by one, records of the agent to `out`/trajectories. The key is OPENAI_API_KEY
    and stays outside the container, which reaches the model and nothing else. Repeat the call to resume. Needs Docker.

    Args:
        progress: Receives each row.
        tell: Receives a line about each row (default: the log).

    Raises:
        InputError: An unknown choice, an agent that is not installed or has no image, or `out` holds rows of another
            agent.
        InfraError: There is no Docker, or no image of the tasks.
    """
    return run_agent_on(settings, load_rows(settings.dataset, settings.config), progress, tell or _log.info)


@accepts(JudgeSettings, "run", "model")
def judge(settings: JudgeSettings, *, progress: Progress | None = None) -> Run:
    """Have a language model judge the answers of a run: completely correct, subtle errors, or wrong logic.

    The key is OPENAI_API_KEY. Judgements are added to the run folder one by one; repeat the call to resume. Works
    inside a notebook's event loop.

    Args:
        progress: Receives each vote.

    Raises:
        InputError: No run, another dataset, or a key or model that the server does not know.
        InfraError: The account has no credit left.
    """
    run = open_run(settings.run)
    run.judging = judge_run(settings, progress)
    write_report(run)
    return run
