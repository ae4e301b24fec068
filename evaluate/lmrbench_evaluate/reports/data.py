"""The data of a report, from which every format is rendered."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmrbench_data.tasks.manifest import LMR_BENCH

from ..predictions.sources import BadRow
from ..runs.folder import BENCHMARK
from .agreement import Agreement
from .annotations import Annotation
from .paired import Pair
from .scores import ModelScore


@dataclass(frozen=True)
class ReportData:
    """The scores of one or more runs, their comparisons, and people's labels."""

    paths: Sequence[Path]
    runs: list[dict[str, Any]]
    """run.json of each run."""
    scores: list[ModelScore]
    pairs: list[Pair]
    judge_model: str | None = None
    """The judge whose judgements count; the last one if None."""
    agreement: Agreement | None = None
    bad_annotations: Sequence[BadRow] = ()
    annotations: Sequence[Annotation] = ()
    """People's labels."""

    @property
    def benchmark(self) -> str:
        """The name of the benchmark; empty for LMR-Bench."""
        name = str(self.runs[0].get(BENCHMARK) or "") if self.runs else ""
        return "" if name == LMR_BENCH else name

    @property
    def title(self) -> str:
        """The heading of the report."""
        return f"Report on {self.benchmark}" if self.benchmark else "LMR-Bench report"
