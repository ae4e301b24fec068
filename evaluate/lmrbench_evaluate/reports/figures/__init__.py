"""Figures and tables of a report for a paper: SVG and PDF one column wide, LaTeX and CSV.

A figure holds one track and one setting, because their scores never share an order. Figures show numbers that `scores`
has computed. One that lacks its data is skipped, with the reason.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lmrbench_data.base.extras import need
from lmrbench_data.base.files import write_atomically
from lmrbench_data.base.names import child_path

from ..report_data import ReportData
from ..scores import ModelScore
from .names import model_names
from .tables import TABLES


@dataclass
class FigureFiles:
    """The files of one call, and the skipped ones."""

    written: list[Path] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    """For each figure or table that lacks data, in whole or for some models, one line: its name and the reason."""

    def add(self, folder: Path, stem: str, content: Mapping[str, bytes | str], missing: str) -> None:
        """Write a file for each form (extension → content), and note missing data."""
        if missing:
            self.skipped.append(f"{stem}: {missing}")
        for form, data in content.items():
            path = child_path(folder, stem, f".{form}")
            write_atomically(path, data)
            self.written.append(path)


def write_figures(report: ReportData, folder: Path) -> FigureFiles:
    """Write all figures and tables of a report; equal reports give equal files.

    Raises:
        InputError: the extra `report` is not installed.
        OSError: a file cannot be written.
    """
    need("report", "a figure")
    from .canvas import rendered, style
    from .charts import CHARTS

    files = FigureFiles()
    with style():
        for suffix, scores in _groups(report.scores):
            for name, chart in CHARTS.items():
                figure, missing = chart(scores, model_names(scores))
                files.add(folder, name + suffix, rendered(figure) if figure else {}, missing)
    for name, make in TABLES.items():
        table = make(report) if report.scores else "no answer was evaluated"
        files.add(folder, name, *(({}, table) if isinstance(table, str) else (table._asdict(), "")))
    return files


def _groups(scores: Sequence[ModelScore]) -> Iterator[tuple[str, list[ModelScore]]]:
    """Yield the scores of each track and setting, with the ending of their files' names; empty for a single group."""
    keys = list(dict.fromkeys((score.track, score.setting) for score in scores))
    tracks, settings = ({key[place] for key in keys} for place in (0, 1))
    used: dict[str, int] = {}
    for key in keys:
        parts = [*(key[:1] if len(tracks) > 1 else ()), *([key[1] or "unstated"] if len(settings) > 1 else ())]
        suffix = "".join(f"-{re.sub(r'[^A-Za-z0-9]+', '-', part).strip('-')[:40] or 'other'}" for part in parts)
        number = used[suffix] = used.get(suffix, 0) + 1
        yield suffix + (f"-{number}" if number > 1 else ""), [s for s in scores if (s.track, s.setting) == key]
