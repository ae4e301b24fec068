"""Ask a model why the failed answers of a run fail: in parallel, written one by one, resumed after a stop."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from lmrbench_evaluate.judge.asking import MALFORMED, AskingPass
from lmrbench_evaluate.judge.client import JudgeClient
from lmrbench_evaluate.judge.question import Question
from lmrbench_evaluate.judge.question_log import AnswerId, QuestionOutcome, answer_id
from lmrbench_evaluate.judge.settings import JudgeSettings
from lmrbench_evaluate.judge.summary import JudgeSummary
from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.runs.folder import RunFolder
from lmrbench_evaluate.verdict.levels import headline, outcome, reaches
from lmrbench_evaluate.verdict.verdict import Status

from ...base.errors import ArgumentError
from ...base.near import did_you_mean
from ...base.progress import Progress
from ...dataset.rows import DatasetRow, ResultRow
from ...dataset.single_functions import only_functions
from .diagnosis import DIAGNOSIS, Diagnosis, build_question, is_quoted, prompt_version
from .diagnosis_log import FILE, DiagnosisLog, as_rows, from_rows

#: One question per answer, so it is asked as reproducibly as the server allows.
TEMPERATURE = 0.0
IDENTICAL = "the reference's own code"


def has_failed(result: ResultRow) -> bool:
    """Return whether an answer failed at the level by which its track is ranked; infra errors do not count."""
    found = outcome(result["status"], result["core_status"])
    return found != Status.INFRA_ERROR and not reaches(found, headline(result["track"]))


class Failed(NamedTuple):
    """A failed answer; equal ones to the same question are one."""

    result: ResultRow
    prediction: Prediction


def failed_answers(settings: JudgeSettings) -> list[Failed]:
    """The failed answers of a run.

    Raises:
        InputError: no run folder, a damaged one, or one without predictions.
    """
    run = RunFolder(settings.run)
    predictions = run.needed_predictions()
    results = {answer_id(row): row for row in run.rows() if has_failed(row)}
    found: dict[AnswerId, Failed] = {}
    for prediction in predictions:
        wanted = not settings.instances or prediction.instance_id in settings.instances
        if wanted and prediction.answer in results:
            found.setdefault(prediction.answer, Failed(results[prediction.answer], prediction))
    return list(found.values())


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
        asking = _Diagnosing(settings, client, by_id, log, progress)
        asking.run()
        return asking.summary


class _Diagnosing(AskingPass[Failed, Diagnosis]):
    """One pass over the failed answers without a diagnosis."""

    def __init__(
        self,
        settings: JudgeSettings,
        client: JudgeClient[Diagnosis],
        rows: Mapping[str, DatasetRow],
        log: DiagnosisLog,
        progress: Progress | None,
    ) -> None:
        super().__init__(settings, client, prompt_version(), log, progress)
        self.diagnoses, self.rows = log, rows

    async def plan(self) -> list[Failed]:
        """Return the answers that the model was not asked about yet."""
        jobs = []
        for failed in failed_answers(self.settings):
            if self.log.is_done((failed.prediction.answer, self.judge)):
                self.summary.kept += 1
            else:
                jobs.append(failed)
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
        self.diagnoses.append(job.prediction.answer, self.judge, outcome)
        if outcome.opinion:
            return str(outcome.opinion.classes.primary)
        return "not asked" if outcome.reason else self.FAILED

    def identical(self) -> QuestionOutcome[Diagnosis]:
        """Return the outcome for an answer whose code is the reference's: there is no error in it."""
        return QuestionOutcome(reason=IDENTICAL)

    def malformed(self) -> QuestionOutcome[Diagnosis]:
        """Return the outcome for an answer without a candidate function."""
        return QuestionOutcome(reason=MALFORMED)

    def check(self, opinion: Diagnosis, question: Question) -> Diagnosis:
        """Mark the quotes that the model was shown."""
        marked = (replace(item, found=is_quoted(item.quote, question)) for item in opinion.evidence)
        return replace(opinion, evidence=tuple(marked))

    def to_cache(self, opinion: Diagnosis) -> dict[str, Any]:
        """Convert a diagnosis for the cache."""
        return {"primary": opinion.classes.primary, "errors": as_rows(opinion)}

    def from_cache(self, stored: Any) -> Diagnosis:
        """Read what `to_cache` made."""
        return from_rows(stored["primary"], stored["errors"])
