"""Options of the doctor."""

from dataclasses import dataclass
from pathlib import Path

from lmrbench_data.base.errors import ArgumentError
from lmrbench_data.base.settings import Settings, copied, setting
from lmrbench_data.chat.endpoint import Endpoint

from ..runs.settings import WORKERS, RunSettings


@dataclass(frozen=True, kw_only=True)
class DoctorSettings(Settings):
    """Services to examine beyond the machine itself."""

    model: str | None = copied(Endpoint, "model", default=None, help="Model to ask for one token.")
    base_url: str | None = copied(Endpoint, "base_url")
    judge: str | None = setting(None, "Judge to ask for one token.")
    judge_base_url: str | None = copied(Endpoint, "base_url")
    workers: int = copied(
        RunSettings, "workers", default=WORKERS, help="Number of parallel sandboxes to check memory and cores for."
    )
    benchmark: Path | None = setting(None, "Folder of tasks whose environments are checked, too.")

    def __post_init__(self) -> None:
        """Check the values."""
        super().__post_init__()
        for name, model in (("model", self.model), ("judge", self.judge)):
            address = "base_url" if name == "model" else "judge_base_url"
            if getattr(self, address) and not model:
                raise ArgumentError(address, f"needs the name of a model; add --{name}")
