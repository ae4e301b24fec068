"""Report on one or more runs: scores, paired comparisons and agreement, in several formats.

Every number is computed from the rows of the run folders, never read from an earlier report.
"""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmrbench_data.base.errors import ArgumentError, InputError
from lmrbench_data.base.extras import require_extra
from lmrbench_data.base.files import write_atomically
from lmrbench_data.base.text import plural
from lmrbench_data.loader import FUNCTION

from ..predictions.sources import BadRow
from ..runs.folder import RunFolder
from ..verdict.levels import Level, reaches
from .agreement import measure_agreement
from .annotations import Annotation
from .data import ReportData
from .paired import Pair, compare_pairs
from .score_tables import column
from .scores import ModelScore, score_runs
from .sections import FAILURES, failures, notes, tables
from .spending import NAMES
from .tally import ScoredAnswer
from .text_table import csv_cell, escape, markdown_table

#: Extension of each format of a report → number of characters that begin all such reports.
FORMS = {".md": 18, ".json": 12, ".csv": 22, ".html": 250}
#: Largest number of models that are compared two by two.
MAX_COMPARED = 12
#: Largest number of rows in the Markdown table of failures.
MAX_REASONS = 100


class Report(ReportData):
    """A report on one or more runs."""

    def to_markdown(self) -> str:
        """Return tables and notes as Markdown."""
        lines = [f"# {escape(self.title)}", ""]
        for facts in self.runs:
            lines += _run_lines(facts)
        for title, table in tables(self):
            lines += ["", f"## {title}", "", *markdown_table(*table)]
        lines += self._failure_lines()
        for note in notes(self):
            lines += ["", escape(note)]
        return "\n".join(lines) + "\n"

    def _failure_lines(self) -> list[str]:
        reasons = list(itertools.chain.from_iterable(map(failures, self.paths)))
        if not reasons:
            return []
        shown = markdown_table(FAILURES, reasons[:MAX_REASONS])
        more = len(reasons) - MAX_REASONS
        note = ["", f"{more} more are in results.jsonl."] if more > 0 else []
        return ["", "## What did not pass", "", *shown, *note]

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as JSON types."""
        return {
            "runs": self.runs,
            "scores": [score.as_dict() for score in self.scores],
            "pairs": [_pair_dict(pair) for pair in self.pairs],
            "agreement": self.agreement and self.agreement.as_dict(),
            "bad_annotations": [str(bad) for bad in self.bad_annotations],
        }

    def to_csv(self) -> str:
        """Return one CSV row per answer, for a spreadsheet."""
        import pandas as pd

        header = ["run", "model_name_or_path", "setting", "track", "instance_id", "category"]
        header += ["sample", *map(str, Level), "status", "core_status", "judge", "difficulty"]
        rows = []
        for score in self.scores:
            for instance, answers in sorted(score.answers.items()):
                rows += [_csv_row(score, instance, answer) for answer in answers]
        frame = pd.DataFrame(rows, columns=[*header, *NAMES], dtype=object).map(csv_cell)
        return str(frame.to_csv(index=False, lineterminator="\n"))

    def to_html(self) -> str:
        """Return one self-contained HTML page with every answer beside the reference.

        Raises:
            InputError: the extra `report` is not installed, or a run folder is damaged.
        """
        require_extra("report", "the HTML report")
        from .html import render_html

        return render_html(self)

    def save(self, path: str | Path, *, replace: bool = False) -> Path:
        """Write the report; the extension selects the format: .md, .json, .csv or .html.

        Args:
            replace: whether a file that is not a report is replaced.

        Raises:
            ArgumentError: the extension is unknown, or `path` is another file.
        """
        path = Path(path)
        check_form(path)
        make = {".md": self.to_markdown, ".csv": self.to_csv, ".html": self.to_html}
        if path.suffix == ".json":
            text = json.dumps(self.to_dict(), indent=2) + "\n"
        else:
            text = make[path.suffix]()
        if not replace:
            _check_is_report(path, text[: FORMS[path.suffix]].encode())
        write_atomically(path, text)
        return path

    def save_figures(self, folder: str | Path) -> list[Path]:
        """Write the figures that have data as SVG and PDF, and tables as LaTeX; return the files.

        Raises:
            InputError: the extra `report` is not installed, or a run folder is damaged.
        """
        require_extra("report", "a figure")
        from .figures import write_figures

        return write_figures(self, Path(folder))

    def __repr__(self) -> str:
        models = ", ".join(score.name for score in self.scores)
        return f"<Report of {plural(len(self.runs), 'run')}: {models}>"

    _repr_markdown_ = to_markdown  # for notebooks


def check_form(path: Path) -> None:
    """Check before any work that a report can be saved under this name.

    Raises:
        ArgumentError: the extension is unknown.
    """
    if path.suffix not in FORMS:
        *others, last = FORMS
        raise ArgumentError("out", f"{path}: the name must end in {', '.join(others)} or {last}")


def _check_is_report(path: Path, head: bytes) -> None:
    """Raise ArgumentError if there is a file that does not begin as a report does."""
    if not path.exists():
        return
    with path.open("rb") as file:
        start = file.read(len(head))
    if start and start != head:
        fix = "choose another name, or replace it (`replace=True`)"
        raise ArgumentError("out", f"{path}: exists, and is not a report; {fix}")


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
        InputError: a path is not a run folder, a folder is damaged, or the runs are on different
            datasets or configurations.
    """
    facts = [RunFolder(path).facts for path in paths]
    _check_datasets(paths, facts)
    scores = score_runs(paths, judge_model)
    names = [column(score, scores) for score in scores]
    pairs = compare_pairs(scores, names) if len(scores) <= MAX_COMPARED else []
    agreement = measure_agreement(annotations, scores) if annotations is not None else None
    return Report(
        paths, facts, scores, pairs, judge_model, agreement, bad_annotations, annotations or ()
    )


def _check_datasets(paths: Sequence[Path], facts: Sequence[dict[str, Any]]) -> None:
    """Refuse runs on different rows: their numbers must not share a table."""
    places: dict[tuple[str, str], str] = {}
    for path, run in zip(paths, facts, strict=True):
        config = run.get("config", FUNCTION)
        sha256 = run["dataset_sha256"]
        dataset = f"{run['dataset']} {run['benchmark_version']} ({sha256[:12]})"
        places.setdefault((config, sha256), f"{path} is on {config} of {dataset}")
    if len(places) > 1:
        raise InputError(
            f"only runs on the same rows can be compared: {', '.join(places.values())}"
        )


def _run_lines(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield dataset, sandbox and harness of a run as one line, and another on bad rows."""
    line = _run_line(facts)
    yield line if facts.get("complete") else f"{line}, **incomplete**"
    bad = facts.get("bad_rows")
    if bad:
        rows = plural(len(bad), "prediction row")
        yield f"  - {rows} could not be evaluated; see `bad_rows` in run.json"


def _run_line(facts: Mapping[str, Any]) -> str:
    dataset = f"{escape(facts['dataset'])} version {escape(facts['benchmark_version'])}"
    sha256 = escape(facts["dataset_sha256"][:12])
    line = f"- run {escape(facts['run_id'])}: dataset {dataset} ({sha256})"
    line += f", sandbox {escape(facts['sandbox'])}"
    if not facts["official_sandbox"]:
        line += " (not for a leaderboard)"
    if facts["fresh_seed_count"]:
        line += f", {plural(facts['fresh_seed_count'], 'fresh seed')}"
    return line + f", harness {escape(facts['harness_version'])}, {escape(facts['started_at'])}"


def _csv_row(score: ModelScore, instance: str, answer: ScoredAnswer) -> list[Any]:
    row = [score.run, *score.key, instance, score.scope[instance], answer.sample]
    row += [int(reaches(answer.outcome, level)) for level in Level]
    row += [answer.status, answer.core_status, answer.judged or ""]
    row += [score.difficulties.get(instance, "")]
    return row + [answer.amounts.get(name, "") for name in NAMES]


def _pair_dict(pair: Pair) -> dict[str, Any]:
    facts = {**vars(pair), "instances": pair.instances}
    del facts["interval"]
    return {**facts, "ci95": [round(bound, 4) for bound in pair.interval]}
