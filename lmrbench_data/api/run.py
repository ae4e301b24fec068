"""Run folders as an object, and reports over several of them."""

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmrbench_evaluate.judge.judgement_log import read_judgements
from lmrbench_evaluate.judge.question_log import answer_id
from lmrbench_evaluate.judge.summary import JudgeSummary
from lmrbench_evaluate.predictions.sources import BadRow
from lmrbench_evaluate.reports.annotations import read_annotations
from lmrbench_evaluate.reports.report import Report, make_report
from lmrbench_evaluate.reports.scores import ModelScore, score_runs
from lmrbench_evaluate.runs.evaluation import RunSummary
from lmrbench_evaluate.runs.results import read_facts, read_results
from lmrbench_evaluate.verdict.levels import Level, outcome, reaches

from ..base.errors import InputError
from ..dataset.rows import ResultRow

if TYPE_CHECKING:
    import pandas as pd

#: So many bad rows are named; all are in run.json.
MAX_NAMED = 20
_log = logging.getLogger(__name__)


@dataclass
class Run:
    """A run folder: the results of some predictions, with the judgements on them if there are any."""

    path: Path
    summary: RunSummary | None = None
    """What `evaluate` did just now; None for a run that was only opened."""
    judging: JudgeSummary | None = None
    """What `judge` did just now."""

    def __fspath__(self) -> str:
        """The folder: a run can be given wherever a path can."""
        return os.fspath(self.path)

    @property
    def facts(self) -> dict[str, Any]:
        """run.json: dataset, sandbox, limits, versions, times.

        Raises:
            InputError: it is missing or damaged.
        """
        return read_facts(self.path)

    @property
    def complete(self) -> bool:
        """Whether every prediction has a verdict that is not an infra error."""
        return bool(self.facts.get("complete"))

    def results(self) -> list[ResultRow]:
        """The verdict on each prediction, in the order of the predictions.

        Raises:
            InputError: the folder is damaged.
        """
        return list(read_results(self.path))

    def scores(self, judge_model: str | None = None) -> list[ModelScore]:
        """Reproduced, robust and the judge's shares of each model, setting and track, recomputed from the rows.

        Args:
            judge_model: whose judgements count; by default the model that judged last.
        """
        return score_runs([self.path], judge_model)

    def to_pandas(self, judge_model: str | None = None) -> "pd.DataFrame":
        """One row for each prediction, in their order: the verdict, `reproduced`, `robust`, and the `judge`'s category.

        The category is None if the answer was not judged.
        """
        import pandas as pd

        judgements = read_judgements(self.path, judge_model)
        records = []
        for row in self.results():
            judgement = judgements.get(answer_id(row))
            category = judgement.category if judgement else None
            reached = outcome(row["status"], row["core_status"])
            levels = {str(level): reaches(reached, level) for level in Level}
            records.append({**row, **levels, "judge": str(category) if category else None})
        columns = [*ResultRow.__annotations__, *map(str, Level), "judge"]
        return pd.DataFrame.from_records(records, columns=columns)

    def report(self, judge_model: str | None = None) -> Report:
        """The report of this run alone."""
        return make_report([self.path], judge_model=judge_model)

    def _repr_markdown_(self) -> str:
        """How a notebook shows it."""
        return self.report().to_markdown()


def open_run(path: str | Path) -> Run:
    """A run folder that is there.

    Raises:
        InputError: not a run folder, or a damaged one.
    """
    read_facts(Path(path))
    return Run(Path(path))


def write_report(run: Run) -> None:
    """Write report.md and report.json of a run into its folder."""
    made = run.report()
    made.save(run.path / "report.md")
    made.save(run.path / "report.json")


def log_bad_rows(bad: Sequence[BadRow], where: str = "") -> None:
    """Name rows that could not be used, the first of many.

    Args:
        where: which file has all of them.
    """
    for row in bad[:MAX_NAMED]:
        _log.warning("bad row: %s", row)
    if len(bad) > MAX_NAMED:
        _log.warning("%d more bad rows%s", len(bad) - MAX_NAMED, where and f"; see {where}")


def report(*runs: Run | str | Path, judge_model: str | None = None, labels: str | Path | None = None) -> Report:
    """Compare runs: reproduced and robust by model, category and instance; McNemar's test for each two models.

    Args:
        judge_model: whose judgements count; by default the model that judged last.
        labels: human labels (.csv, .jsonl) to compare with the judge.

    Raises:
        InputError: no run folder, or a damaged one; a file of labels that cannot be read.
    """
    if not runs:
        raise InputError("report: give one run or more")
    paths = list(map(Path, runs))
    annotations, bad = read_annotations(Path(labels)) if labels is not None else (None, [])
    log_bad_rows(bad)
    return make_report(paths, judge_model=judge_model, annotations=annotations, bad_annotations=bad)
