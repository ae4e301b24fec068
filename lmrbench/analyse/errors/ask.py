"""Ask a model why the failed answers of a run fail; errors.jsonl gets one row per question.

The rows are those of the judge's log, with a diagnosis in place of an opinion.
"""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from lmrbench_data.base.jobs import Progress
from lmrbench_data.base.proportions import ranking_level
from lmrbench_data.dataset.result_rows import ResultRow
from lmrbench_data.dataset.rows import DatasetRow, only_functions
from lmrbench_evaluate.judge.asking import Asking, JudgeSummary, Vote
from lmrbench_evaluate.judge.judgement_log import JUDGED, Judge, VoteLog
from lmrbench_evaluate.judge.judging import rows_of_run
from lmrbench_evaluate.predictions.prediction import AnswerKey
from lmrbench_evaluate.runs.folder import RunFolder
from lmrbench_evaluate.runs.settings import JudgeSettings
from lmrbench_evaluate.verdict.levels import Level, outcome, reaches
from lmrbench_evaluate.verdict.verdict import Status

from .diagnosis import PROMPT, Diagnosis, build_question

FILE = "errors.jsonl"


class DiagnosisLog(VoteLog):
    """An open errors.jsonl; use `DiagnosisLog.open` as a context manager."""

    FIX = "remove that line, or move the file away to ask again"
    OPINION = Diagnosis


class Diagnosed(NamedTuple):
    """The diagnosis of an answer, or why it has none."""

    diagnosis: Diagnosis | None
    reason: str = ""
    """The reason why no model can be asked; empty if a question only failed."""


def read_diagnoses(
    run: Path, model: str | None = None
) -> tuple[Judge | None, dict[AnswerKey, Diagnosed]]:
    """Return the model that was asked about a run's failed answers, and its diagnoses by answer.

    By default these are the model, prompt and server that were asked last; diagnoses of two never
    mix. Without any, returns (None, {}).
    """
    judges = DiagnosisLog.judges(run / FILE)
    if model is not None:
        judges = [judge for judge in judges if judge.model == model]
    if not judges:
        return None, {}
    diagnosed = {}
    for answer, [row, *_] in DiagnosisLog.votes(run / FILE, judges[-1]).items():
        diagnosis = Diagnosis.model_validate(row) if row["status"] == JUDGED else None
        diagnosed[answer] = Diagnosed(diagnosis, row["reason"])
    return judges[-1], diagnosed


def has_failed(result: ResultRow) -> bool:
    """Return whether an answer failed at the level that ranks its track; infra errors do not."""
    reached = outcome(result["status"], result["core_status"])
    if reached == Status.INFRA_ERROR:
        return False
    return not reaches(reached, Level(ranking_level(result["track"])))


def ask_why(settings: JudgeSettings, progress: Progress | None = None) -> JudgeSummary:
    """Ask about each failed answer that has no diagnosis yet, and fill the run's errors.jsonl.

    Args:
        settings: the options of judging; `votes` is ignored, each answer gets one question.
        progress: receives each answer; the label is its primary class, `judge_error`, `not_judged`
            or `malformed`.
    """
    settings.price()
    rows = rows_of_run(settings)
    only_functions(rows.values(), "the diagnosis of errors")
    if settings.instances:
        rows = {name: rows[name] for name in settings.instances}
    votes = _votes(RunFolder(settings.run), rows)
    with DiagnosisLog.open(settings.run / FILE) as log:
        return Asking(settings, PROMPT, votes, log, progress).run()


def _votes(run: RunFolder, rows: Mapping[str, DatasetRow]) -> list[Vote]:
    """Return a question for each failed answer to these rows; equal answers are one."""
    failed = {AnswerKey.of(row).question: row for row in run.rows() if has_failed(row)}
    votes: dict[AnswerKey, Vote] = {}
    for answer in run.require_predictions():
        key = answer.key.question
        if key in failed and answer.instance_id in rows:
            row = rows[answer.instance_id]
            question = functools.partial(build_question, row, answer, failed[key])
            votes.setdefault(key, Vote(key, 0, question))
    return list(votes.values())
