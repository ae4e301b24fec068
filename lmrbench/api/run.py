"""Runs as objects, and reports on several of them."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.proportions import Share
from lmrbench_data.base.text import plural
from lmrbench_data.dataset.result_rows import ResultRow
from lmrbench_data.loader import FUNCTION
from lmrbench_evaluate.predictions.sources import BadRow
from lmrbench_evaluate.runs.evaluation import RunSummary
from lmrbench_evaluate.runs.folder import RunFolder
from lmrbench_evaluate.verdict.choices import STATED
from lmrbench_evaluate.verdict.levels import Level, reaches
from lmrbench_evaluate.verdict.verdict import Status

if TYPE_CHECKING:
    import pandas as pd

    from lmrbench_evaluate.judge.asking import JudgeSummary
    from lmrbench_evaluate.judge.judgement_log import Judgement
    from lmrbench_evaluate.reports.report import Report
    from lmrbench_evaluate.reports.tally import ScoredAnswer

MAX_NAMED = 20
_log = logging.getLogger(__name__)


@dataclass
class Run:
    """A run folder: results, and judgements if it was judged; accepted wherever a path is."""

    path: Path
    summary: RunSummary | None = None
    """The outcome of `evaluate`; None for a run that was only opened."""
    judging: "JudgeSummary | None" = None
    """The outcome of `judge`."""

    def __fspath__(self) -> str:
        """Return the folder: a run can be given wherever a path can."""
        return str(self.path)

    @property
    def facts(self) -> dict[str, Any]:
        """run.json: dataset, sandbox, limits, versions, times.

        Raises:
            InputError: it is missing or damaged.
        """
        return RunFolder(self.path).facts

    @property
    def complete(self) -> bool:
        """Whether every prediction has a verdict other than an infra error."""
        return bool(self.facts.get("complete"))

    def results(self) -> list[ResultRow]:
        """Return the result of each prediction, in the order of the predictions."""
        return list(RunFolder(self.path).rows())

    def to_pandas(self, judge_model: str | None = None) -> "pd.DataFrame":
        """Return one row per prediction: result, `reproduced`, `robust` and the `judge`'s category.

        Rows have the order of the predictions; the category is None if the answer was not judged. A
        run on methods also has `functions_passed`, the share of functions that passed;
        `choices_read`, the share of altered choices that were read; `choices_settled`, the share of
        open choices that were settled; and `difficulty`, where rows have one. Shares are None after
        an infra error, or if there is nothing to count.
        """
        import pandas as pd

        from lmrbench_evaluate.judge.judgement_log import read_judgements
        from lmrbench_evaluate.predictions.prediction import AnswerKey

        facts = self.facts
        judgements = read_judgements(self.path, judge_model)
        records = []
        for row in self.results():
            judgement = judgements.get(AnswerKey.of(row).question)
            records.append(_record(row, judgement, facts))
        return pd.DataFrame(records)

    def report(self, judge_model: str | None = None) -> "Report":
        """Return the report on this run alone."""
        from lmrbench_evaluate.reports.report import make_report

        return make_report([self.path], judge_model=judge_model)

    def _repr_markdown_(self) -> str:
        """Return the Markdown that a notebook shows."""
        return self.report().to_markdown()


def _record(
    row: ResultRow, judgement: "Judgement | None", facts: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a result as a row of a frame, given the facts of its run."""
    from lmrbench_evaluate.reports.tally import ScoredAnswer

    answer = ScoredAnswer.of(row, judgement)
    record: dict[str, Any] = dict(row)
    for level in Level:
        record[str(level)] = reaches(answer.outcome, level)
    record["judge"] = None
    if judgement and judgement.category:
        record["judge"] = str(judgement.category)
    if facts["difficulties"]:
        record["difficulty"] = facts["difficulties"].get(row["instance_id"])
    if facts["config"] != FUNCTION:
        record |= _method_shares(answer)
    return record


def _method_shares(answer: "ScoredAnswer") -> dict[str, float | None]:
    """Return the shares of an answer to a method; None after an infra error."""
    parts = {
        "functions_passed": answer.functions,
        "choices_read": [reading == STATED for reading in answer.readings],
        "choices_settled": [choice.is_settled for choice in answer.settled],
    }
    if answer.status == Status.INFRA_ERROR:
        return dict.fromkeys(parts)
    return {name: Share.of(passed).value for name, passed in parts.items()}


def open_run(path: str | Path) -> Run:
    """Open a run folder.

    Raises:
        InputError: it is not a run folder, or damaged.
    """
    run = Run(Path(path))
    _ = run.facts  # fails if there is no run
    return run


def write_report(run: Run) -> None:
    """Write report.md and report.json of a run into its folder."""
    report = run.report()
    for name in ("report.md", "report.json"):
        report.save(run.path / name, replace=True)


def log_bad_rows(bad: Sequence[BadRow], where: str = "") -> None:
    """Log the first rows that could not be used, and the file that lists all of them."""
    for row in bad[:MAX_NAMED]:
        _log.warning("bad row: %s", row)
    if len(bad) > MAX_NAMED:
        more = plural(len(bad) - MAX_NAMED, "more bad row")
        _log.warning("%s%s", more, f"; see {where}" if where else "")


def report(
    *runs: Run | str | Path, judge_model: str | None = None, labels: str | Path | None = None
) -> "Report":
    """Compare runs by model, category and instance, with a paired test for each pair of models.

    Args:
        judge_model: the judge whose judgements count (default: the last one).
        labels: human labels (.csv, .jsonl), to compare with the judge.

    Raises:
        InputError: a path is not a run folder, a folder is damaged, or the labels cannot be read.
    """
    from lmrbench_evaluate.reports.annotations import read_annotations
    from lmrbench_evaluate.reports.report import make_report

    if not runs:
        raise InputError("report: needs at least one run")
    annotations, bad = read_annotations(Path(labels)) if labels is not None else (None, [])
    log_bad_rows(bad)
    paths = [Path(run) for run in runs]
    return make_report(paths, judge_model=judge_model, annotations=annotations, bad_annotations=bad)
