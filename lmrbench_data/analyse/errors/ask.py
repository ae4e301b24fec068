"""Ask a model why the failed answers of a run fail, in parallel; errors.jsonl gets one row per question.

A row with a diagnosis takes precedence over all others of its answer and model. `not_asked` is final: the answer itself
is the cause. An `error` is asked again.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from lmrbench_evaluate.judge.asking import MALFORMED, AskingPass
from lmrbench_evaluate.judge.client import JudgeClient
from lmrbench_evaluate.judge.question import Question
from lmrbench_evaluate.judge.question_log import AnswerId, Judge, QuestionLog, QuestionOutcome, answer_id
from lmrbench_evaluate.judge.settings import JudgeSettings
from lmrbench_evaluate.judge.summary import JudgeSummary
from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.runs.folder import RunFolder
from lmrbench_evaluate.verdict.levels import headline, outcome, reaches
from lmrbench_evaluate.verdict.verdict import Status

from ...base.errors import ArgumentError
from ...base.near import did_you_mean
from ...base.progress import Progress
from ...dataset.rows import DatasetRow, ResultRow, only_functions
from .diagnosis import DIAGNOSIS, Diagnosis, build_question, is_quoted, prompt_version

FILE = "errors.jsonl"
DIAGNOSED, NOT_ASKED, ERROR = "diagnosed", "not_asked", "error"
#: One question per answer, so it is asked as reproducibly as the server allows.
TEMPERATURE = 0.0
IDENTICAL = "the reference's own code"


class DiagnosisLog(QuestionLog):
    """An open errors.jsonl; use `DiagnosisLog.open` as a context manager."""

    FIX = "remove that line, or move the file away to ask again"
    STATUSES = DIAGNOSED, NOT_ASKED, ERROR
    ROW: ClassVar = {
        **dict.fromkeys(("track", "base_url", "reason"), str),
        "primary": (str, type(None)),
        "errors": list,
        **dict.fromkeys(("counted", "cached"), bool),
    }

    @classmethod
    def key(cls, row: Mapping[str, Any]) -> tuple[AnswerId, Judge]:
        """Return the answer that a row is about, and the model that was asked."""
        return answer_id(row), Judge.of(row)

    @classmethod
    def parse(cls, line: bytes) -> dict[str, Any] | None:
        """Read a line; None if it is not a row of this file."""
        row = cls.parse_keys(line)
        if row is None or row["status"] not in cls.STATUSES:
            return None
        try:
            _diagnosis(row)
        except ValueError:
            return None
        return row


class Diagnosed(NamedTuple):
    """The diagnosis of an answer, or why it has none."""

    diagnosis: Diagnosis | None
    reason: str = ""
    """The reason why no model can be asked; empty if a question only failed."""


def read_diagnoses(run: Path, model: str | None = None) -> tuple[Judge | None, dict[AnswerId, Diagnosed]]:
    """Return the model that was asked about a run's failed answers and its diagnoses by answer; (None, {}) if none was.

    Args:
        model: the model whose diagnoses to read; by default the model, prompt and server that were asked last.
            Diagnoses of two never mix.
    """
    rows = list(DiagnosisLog.read(run / FILE))
    judges = dict.fromkeys(map(Judge.of, reversed(rows)))
    chosen = next((item for item in judges if model in (None, item.model)), None)
    best: dict[AnswerId, Mapping[str, Any]] = {}
    for row in rows:
        if Judge.of(row) == chosen:
            best[answer_id(row)] = min(best.get(answer_id(row), row), row, key=DiagnosisLog.rank)
    return chosen, {answer: Diagnosed(_diagnosis(row), row["reason"]) for answer, row in best.items()}


def _diagnosis(row: Mapping[str, Any]) -> Diagnosis | None:
    return Diagnosis.model_validate(row) if row["status"] == DIAGNOSED else None


def has_failed(result: ResultRow) -> bool:
    """Return whether an answer failed at the level by which its track is ranked; infra errors do not count."""
    reached = outcome(result["status"], result["core_status"])
    return reached != Status.INFRA_ERROR and not reaches(reached, headline(result["track"]))


class Failed(NamedTuple):
    """A failed answer; equal ones to the same question are one."""

    result: ResultRow
    prediction: Prediction


def failed_answers(settings: JudgeSettings) -> list[Failed]:
    """The failed answers of a run."""
    run = RunFolder(settings.run)
    predictions = run.needed_predictions()
    results = {answer_id(row): row for row in run.rows() if has_failed(row)}
    answers: dict[AnswerId, Failed] = {}
    for prediction in predictions:
        is_chosen = not settings.instances or prediction.instance_id in settings.instances
        if is_chosen and prediction.answer in results:
            answers.setdefault(prediction.answer, Failed(results[prediction.answer], prediction))
    return list(answers.values())


def ask_why(settings: JudgeSettings, progress: Progress | None = None) -> JudgeSummary:
    """Ask about each failed answer that has no diagnosis yet, and fill the run's errors.jsonl.

    Args:
        settings: the options of judging; `votes` is ignored, each answer gets one question.
        progress: receives each answer; the label is its primary class, `error` or `not asked`.

    Raises:
        InputError: no run, another dataset, prices without the model, or a key or model that the server does not know.
        InfraError: nothing answers at the address, or the account has no credit left.
        KeyboardInterrupt: diagnoses so far are kept.
    """
    run = RunFolder(settings.run)
    scope = run.facts["scope"]
    settings.price()
    client = JudgeClient(settings, DIAGNOSIS, TEMPERATURE)
    by_id = run.dataset_rows(settings.dataset)
    only_functions(by_id.values(), "the diagnosis of errors")
    if unknown := [name for name in settings.instances if name not in scope]:
        raise ArgumentError("instances", f"{unknown[0]!r} is not in this run{did_you_mean(unknown[0], scope)}")
    with DiagnosisLog.open(settings.run / FILE) as log:
        asking = _Diagnosing(settings, client, prompt_version(), log, progress)
        asking.rows = by_id
        asking.run()
        return asking.summary


class _Diagnosing(AskingPass[Failed, Diagnosis]):
    """One pass over the failed answers without a diagnosis."""

    rows: Mapping[str, DatasetRow]

    async def plan(self) -> list[Failed]:
        """Return the answers that the model was not asked about yet."""
        answers = failed_answers(self.settings)
        jobs = [item for item in answers if not self.log.is_done((item.prediction.answer, self.judge))]
        self.summary.kept = len(answers) - len(jobs)
        return jobs

    def answer(self, job: Failed) -> AnswerId:
        """Return which answer has failed."""
        return job.prediction.answer

    async def question(self, job: Failed) -> Question:
        """Return the question on a failed answer."""
        row = self.rows[job.prediction.instance_id]
        return await asyncio.to_thread(build_question, row, job.prediction, job.result)

    def write(self, job: Failed, outcome: QuestionOutcome[Diagnosis]) -> str:
        """Write down a diagnosis; return its primary class, `not asked` or `error`."""
        opinion = outcome.opinion.row() if outcome.opinion else {"primary": None, "errors": []}
        self.log.add(job.prediction.answer, self.judge, outcome, **opinion, asked_at=outcome.asked_at)
        if outcome.opinion:
            return str(outcome.opinion.primary)
        return "not asked" if outcome.reason else self.FAILED

    def identical(self) -> QuestionOutcome[Diagnosis]:
        """Return the outcome for an answer whose code is the reference's: there is no error in it."""
        return QuestionOutcome(reason=IDENTICAL)

    def malformed(self) -> QuestionOutcome[Diagnosis]:
        """Return the outcome for an answer without a candidate function."""
        return QuestionOutcome(reason=MALFORMED)

    def check(self, opinion: Diagnosis, question: Question) -> Diagnosis:
        """Mark the quotes that the model was shown."""
        marked = [item.model_copy(update={"found": is_quoted(item.quote, question)}) for item in opinion.errors]
        return opinion.model_copy(update={"errors": tuple(marked)})

    def to_cache(self, opinion: Diagnosis) -> dict[str, Any]:
        """Convert a diagnosis for the cache."""
        return opinion.row()

    def from_cache(self, stored: Any) -> Diagnosis:
        """Read what `to_cache` made."""
        return Diagnosis.model_validate(stored)
