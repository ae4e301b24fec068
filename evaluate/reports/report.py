"""The report of one or more runs: scores, paired comparisons and agreement.

Everything is computed from the rows of the run folders; nothing is read from an earlier report.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...errors import ArgumentError, InputError
from ...files import write_atomically
from ...text import counted
from ..prediction_files import BadRow
from ..runs.results import read_facts
from .agreement import measure_agreement
from .annotations import Annotation
from .calibration import calibrations_of
from .content import Content
from .familiarity import familiarity_lines
from .paired import compare_pairs
from .scores import score_runs
from .tables import column

#: What a report is saved as, told by the end of the name.
FORMS = (".md", ".json", ".csv", ".html")
#: So many models are compared two by two.
MAX_COMPARED = 12


class Report(Content):
    """What a report says, and writes itself as: Markdown, JSON, CSV, HTML."""

    def to_markdown(self) -> str:
        """Tables and notes as Markdown."""
        from .text import render_markdown

        return render_markdown(self)

    def to_dict(self) -> dict[str, Any]:
        """All numbers, fit for JSON."""
        from .text import report_dict

        return report_dict(self)

    def to_csv(self) -> str:
        """One row for each answer, for a spreadsheet."""
        from .text import render_csv

        return render_csv(self)

    def to_html(self) -> str:
        """One self-contained page, every answer beside the reference.

        Raises:
            InputError: the extra `report` is not installed, or a run folder is damaged.
        """
        from .html import render_html

        return render_html(self)

    def save(self, path: str | Path) -> Path:
        """Write the report as what the name ends in: .md, .json, .csv or .html.

        Raises:
            ArgumentError: it ends in something else.
        """
        path = Path(path)
        check_form(path)
        forms = {".md": self.to_markdown, ".csv": self.to_csv, ".html": self.to_html, ".json": self._to_json}
        write_atomically(path, forms[path.suffix]())
        return path

    def _to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2) + "\n"

    def __repr__(self) -> str:
        models = ", ".join(score.name for score in self.scores)
        return f"<Report of {counted(len(self.runs), 'run')}: {models}>"

    def _repr_markdown_(self) -> str:
        """How a notebook shows it."""
        return self.to_markdown()


def check_form(path: Path) -> None:
    """See before the work whether a report can be saved under this name.

    Raises:
        ArgumentError: nobody knows as what.
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
    """Read run folders and compute all that a report says.

    Args:
        judge_model: whose judgements count, if a run was judged by several; the last one by default.
        annotations: what people said, to be compared with the judge.

    Raises:
        InputError: no run folder, a damaged one, or runs on different datasets.
    """
    facts = [read_facts(path) for path in paths]
    _check_datasets(paths, facts)
    scores = score_runs(paths, judge_model)
    names = [column(score, scores) for score in scores]
    pairs = compare_pairs(scores, names) if len(scores) <= MAX_COMPARED else []
    agreement = measure_agreement(annotations, scores) if annotations is not None else None
    calibrations = calibrations_of(paths, judge_model)
    familiarity = familiarity_lines(scores)
    bad = list(bad_annotations)
    return Report(paths, facts, scores, pairs, judge_model, agreement, bad, calibrations, familiarity)


def _check_datasets(paths: Sequence[Path], facts: Sequence[dict[str, Any]]) -> None:
    """Numbers of different tasks never stand in one table."""
    for path, other in zip(paths, facts, strict=True):
        if other["dataset_sha256"] != facts[0]["dataset_sha256"]:
            named = [
                f"{where} is on {run['dataset']} {run['benchmark_version']} ({run['dataset_sha256'][:12]})"
                for where, run in ((paths[0], facts[0]), (path, other))
            ]
            raise InputError(
                f"runs on different datasets cannot be compared: {', '.join(named)}; give a report for each of them"
            )
