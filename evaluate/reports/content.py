"""What a report says, whatever it is written as."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..prediction_files import BadRow
from ..runs.standing import foreign_benchmark
from .agreement import Agreement
from .calibration import Calibration
from .paired import Pair
from .scores import ModelScore


@dataclass(frozen=True)
class Content:
    """All that was computed from some runs."""

    paths: Sequence[Path]
    runs: list[dict[str, Any]]
    """run.json of each."""
    scores: list[ModelScore]
    pairs: list[Pair]
    judge_model: str | None = None
    """Whose judgements count; the last one's if None."""
    agreement: Agreement | None = None
    bad_annotations: list[BadRow] = field(default_factory=list)
    calibrations: list[Calibration] = field(default_factory=list)
    """Of the judges whose judgements count, as far as the runs keep some."""
    familiarity: list[str] = field(default_factory=list)
    """What is known of how familiar the models are with the papers, as far as the runs keep it."""

    @property
    def benchmark(self) -> str:
        """The name of the benchmark if it is somebody's own; empty for LMR-Bench."""
        return foreign_benchmark(self.runs[0]) if self.runs else ""

    @property
    def title(self) -> str:
        """What stands on top."""
        return f"Report on {self.benchmark}" if self.benchmark else "LMR-Bench report"
