"""Settings of prompts, of sampling and of runs of agents."""

import re
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from lmrbench_data.base import proportions
from lmrbench_data.base.settings import Settings, option
from lmrbench_data.chat.endpoint import JobSettings, RequestSettings
from lmrbench_data.chat.server import address, server_name
from lmrbench_data.dataset.result_rows import setting_label
from lmrbench_data.loader import FUNCTION
from lmrbench_evaluate.runs.settings import Config, Dataset

Track = Annotated[
    proportions.Track, option(..., "'paper', or 'contract' to also show the contract.")
]


class RowSettings(Settings):
    """Rows of the dataset, and how much of each a model sees."""

    track: Track = "paper"
    dataset: Dataset = "embedded"
    config: Config = "function"


class PromptSettings(RowSettings):
    """Settings of a prompt."""

    #: `prompt.SETTINGS` lists the contents of each.
    setting: Literal["standard", "paper-only", "paper+goal-file", "full-repo"] = option(
        "standard", "What the model sees.", "--setting", "-s"
    )
    paper: str = option(
        "text",
        "Form of the paper: our summary as text, a PDF in the cache as JSON, or none.",
        metavar="<text|pdf-json|none>",
    )
    paper_pages: str = option("", "Pages of the PDF, such as 1-9 (default: all).")
    max_prompt_tokens: int | None = option(
        None, "Token limit of a prompt (an estimate); longer prompts are cut.", ge=100
    )


class AnswerSettings(RowSettings, JobSettings):
    """Settings of asking for answers, by sampling or from an agent."""

    #: Fields that shape an answer, besides instance, setting and track.
    SHAPING: ClassVar[tuple[str, ...]] = ()
    name: str = option("", "Model name to record in the rows (default: --model).")
    samples: int = option(1, "Answers per instance.", "--samples", "-k", ge=1, le=1000)
    limit: int | None = option(
        None, "Only the first instances, this many, for a pilot (default: all).", ge=1
    )

    def request(self) -> dict[str, Any]:
        """Return what shapes an answer."""
        names = ("model", "max_tokens", "body", *self.SHAPING)
        return {
            "base_url": server_name(address(self.base_url)),
            **{name: getattr(self, name) for name in names},
        }


class SamplingSettings(PromptSettings, AnswerSettings, RequestSettings):
    """Settings of sampling."""

    SHAPING: ClassVar = ("paper", "paper_pages", "temperature", "max_prompt_tokens")
    out: Path = option(
        Path("predictions.jsonl"), "File of predictions; rows are added to it.", "--out", "-o"
    )
    timeout_s: float = option(600.0, "Seconds per request.", "--timeout", ge=0.1)
    temperature: float | None = option(
        None, "Sampling temperature (default: the server's).", ge=0, le=2
    )

    @property
    def label(self) -> str:
        """The setting in rows and reports."""
        return setting_label(self.setting, self.paper, self.paper_pages, self.temperature)

    @property
    def run_name(self) -> str:
        """The name of the run folder for these answers."""
        config = "" if self.config == FUNCTION else self.config
        parts = filter(None, (self.name or self.model, self.label, self.track, config))
        return re.sub(r"[^\w.-]+", "-", "-".join(parts))


class AgentSettings(AnswerSettings):
    """Settings of a run of an agent, which itself sets the temperature and retries requests."""

    SHAPING: ClassVar = ("agent", "max_steps", "timeout_s", "cpu_budget")
    agent: str = option(
        ...,
        "claude-code, codex, mini-swe-agent, openhands, or a command that runs in the container.",
        "--agent",
        "-a",
    )
    out: Path = option(..., "Folder for predictions.jsonl and trajectories.", "--out", "-o")
    agent_files: Path | None = option(
        None,
        "Folder of files that the agent's command needs (at most 32 MB), copied into the "
        "container.",
    )
    workers: int = option(2, "Parallel containers.", "--workers", "-w", ge=1, le=256)
    max_steps: int | None = option(100, "Replies of the model per answer.", ge=1)
    timeout_s: float = option(1800.0, "Seconds per answer.", "--timeout", ge=1)
    cpu_budget: int | None = option(
        None,
        "CPU seconds that the container may use per answer (default: the row's budget, if it "
        "has one).",
        ge=1,
    )
