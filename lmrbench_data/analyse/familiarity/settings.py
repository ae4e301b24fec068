"""Settings of probes of a model's familiarity with the benchmark."""

import re
from pathlib import Path

from lmrbench_evaluate.runs.settings import Dataset

from ...base.settings import option
from ...chat.endpoint import RequestSettings


class ProbeSettings(RequestSettings):
    """Settings of a probe of a model's familiarity."""

    out: Path | None = option(None, "Folder (default: runs/familiarity-MODEL).", "--out", "-o")
    dataset: Dataset = "embedded"

    @property
    def folder(self) -> Path:
        """The folder that holds the answers."""
        return self.out or Path("runs") / re.sub(r"[^\w.-]", "-", f"familiarity-{self.model}")
