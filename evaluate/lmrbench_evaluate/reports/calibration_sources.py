"""Calibrate a judge: compare its categories with people's labels, or with the known categories of variants."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.progress import Progress
from lmrbench_data.base.source import MalformedAnswerError, SourceError
from lmrbench_data.base.times import now
from lmrbench_data.dataset.rows import DatasetRow

from ..judge.judgement_log import Judgement, judges, read_judgements
from ..judge.judging import judge_predictions
from ..judge.question_log import BY_MODEL, Judge
from ..judge.settings import JudgeSettings
from ..judge.summary import JudgeSummary
from ..judge.variants import Variant, write_variants
from ..predictions.prediction import Prediction, PredictionKey
from ..runs.folder import RunFolder
from .agreement import majorities, match_labels
from .annotations import Annotation
from .calibration import Calibration, Rated
from .calibration_file import judge_of
from .code_similarity import compare_with_reference

PEOPLE = "people"


def calibrate_by_labels(
    runs: Sequence[Path],
    annotations: Sequence[Annotation],
    judge_model: str | None = None,
    rows: Sequence[DatasetRow] | None = None,
) -> Calibration:
    """Compare the judge of some runs with the majority of people's labels.

    Args:
        judge_model: the judge to calibrate (default: the last one).
        rows: the rows of the runs' dataset, if loaded already.

    Raises:
        InputError: a path is not a run folder, a run is on another dataset or has no such judge, or the judges differ.
    """
    by_id = RunFolder(runs[0]).dataset_rows(rows=rows)
    for run in runs[1:]:
        RunFolder(run).dataset_rows(rows=list(by_id.values()))
    judge = _one_judge(runs, judge_model)
    answers: dict[PredictionKey, tuple[Prediction, Judgement | None]] = {}
    for run in runs:
        judgements = read_judgements(run, *judge)
        for prediction in RunFolder(run).needed_predictions():
            answers.setdefault(prediction.key, (prediction, judgements.get(prediction.answer)))
    matched = match_labels(annotations, answers)
    people, split = majorities(matched.labels)
    left_out = Counter(
        {
            "labels for answers that these runs do not have": len(matched.unknown),
            "labels that may mean several answers": matched.ambiguous,
            "people are split evenly": len(split),
        }
    )
    asked = [(*answers[key], str(label), str(label)) for key, label in people.items()]
    return _calibration(judge, PEOPLE, asked, list(by_id.values()), left_out)


def calibrate_on_variants(
    settings: JudgeSettings,
    found: Sequence[Variant],
    rows: Sequence[DatasetRow],
    progress: Progress | None = None,
) -> tuple[Calibration, JudgeSummary]:
    """Let a judge judge variants in the folder `settings.run`, and compare. The same call again resumes.

    Raises:
        InputError, InfraError, KeyboardInterrupt: as `judge`.
    """
    write_variants(found, settings.run)
    summary = judge_predictions(settings, rows, progress)
    judgements = read_judgements(settings.run, *summary.judge) if summary.judge in judges(settings.run) else {}
    asked = [(item.prediction, judgements.get(item.prediction.answer), item.kind, item.expected) for item in found]
    source = f"variants, {found[0].prediction.track} track"
    return _calibration(summary.judge, source, asked, rows, Counter()), summary


def _one_judge(runs: Sequence[Path], model: str | None) -> Judge:
    found = {run: judge_of(run, model) for run in runs}
    for run, judge in found.items():
        if judge is None:
            who = (
                f"{model!r}; judged by {', '.join(j.model for j in judges(run)) or 'nobody'}" if model else "any judge"
            )
            raise InputError(f"{run}: not judged by {who}; see `lmrbench judge`")
    known = {judge for judge in found.values() if judge}
    if len(known) > 1:
        named = "; ".join(f"{run}: {' '.join(filter(None, judge or ()))}" for run, judge in found.items())
        raise InputError(f"the runs have different judges; calibrate them one by one ({named})")
    return known.pop()


def _calibration(
    judge: Judge,
    source: str,
    asked: Iterable[tuple[Prediction, Judgement | None, str, str]],
    rows: Sequence[DatasetRow],
    left_out: Counter[str],
) -> Calibration:
    """Collect the rated answers, and count those left out.

    Args:
        asked: answer, judgement, group and expected label of each answer.
    """
    by_id: Mapping[str, DatasetRow] = {row["instance_id"]: row for row in rows}
    rated = []
    for prediction, judgement, group, expected in asked:
        if judgement is None or (judgement.category is None and not judgement.not_judged):
            left_out["no judgement"] += 1
        elif judgement.category is None:
            left_out[f"not judged: {judgement.not_judged}"] += 1
        elif judgement.by != BY_MODEL:
            left_out["the reference's own code: the judge was not asked"] += 1
        else:
            try:
                like = compare_with_reference(by_id[prediction.instance_id], prediction)
            except (MalformedAnswerError, SourceError, RecursionError):
                left_out["cannot be compared with the reference"] += 1
                continue
            rated.append(Rated(prediction.instance_id, group, expected, str(judgement.category), *like))
    kept = {reason: count for reason, count in left_out.items() if count}
    return Calibration(judge, source, now(), kept, rated)
