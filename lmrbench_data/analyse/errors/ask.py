"""Ask a model why the failed answers of a run fail, in parallel; errors.jsonl gets one row per question.

The rows are those of the judge's log, with a diagnosis in place of an opinion.
"""

import functools
from pathlib import Path
from typing import Any, NamedTuple

from lmrbench_evaluate.judge.asking import Asking, JudgeSummary, Vote
from lmrbench_evaluate.judge.judgement_log import JUDGED, Judge, VoteLog
from lmrbench_evaluate.judge.judging import rows_of_run
from lmrbench_evaluate.predictions.prediction import AnswerKey, Prediction
from lmrbench_evaluate.runs.folder import RunFolder
from lmrbench_evaluate.runs.settings import JudgeSettings
from lmrbench_evaluate.verdict.levels import Level, outcome, reaches
from lmrbench_evaluate.verdict.verdict import Status

from ...base.progress import Progress
from ...base.shares import ranking_level
from ...dataset.result_rows import ResultRow
from ...dataset.rows import only_functions
from .diagnosis import Diagnosis, build_question, diagnosis_prompt

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


def read_diagnoses(run: Path, model: str | None = None) -> tuple[Judge | None, dict[AnswerKey, Diagnosed]]:
    """Return the model that was asked about a run's failed answers and its diagnoses by answer; (None, {}) if none was.

    Args:
        model: the model whose diagnoses to read; by default the model, prompt and server that were asked last.
            Diagnoses of two never mix.
    """
    judges = DiagnosisLog.judges(run / FILE)
    chosen = next((item for item in reversed(judges) if model in (None, item.model)), None)
    if chosen is None:
        return None, {}
    votes = DiagnosisLog.votes(run / FILE, chosen)
    return chosen, {answer: _diagnosed(row) for answer, [row, *_] in votes.items()}


def _diagnosed(row: dict[str, Any]) -> Diagnosed:
    return Diagnosed(Diagnosis.model_validate(row) if row["status"] == JUDGED else None, row["reason"])


def has_failed(result: ResultRow) -> bool:
    """Return whether an answer failed at the level by which its track is ranked; infra errors do not count."""
    reached = outcome(result["status"], result["core_status"])
    return reached != Status.INFRA_ERROR and not reaches(reached, Level(ranking_level(result["track"])))


class Failed(NamedTuple):
    """A failed answer; equal ones to the same question are one."""

    result: ResultRow
    prediction: Prediction


def failed_answers(settings: JudgeSettings) -> list[Failed]:
    """The failed answers of a run."""
    run = RunFolder(settings.run)
    predictions = run.needed_predictions()
    results = {AnswerKey.of(row).question: row for row in run.rows() if has_failed(row)}
    answers: dict[AnswerKey, Failed] = {}
    for prediction in predictions:
        is_chosen = not settings.instances or prediction.instance_id in settings.instances
        if is_chosen and prediction.key.question in results:
            answers.setdefault(prediction.key.question, Failed(results[prediction.key.question], prediction))
    return list(answers.values())


def ask_why(settings: JudgeSettings, progress: Progress | None = None) -> JudgeSummary:
    """Ask about each failed answer that has no diagnosis yet, and fill the run's errors.jsonl.

    Args:
        settings: the options of judging; `votes` is ignored, each answer gets one question.
        progress: receives each answer; the label is its primary class, `judge_error`, `not_judged` or `malformed`.

    Raises:
        InputError: no run, another dataset, prices without the model, or a key or model that the server does not know.
        InfraError: nothing answers at the address, or the account has no credit left.
        KeyboardInterrupt: diagnoses so far are kept.
    """
    settings.price()
    rows = rows_of_run(settings)
    only_functions(rows.values(), "the diagnosis of errors")
    votes = [
        Vote(
            prediction.key.question,
            0,
            functools.partial(build_question, rows[prediction.instance_id], prediction, result),
        )
        for result, prediction in failed_answers(settings)
    ]
    with DiagnosisLog.open(settings.run / FILE) as log:
        asking = Asking(settings, diagnosis_prompt(), votes, log, progress)
        asking.run()
        return asking.summary
