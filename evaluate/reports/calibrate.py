"""Calibrate a judge: bring what it said of answers together with what people say, or with what variants are."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ...errors import ArgumentError, InputError
from ...loader import dataset_sha256, load_rows
from ...progress import Progress
from ...rows import DatasetRow
from ...source import SourceError
from ...times import now
from ..extract import MalformedAnswer
from ..judge.run import judge_predictions
from ..judge.settings import JudgeSettings, JudgeSummary
from ..judge.store import BY_MODEL, Judge, Judgement, judges, read_judgements
from ..judge.variants import Variant, write_variants
from ..predictions import Prediction, PredictionFile, PredictionKey
from ..runs.results import read_facts
from .agreement import majorities, match_labels
from .annotations import Annotation
from .calibration import CC, NOT_CC, Calibration, Rated, judge_of
from .likeness import likeness

PEOPLE = "people"


def calibrate_by_labels(
    runs: Sequence[Path],
    annotations: Sequence[Annotation],
    judge_model: str | None = None,
    rows: Sequence[DatasetRow] | None = None,
) -> Calibration:
    """Compare the judge of some runs with the majority of people's labels.

    Args:
        judge_model: whose judgements, if several have judged; the last one's by default.
        rows: those of the runs' dataset, if they are at hand.

    Raises:
        InputError: no run folder, another dataset, a run without this judge, or runs with different judges.
    """
    facts = [read_facts(run) for run in runs]
    rows = rows if rows is not None else load_rows(facts[0]["dataset"])
    if any(dataset_sha256(rows) != of_run["dataset_sha256"] for of_run in facts):
        raise ArgumentError("dataset", "the runs were evaluated on other rows; name the dataset that they were on")
    judge = _one_judge(runs, judge_model)
    answers: dict[PredictionKey, tuple[Prediction, Judgement | None]] = {}
    for run in runs:
        judgements = read_judgements(run, *judge)
        for prediction in PredictionFile(run / "predictions.jsonl"):
            answers.setdefault(prediction.key, (prediction, judgements.get(prediction.answer)))
    matched = match_labels(annotations, answers)
    people, split = majorities(matched.labels)
    left_out = Counter(
        {
            "labels of answers that are not in these runs": len(matched.unknown),
            "labels that may mean several answers": matched.ambiguous,
            "people are split evenly": len(split),
        }
    )
    asked = [(*answers[key], str(label), str(label)) for key, label in people.items()]
    return _calibration(judge, PEOPLE, asked, rows, left_out)


def calibrate_on_variants(
    settings: JudgeSettings,
    found: Sequence[Variant],
    rows: Sequence[DatasetRow],
    progress: Progress | None = None,
) -> tuple[Calibration, JudgeSummary]:
    """Have a judge judge variants in the folder `settings.run`, and compare. The same call again goes on.

    Raises:
        InputError, InfraError, KeyboardInterrupt: as `judge`.
    """
    write_variants(found, settings.run)
    summary = judge_predictions(settings, rows, progress)
    judgements = read_judgements(settings.run, *summary.judge) if summary.judge in judges(settings.run) else {}
    asked = [
        (item.prediction, judgements.get(item.prediction.answer), item.kind, CC if item.correct else NOT_CC)
        for item in found
    ]
    source = f"variants, {found[0].prediction.track} track"
    return _calibration(summary.judge, source, asked, rows, Counter()), summary


def _one_judge(runs: Sequence[Path], model: str | None) -> Judge:
    found = {run: judge_of(run, model) for run in runs}
    for run, judge in found.items():
        if judge is None:
            who = f"{model!r}; judged by {', '.join(j.model for j in judges(run)) or 'nobody'}" if model else "anybody"
            raise InputError(f"{run}: not judged by {who}; see `lmrbench judge`")
    known = {judge for judge in found.values() if judge}
    if len(known) > 1:
        named = "; ".join(f"{run}: {' '.join(filter(None, judge or ()))}" for run, judge in found.items())
        raise InputError(f"the runs have different judges, give them one by one ({named})")
    return known.pop()


def _calibration(
    judge: Judge,
    source: str,
    asked: Iterable[tuple[Prediction, Judgement | None, str, str]],
    rows: Sequence[DatasetRow],
    left_out: Counter[str],
) -> Calibration:
    """Put together what is known of answers.

    Args:
        asked: answer, judgement, group and expected label of each.
    """
    by_id: Mapping[str, DatasetRow] = {row["instance_id"]: row for row in rows}
    rated = []
    for prediction, judgement, group, expected in asked:
        if judgement is None or (judgement.category is None and not judgement.not_judged):
            left_out["no judgement"] += 1
        elif judgement.category is None:
            left_out[f"not judged: {judgement.not_judged}"] += 1
        elif judgement.by != BY_MODEL:
            left_out["the reference's own code: nobody was asked"] += 1
        else:
            try:
                like = likeness(by_id[prediction.instance_id], prediction)
            except (MalformedAnswer, SourceError, RecursionError):
                left_out["cannot be compared with the reference"] += 1
                continue
            rated.append(Rated(prediction.instance_id, group, expected, str(judgement.category), *like))
    kept = {reason: count for reason, count in left_out.items() if count}
    return Calibration(judge, source, now(), kept, rated)
