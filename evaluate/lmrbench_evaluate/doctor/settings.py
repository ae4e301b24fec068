"""Options of the doctor."""

from pathlib import Path
from typing import Self

import pydantic

from lmrbench_data.base.errors import ArgumentError
from lmrbench_data.base.settings import Settings, option
from lmrbench_data.chat.endpoint import BaseUrl

from ..runs.settings import WORKERS


class DoctorSettings(Settings):
    """Services to examine beyond the machine itself."""

    model: str | None = option(None, "Model to ask for one token.", "--model", "-m")
    base_url: BaseUrl = None
    judge: str | None = option(None, "Judge to ask for one token.")
    judge_base_url: BaseUrl = None
    workers: int = option(
        WORKERS, "Number of parallel sandboxes to check memory and cores for.", "--workers", "-w", ge=1, le=256
    )
    benchmark: Path | None = option(None, "Folder of tasks whose environments are checked, too.")

    @pydantic.model_validator(mode="after")
    def _check_models(self) -> Self:
        for name, model in (("model", self.model), ("judge", self.judge)):
            address = "base_url" if name == "model" else "judge_base_url"
            if getattr(self, address) and not model:
                raise ArgumentError(address, f"needs the name of a model; add --{name}")
        return self
