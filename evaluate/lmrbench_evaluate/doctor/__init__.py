"""`lmrbench doctor`: its options and the form of its findings; `checks` makes them."""

from dataclasses import dataclass
from enum import StrEnum
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
    workers: int = option(WORKERS, "Number of parallel sandboxes to check memory for.", "--workers", "-w", ge=1, le=256)
    benchmark: Path | None = option(None, "Folder of tasks whose environments are checked, too.")

    @pydantic.model_validator(mode="after")
    def _check_model(self) -> Self:
        if self.base_url and not self.model:
            raise ArgumentError("base_url", "needs the name of a model; add --model")
        return self


class Severity(StrEnum):
    """The consequence of a finding."""

    OK = "ok"
    NOTE = "note"
    """Evaluation works; something else does not, or works less well."""
    PROBLEM = "problem"
    """Evaluation, or the model that was named, cannot work."""


@dataclass(frozen=True)
class Finding:
    """The result of a check."""

    check: str
    severity: Severity
    text: str
    fix: str = ""
    """A command, or a short sentence; empty if there is nothing to fix."""
