"""Choose one answer of a report, and its form as JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lmrbench_data.base.errors import ArgumentError, InputError
from lmrbench_data.base.near import did_you_mean

from .answer_pages import Answer, collect
from .report_data import ReportData
from .scores import ModelScore


@dataclass(frozen=True)
class Chosen:
    """One answer of a report."""

    instance_id: str
    score: ModelScore
    """The score of its model."""
    answer: Answer
    samples: list[tuple[int, str]]
    """Number and outcome of each sample of the instance, this answer's included."""
    warnings: list[str]
    """For the reader."""


def choose_answer(report: ReportData, instance: str, sample: int | None = None, **wanted: str | None) -> Chosen:
    """Return one answer with its details.

    Args:
        sample: number of the sample (default: the first).
        wanted: `model`, `setting` and `track`; None where the run has only one.

    Raises:
        ArgumentError: the choice fits several answers, or the sample does not exist.
        InputError: the instance is not in the run.
    """
    number = _score(report.scores, instance, **wanted)
    [found], warnings = collect(report, only=[instance], score=number)
    samples = sorted((one, answer.outcome) for answer in found.answers for one in answer.samples)
    return Chosen(instance, report.scores[number], _sample(found.answers, sample), samples, warnings)


def answer_dict(chosen: Chosen) -> dict[str, Any]:
    """Return the details of an answer for JSON."""
    score, answer = chosen.score, chosen.answer
    names = {
        "instance_id": chosen.instance_id,
        "model_name_or_path": score.model,
        "setting": score.setting,
        "track": score.track,
    }
    facts = {**vars(answer), "cases": [vars(case) for case in answer.cases]}
    facts["sections"] = [
        {"title": section.title, "lines": [[line.kind, line.text] for line in section.lines]}
        for section in answer.sections
    ]
    facts["labels"] = [vars(label) for label in answer.labels]
    del facts["score"]
    facts["all_samples"] = [{"sample": number, "outcome": outcome} for number, outcome in chosen.samples]
    return {**names, **facts, "judgement": answer.judgement and vars(answer.judgement)}


def _score(scores: Sequence[ModelScore], instance: str, **wanted: str | None) -> int:
    known = sorted({name for score in scores for name in score.scope})
    if instance not in known:
        raise InputError(f"{instance!r} is not in the scope of this run{did_you_mean(instance, known)}")
    for name, want in wanted.items():
        held = {str(getattr(score, name)) for score in scores}
        if want is not None and want not in held:
            near = did_you_mean(want, held, within=True)
            raise ArgumentError(name, f"this run has no {name} {want!r}{near}; it has {', '.join(sorted(held))}")
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
