"""Options of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lmrbench_data.base.errors import ArgumentError
from lmrbench_data.base.settings import Settings, copied, setting
from lmrbench_data.chat.endpoint import JobSettings
from lmrbench_data.loader import FUNCTION
from lmrbench_data.tasks.task import CONFIGS

ENGINES = ("threads", "ray")
#: Parallel sandboxes on this machine, unless settings name another number.
WORKERS = 2


@dataclass(frozen=True, kw_only=True)
class RunSettings(Settings):
    """Options of evaluating predictions."""

    out: Path | None = setting(
        None,
        "Run folder (default: runs/NAME-HASH from the predictions and the chosen instances).",
        flags=("--out", "-o"),
    )
    map: Mapping[str, str] | None = setting(
        None, 'Column names of the source mapped to ours, such as {"completion": "function"}.'
    )
    dataset: str = setting("embedded", "embedded, a folder, or org/name[@revision].")
    config: str = setting(FUNCTION, f"Configuration of the dataset: {', '.join(CONFIGS[:-1])} or {CONFIGS[-1]}.")
    instances: Sequence[str] = copied(JobSettings, "instances")
    categories: Sequence[str] = setting((), "Categories to include (default: all).", flags=("--category",))
    isolation: str = setting(
        "container", "container, or shared: answers share warm containers, which is faster and never official."
    )
    workers: int | None = setting(
        None,
        "Number of parallel sandboxes (default: 2; with Ray, one for each CPU of the cluster).",
        flags=("--workers", "-w"),
        min=1,
        max=256,
    )
    timeout_scale: float = setting(1.0, "Factor for CPU time limits, for slow machines.", min=0.01, max=100)
    fresh_seeds: int = setting(0, "Number of additional, unpublished seeds.", min=0, max=100)
    engine: str = setting("threads", "threads of this machine, or ray: the nodes of a Ray cluster.", choices=ENGINES)
    ray_address: str | None = setting(
        None, "Address of the Ray cluster (default: RAY_ADDRESS, or the cluster on this machine)."
    )

    def __post_init__(self) -> None:
        """Check the values."""
        super().__post_init__()
        if self.ray_address and self.engine != "ray":
            raise ArgumentError("ray_address", "needs the engine ray")
        if self.isolation != "container" and self.engine == "ray":
            raise ArgumentError("isolation", "the engine ray isolates each answer in a container of its own")
