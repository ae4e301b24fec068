"""Settings of prompts, of sampling and of runs of agents."""

from dataclasses import dataclass
from pathlib import Path

from lmrbench_evaluate.runs.settings import RunSettings

from ..base.ranking import RANKED_BY
from ..base.settings import Settings, copied, nested
from ..base.settings import setting as option  # one of the options has the name `setting`
from ..chat.endpoint import Endpoint, JobSettings, RequestSettings

#: Amounts of context in a prompt; `prompt.SETTINGS` lists the contents of each.
SETTINGS = ("standard", "paper-only", "paper+goal-file", "full-repo")


@dataclass(frozen=True, kw_only=True)
class PromptSettings(Settings):
    """Settings of a prompt."""

    setting: str = option("standard", "What the model sees.", flags=("--setting", "-s"), choices=SETTINGS)
    track: str = option("paper", "'paper', or 'contract' to also show the contract.", choices=tuple(RANKED_BY))
    paper: str = option(
        "text", "Form of the paper: text (our summary), pdf-json or pdf-markdown (of a PDF in the cache), or none."
    )
    paper_pages: str = option("", "Pages of the PDF, such as 1-9 (default: all).")
    max_prompt_tokens: int | None = option(
        None, "Token limit of a prompt (an estimate); longer prompts are cut.", min=100
    )
    dataset: str = copied(RunSettings, "dataset")
    config: str = copied(RunSettings, "config")


@dataclass(frozen=True, kw_only=True)
class SamplingSettings(PromptSettings, RequestSettings):
    """Settings of sampling."""

    out: Path = option(Path("predictions.jsonl"), "File of predictions; rows are added to it.", flags=("--out", "-o"))
    endpoint: Endpoint = nested(timeout_s=600.0)
    name: str = option("", "Model name to record in the rows (default: `model`).")
    samples: int = option(1, "Answers per instance.", flags=("--samples", "-k"), min=1, max=1000)
    temperature: float | None = option(None, "Sampling temperature (default: the server's).", min=0, max=2)


@dataclass(frozen=True, kw_only=True)
class AgentSettings(JobSettings):
    """Settings of a run of an agent."""

    agent: str = option(
        help="mini-swe-agent, openhands, or a command that runs in the container.", flags=("--agent", "-a")
    )
    model: str = copied(Endpoint, "model")
    out: Path = option(help="Folder for predictions.jsonl and trajectories.", flags=("--out", "-o"))
    agent_files: Path | None = option(
        None, "Folder of files that the agent's command needs (at most 32 MB), copied into the container."
    )
    name: str = copied(SamplingSettings, "name")
    base_url: str | None = copied(Endpoint, "base_url")
    track: str = copied(PromptSettings, "track")
    samples: int = copied(SamplingSettings, "samples")
    workers: int = copied(JobSettings, "workers", default=2, help="Parallel containers.")
    max_steps: int | None = option(100, "Replies of the model per answer.", min=1)
    timeout_s: float = copied(Endpoint, "timeout_s", default=1800.0, help="Seconds per answer.", min=1)
    cpu_budget: int | None = option(
        None, "CPU seconds that the container may use per answer (default: the row's budget, if it has one).", min=1
    )
    max_tokens: int | None = copied(
        Endpoint, "max_tokens", help="Token limit of one reply, reasoning included (default: the agent's)."
    )
    dataset: str = copied(PromptSettings, "dataset")
    config: str = copied(PromptSettings, "config")
