"""Options of a run and of its judge."""

from pathlib import Path
from typing import Annotated, Literal, Self

import pydantic

from lmrbench_data import loader
from lmrbench_data.base.errors import ArgumentError
from lmrbench_data.base.settings import Settings, option
from lmrbench_data.chat.endpoint import Instances, RequestSettings
from lmrbench_data.loader import CONFIGS

from ..sandbox.zygotes import Isolation

#: Parallel sandboxes on this machine, unless settings name another number.
WORKERS = 2

Dataset = Annotated[str, option(..., "embedded, a folder, or org/name[@revision].")]
Config = Annotated[
    loader.Config, option(..., "Configuration of the dataset.", metavar=f"<{'|'.join(CONFIGS)}>")
]


class EvaluationSettings(Settings):
    """Options of all commands that evaluate."""

    categories: tuple[str, ...] = option((), "Categories to include (default: all).", "--category")
    isolation: Isolation = option(
        "shared",
        "shared: a sandbox runs many answers, each behind walls;"
        " container: it is removed after one.",
    )
    workers: int | None = option(
        None,
        "Number of parallel sandboxes (default: 2; with Ray, one for each CPU of the cluster).",
        "--workers",
        "-w",
        ge=1,
        le=256,
    )
    timeout_scale: float = option(
        1.0, "Factor for CPU time limits, for slow machines.", ge=0.01, le=100
    )
    fresh_seeds: int = option(0, "Number of additional, unpublished seeds.", ge=0, le=100)
    replace: bool = option(
        False, "Replace answers of the run folder that the predictions lack or change.", "--replace"
    )
    engine: Literal["threads", "ray"] = option(
        "threads", "threads of this machine, or ray: the nodes of a Ray cluster."
    )
    ray_address: str | None = option(
        None, "Address of the Ray cluster (default: RAY_ADDRESS, or the cluster on this machine)."
    )

    @pydantic.model_validator(mode="after")
    def _check_engine(self) -> Self:
        if self.ray_address and self.engine != "ray":
            raise ArgumentError("ray_address", "needs the engine ray")
        return self


class RunSettings(EvaluationSettings):
    """Options of evaluating predictions."""

    out: Path | None = option(
        None,
        "Run folder (default: runs/NAME-HASH from the predictions and the chosen instances).",
        "--out",
        "-o",
    )
    dataset: Dataset = "embedded"
    config: Config = "function"
    instances: Instances = ()


class JudgeSettings(RequestSettings):
    """Options of judging a run."""

    run: Path = option(help="Run folder of `lmrbench evaluate`.", argument=True)
    votes: int = option(1, "Judgements per answer; the majority decides.", ge=1, le=99)
    dataset: str | None = option(
        None, "New location of the dataset, if it has moved since the evaluation."
    )
