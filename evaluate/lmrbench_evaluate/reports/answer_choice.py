"""Choose one answer of a report, and its form as JSON."""

import difflib
from collections.abc import Sequence
from typing import Any

from lmrbench_data.base.errors import ArgumentError, InputError

from .answer_pages import Answer, collect
from .report_data import ReportData
from .scores import ModelScore


def choose_answer(
    report: ReportData, instance: str, sample: int | None = None, **wanted: str | None
) -> tuple[ModelScore, Answer, list[str]]:
    """Return the score and the details of one answer, and warnings for the reader.

    Args:
        sample: number of the sample (default: the first).
        wanted: `model`, `setting` and `track`; None where the run has only one.

    Raises:
        ArgumentError: the choice fits several answers, or the sample does not exist.
        InputError: the instance is not in the run.
    """
    number = _score(report.scores, instance, **wanted)
    [found], warnings = collect(report, only=[instance], score=number)
    return report.scores[number], _sample(found.answers, sample), warnings


def answer_dict(score: ModelScore, instance: str, answer: Answer) -> dict[str, Any]:
    """Return the details of an answer for JSON."""
    names = {"instance_id": instance, "model_name_or_path": score.model, "setting": score.setting, "track": score.track}
    facts = {**vars(answer), "cases": [vars(case) for case in answer.cases]}
    facts["sections"] = [
        {"title": section.title, "lines": [[line.kind, line.text] for line in section.lines]}
        for section in answer.sections
    ]
    facts["labels"] = [vars(label) for label in answer.labels]
    del facts["score"]
    return {**names, **facts, "judgement": answer.judgement and vars(answer.judgement)}


def _score(scores: Sequence[ModelScore], instance: str, **wanted: str | None) -> int:
    known = sorted({name for score in scores for name in score.scope})
    if instance not in known:
        near = difflib.get_close_matches(instance, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise InputError(f"{instance!r} is not in the scope of this run{hint}")
    fits = [
        number
        for number, score in enumerate(scores)
        if all(want in (None, getattr(score, name)) for name, want in wanted.items())
    ]
    fits = [number for number in fits if instance in scores[number].answers] or fits
    if len(fits) == 1:
        return fits[0]
    names = "; ".join(f"{score.name}, {score.track}" for score in scores)
    values = {name: {getattr(scores[number], name) for number in fits} for name in wanted}
    missing = next((name for name in wanted if len(values[name]) != 1), "model")
    raise ArgumentError(missing, f"choose one; the answers of this run are: {names}")


def _sample(answers: Sequence[Answer], sample: int | None) -> Answer:
    found = next((answer for answer in answers if sample is None or sample in answer.samples), None)
    if found is None:
        known = ", ".join(str(number) for answer in answers for number in answer.samples) or "none"
        raise ArgumentError("sample", f"{sample} does not exist; the samples of this instance are: {known}")
    return found
