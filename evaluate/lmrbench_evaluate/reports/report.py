"""Report on one or more runs: scores, paired comparisons and agreement.

Every number is computed from the rows of the run folders, never read from an earlier report.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmrbench_data.base.errors import ArgumentError, InputError
from lmrbench_data.base.extras import need
from lmrbench_data.base.files import write_atomically
from lmrbench_data.base.text import counted
from lmrbench_data.loader import FUNCTION

from ..predictions.sources import BadRow
from ..runs.folder import RunFolder
from .agreement import measure_agreement
from .annotations import Annotation
from .paired import compare_pairs
from .report_data import ReportData
from .score_tables import column
from .scores import score_runs

#: Extensions of the formats that a report can be saved in.
FORMS = (".md", ".json", ".csv", ".html")
#: Largest number of models that are compared two by two.
MAX_COMPARED = 12


class Report(ReportData):
    """A report on one or more runs, as Markdown, JSON, CSV or HTML."""

    def to_markdown(self) -> str:
        """Return tables and notes as Markdown."""
        from .formats import render_markdown

        return render_markdown(self)

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as JSON types."""
        from .formats import report_dict

        return report_dict(self)

    def to_csv(self) -> str:
        """Return one CSV row per answer, for a spreadsheet."""
        from .formats import render_csv

        return render_csv(self)

    def to_html(self) -> str:
        """Return one self-contained HTML page with every answer beside the reference.

        Raises:
            InputError: the extra `report` is not installed, or a run folder is damaged.
        """
        from .html import render_html

        return render_html(self)

    def save(self, path: str | Path) -> Path:
        """Write the report; the extension selects the format: .md, .json, .csv or .html.

        Raises:
            ArgumentError: the extension is unknown.
        """
        path = Path(path)
        check_form(path)
        forms = {".md": self.to_markdown, ".csv": self.to_csv, ".html": self.to_html, ".json": self._to_json}
        write_atomically(path, forms[path.suffix]())
        return path

    def save_figures(self, folder: str | Path) -> list[Path]:
        """Write the figures that have data as SVG and PDF, and tables as LaTeX and CSV, for a paper; return the files.

        Raises:
            InputError: the extra `report` is not installed, or a run folder is damaged.
        """
        need("report", "a figure")
        from .figures import write_figures

        return write_figures(self, Path(folder))

    def _to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2) + "\n"

    def __repr__(self) -> str:
        models = ", ".join(score.name for score in self.scores)
        return f"<Report of {counted(len(self.runs), 'run')}: {models}>"

    def _repr_markdown_(self) -> str:
        """Return the Markdown that a notebook shows."""
        return self.to_markdown()


def check_form(path: Path) -> None:
    """Check before any work that a report can be saved under this name.

    Raises:
        ArgumentError: the extension is unknown.
    """
    if path.suffix not in FORMS:
        raise ArgumentError("out", f"{path}: give a name that ends in {', '.join(FORMS[:-1])} or {FORMS[-1]}")


def make_report(
    paths: Sequence[Path],
    *,
    judge_model: str | None = None,
    annotations: Sequence[Annotation] | None = None,
    bad_annotations: Sequence[BadRow] = (),
) -> Report:
    """Read run folders and compute a report on them.

    Args:
        judge_model: the judge whose judgements count (default: the last one).
        annotations: people's labels, to be compared with the judge.

    Raises:
        InputError: a path is not a run folder, a folder is damaged, or the runs are on different datasets or
            configurations.
    """
    facts = [RunFolder(path).facts for path in paths]
    _check_datasets(paths, facts)
    scores = score_runs(paths, judge_model)
    names = [column(score, scores) for score in scores]
    pairs = compare_pairs(scores, names) if len(scores) <= MAX_COMPARED else []
    agreement = measure_agreement(annotations, scores) if annotations is not None else None
    return Report(paths, facts, scores, pairs, judge_model, agreement, bad_annotations, annotations or ())


def _check_datasets(paths: Sequence[Path], facts: Sequence[dict[str, Any]]) -> None:
    """Refuse runs on different datasets or configurations: their numbers must not share a table."""
    configs = [run.get("config", FUNCTION) for run in facts]
    if len(set(configs)) > 1:
        named = [f"{path} is on {config}" for path, config in zip(paths, configs, strict=True)]
        raise InputError(
            f"runs on different configurations cannot be compared: {', '.join(named)}; make a report for each of them"
        )
    for path, other in zip(paths, facts, strict=True):
        if other["dataset_sha256"] != facts[0]["dataset_sha256"]:
            named = [
                f"{where} is on {run['dataset']} {run['benchmark_version']} ({run['dataset_sha256'][:12]})"
                for where, run in ((paths[0], facts[0]), (path, other))
            ]
            raise InputError(
                f"runs on different datasets cannot be compared: {', '.join(named)}; make a report for each of them"
            )
