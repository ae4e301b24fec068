"""The types of the public names; `make stubs` writes this file."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from lmrbench_data.base.errors import ArgumentError as ArgumentError
from lmrbench_data.base.errors import InfraError as InfraError
from lmrbench_data.base.errors import InputError as InputError
from lmrbench_data.base.errors import LMRBenchError as LMRBenchError
from lmrbench_data.base.errors import LoadError as LoadError
from lmrbench_data.base.jobs import Progress as Progress
from lmrbench_data.base.version import __version__ as __version__
from lmrbench_data.dataset.load import load as load
from lmrbench_data.loader import unpack as unpack
from lmrbench_evaluate.reports.report import Report as Report
from lmrbench_evaluate.runs.engine import Engine
from lmrbench_evaluate.sandbox.base import Sandbox

from .api.run import Run as Run
from .api.run import open_run as open_run
from .api.run import report as report
from .api.scorer import Score as Score
from .api.scorer import Scorer as Scorer
from .generation.agents.agent_runs import AgentSummary as AgentSummary
from .generation.sampling import SamplingSummary as SamplingSummary

def evaluate(
    predictions: str | Path | Iterable[Mapping[str, Any]] | pd.DataFrame,
    out: str | Path | None = None,
    *,
    sandbox: Literal["auto", "docker", "bwrap", "local"] | str | Sandbox | Engine = "auto",
    progress: Progress | None = None,
    categories: list[str] | tuple[str, ...] = (),
    isolation: Literal["shared", "container"] = "shared",
    workers: int | None = None,
    timeout_scale: float = 1.0,
    fresh_seeds: int = 0,
    replace: bool = False,
    engine: Literal["threads", "ray"] = "threads",
    ray_address: str | None = None,
    dataset: str = "embedded",
    config: Literal["function", "method", "counterfactual", "underspecified"] = "function",
    instances: list[str] | tuple[str, ...] = (),
) -> Run: ...
def generate(
    model: str,
    out: str | Path = "predictions.jsonl",
    *,
    progress: Progress | None = None,
    base_url: str | None = None,
    max_tokens: int | None = None,
    body: dict[str, Any] = ...,
    retries: int = 5,
    timeout_s: float = 600.0,
    workers: int = 4,
    prices: str | Path | None = None,
    max_cost: float | None = None,
    instances: list[str] | tuple[str, ...] = (),
    track: Literal["paper", "contract"] = "paper",
    dataset: str = "embedded",
    config: Literal["function", "method", "counterfactual", "underspecified"] = "function",
    name: str = "",
    samples: int = 1,
    limit: int | None = None,
    setting: Literal["standard", "paper-only", "paper+goal-file", "full-repo"] = "standard",
    paper: str = "text",
    paper_pages: str = "",
    max_prompt_tokens: int | None = None,
    temperature: float | None = None,
) -> SamplingSummary: ...
def judge(
    run: Run | str | Path,
    model: str,
    *,
    progress: Progress | None = None,
    base_url: str | None = None,
    max_tokens: int | None = None,
    body: dict[str, Any] = ...,
    retries: int = 5,
    timeout_s: float = 300.0,
    workers: int = 4,
    prices: str | Path | None = None,
    max_cost: float | None = None,
    instances: list[str] | tuple[str, ...] = (),
    votes: int = 1,
    dataset: str | None = None,
) -> Run: ...
def run_agent(
    agent: str,
    model: str,
    out: str | Path,
    *,
    progress: Progress | None = None,
    base_url: str | None = None,
    max_tokens: int | None = None,
    body: dict[str, Any] = ...,
    workers: int = 2,
    prices: str | Path | None = None,
    max_cost: float | None = None,
    instances: list[str] | tuple[str, ...] = (),
    track: Literal["paper", "contract"] = "paper",
    dataset: str = "embedded",
    config: Literal["function", "method", "counterfactual", "underspecified"] = "function",
    name: str = "",
    samples: int = 1,
    limit: int | None = None,
    agent_files: str | Path | None = None,
    max_steps: int | None = 100,
    timeout_s: float = 1800.0,
    cpu_budget: int | None = None,
) -> AgentSummary: ...
