"""Settings of probes of a model's familiarity with the benchmark."""

import re
from dataclasses import dataclass
from pathlib import Path

from ...base.settings import copied, setting
from ...chat.endpoint import RequestSettings
from ...generation.settings import PromptSettings


@dataclass(frozen=True, kw_only=True)
class ProbeSettings(RequestSettings):
    """Settings of a probe of a model's familiarity."""

    out: Path | None = setting(None, "Folder (default: runs/familiarity-MODEL).", flags=("--out", "-o"))
    dataset: str = copied(PromptSettings, "dataset")

    @property
    def folder(self) -> Path:
        """The folder that holds the answers."""
        return self.out or Path("runs") / re.sub(r"[^\w.-]", "-", f"familiarity-{self.endpoint.model}")
