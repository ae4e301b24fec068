"""The details of each answer: verdict, failing cases, code difference, judgement and log; and the choice of one."""

import dataclasses
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmrbench_data.base.errors import ArgumentError, InputError, LMRBenchError
from lmrbench_data.base.suggestions import did_you_mean
from lmrbench_data.base.text import error_line, join_names, without_middle
from lmrbench_data.dataset.result_rows import CaseRow, ChoiceRow, PartRow
from lmrbench_data.dataset.rows import DatasetRow

from ..judge.judgement_log import Judgement, read_judgements
from ..predictions.prediction import AnswerKey, was_cut
from ..runs.folder import RunFolder
from ..verdict.choices import counted_choices
from ..verdict.levels import MISSING, Level, outcome, reaches
from ..verdict.verdict import Status
from .agreement import match_labels
from .annotations import Annotation
from .answer_diff import DiffSection, diff_answer
from .data import ReportData
from .scores import ModelScore, answers_by_key
from .spending import read_numbers

MAX_LOG_CHARACTERS = 6000
MAX_RAW_CHARACTERS = 20_000
MAX_CASES = 6


@dataclass
class FailedCase:
    """A case that did not pass, with the seeds of the same status."""

    name: str
    core: bool
    status: str
    seeds: list[int]
    detail: str
    """The detail of the first of these seeds."""


@dataclass
class Answer:
    """One model's answer to an instance; equal samples of a model are one answer."""

    score: int
    """Index of its score in the report."""
    samples: list[int]
    """Numbers of its samples; empty for an instance without prediction."""
    outcome: str
    """One of `OUTCOMES`."""
    detail: str = ""
    cases: list["FailedCase"] = field(default_factory=list)
    """The first failed cases, core cases before others."""
    more_cases: int = 0
    bad_cases: int = 0
    """Number of cases and seeds that did not pass."""
    all_cases: int = 0
    """Number of cases and seeds."""
    functions: list[PartRow] = field(default_factory=list)
    experiments: list[PartRow] = field(default_factory=list)
    sections: list[DiffSection] = field(default_factory=list)
    judgement: Judgement | None = None
    log: str = ""
    took: dict[str, float] = field(default_factory=dict)
    """Cost, tokens and time of its first sample (see `spending`)."""
    choices: list[ChoiceRow] = field(default_factory=list)
    """The choices that an altered paper decides otherwise or leaves open."""
    is_cut: bool = False
    """Whether the server cut the reply at the token limit."""
    raw: str = ""
    """The model's whole text, before the answer was extracted."""
    labels: list[Annotation] = field(default_factory=list)
    """People's labels of any of its samples."""


@dataclass
class Instance:
    """The details of an instance."""

    instance_id: str
    category: str
    row: DatasetRow | None
    """Its row of the dataset; None if the dataset cannot be loaded."""
    answers: list[Answer]
    """In the order of scores and samples."""

    def first_failing(self, score: int, headline: Level) -> Answer:
        """Return a model's first sample below the level that ranks its track, else below robust, else its first."""
        mine = [answer for answer in self.answers if answer.score == score]
        levels = headline, Level.ROBUST
        failing = (
            answer for level in levels for answer in mine if not reaches(answer.outcome, level)
        )
        return next(failing, mine[0])


def collect(
    report: ReportData, only: Collection[str] | None = None, score: int | None = None
) -> tuple[list[Instance], list[str]]:
    """Return the instances of a report (or `only` these, or the answers of one score), and warnings for the reader."""
    warnings: list[str] = []
    for facts in report.runs:
        if not facts.get("complete"):
            warnings.append(f"Run {facts['run_id']} is incomplete: its numbers are not final.")
        if not facts["official_sandbox"]:
            warnings.append(
                f"Run {facts['run_id']} ran in the {facts['sandbox']} sandbox, which is not official."
            )
    rows: dict[str, DatasetRow] = {}
    try:
        rows = RunFolder(report.paths[0]).dataset_rows()
    except (LMRBenchError, OSError) as error:
        reason = f"the dataset cannot be loaded ({error_line(error)})"
        warnings.append(f"Instructions and differences are missing: {reason}.")
    scope = {name: category for facts in report.runs for name, category in facts["scope"].items()}
    scope = {name: scope[name] for name in sorted(scope) if only is None or name in only}
    labels = match_labels(report.annotations, answers_by_key(report.scores)).labels
    runs = {path: _Run(path, scope, report.judge_model) for path in report.paths}
    instances = []
    for name, category in scope.items():
        answers = [
            answer
            for number, item in enumerate(report.scores)
            if name in item.scope and score in (None, number)
            for answer in _answers(number, item, name, rows.get(name), runs[item.path])
        ]
        for answer in answers:
            mine = (
                AnswerKey(name, *report.scores[answer.score].key, sample)
                for sample in answer.samples
            )
            answer.labels = [label for key in mine for label in labels.pop(key, {}).values()]
        instances.append(Instance(name, category, rows.get(name), answers))
    return instances, warnings


class _Run:
    """The rows of a run folder for some instances, read once for all models."""

    def __init__(self, path: Path, scope: Collection[str], judge_model: str | None) -> None:
        self.folder = RunFolder(path)
        self.results = {
            AnswerKey.of(row).row: row for row in self.folder.rows() if row["instance_id"] in scope
        }
        self.predictions = {
            item.key.row: item for item in self.folder.predictions if item.instance_id in scope
        }
        self.judgements = read_judgements(path, judge_model)


def _answers(
    number: int, score: ModelScore, instance: str, row: DatasetRow | None, run: _Run
) -> Sequence[Answer]:
    groups: dict[str, list[int]] = {}
    for answer in score.answers.get(instance, ()):
        groups.setdefault(answer.sha256, []).append(answer.sample)
    if not groups:
        return [Answer(number, [], MISSING, "no prediction for this instance")]
    return [
        _answer(number, AnswerKey(instance, *score.key, samples[0]), samples, row, run)
        for samples in groups.values()
    ]


def _answer(
    number: int, key: AnswerKey, samples: list[int], row: DatasetRow | None, run: _Run
) -> Answer:
    result, prediction = run.results[key], run.predictions.get(key)
    failed = failed_cases(result["cases"])
    return Answer(
        score=number,
        samples=samples,
        outcome=outcome(result["status"], result["core_status"]),
        detail=result["detail"],
        cases=failed[:MAX_CASES],
        more_cases=max(0, len(failed) - MAX_CASES),
        bad_cases=sum(len(case.seeds) for case in failed),
        all_cases=len(result["cases"]),
        functions=result.get("functions", []),
        experiments=result.get("experiments", []),
        sections=diff_answer(row, prediction) if row and prediction else [],
        judgement=run.judgements.get(AnswerKey.of(result).question),
        log=_log(run.folder.log_path(key.instance_id, result["prediction_sha256"])),
        took=read_numbers(prediction.metadata) if prediction else {},
        choices=counted_choices(result),
        is_cut=bool(prediction and was_cut(prediction.metadata)),
        raw=without_middle(prediction.content, MAX_RAW_CHARACTERS) if prediction else "",
    )


def failed_cases(cases: Sequence[CaseRow]) -> list[FailedCase]:
    """Return the cases of a result row that did not pass, core cases before others."""
    failed: dict[tuple[str, str], FailedCase] = {}
    for case in sorted(cases, key=lambda case: not case["core"]):
        if case["status"] != Status.PASSED:
            first = FailedCase(case["name"], case["core"], case["status"], [], case["detail"])
            failed.setdefault((case["name"], case["status"]), first).seeds.append(case["seed"])
    return list(failed.values())


def _log(path: Path) -> str:
    if not path.is_file():
        return ""
    return without_middle(path.read_text(encoding="utf-8", errors="replace"), MAX_LOG_CHARACTERS)


@dataclass(frozen=True)
class Chosen:
    """One answer of a report."""

    instance_id: str
    score: ModelScore
    answer: Answer
    samples: list[tuple[int, str]]
    """Number and outcome of each sample of the instance, this answer's included."""
    warnings: list[str]


def choose_answer(
    report: ReportData, instance: str, sample: int | None = None, **choice: str | None
) -> Chosen:
    """Return one answer with its details.

    Args:
        sample: number of the sample (default: the first).
        choice: `model`, `setting` and `track`; None where the run has only one.
    """
    number = _score(report.scores, instance, **choice)
    [details], warnings = collect(report, only=[instance], score=number)
    samples = sorted((one, answer.outcome) for answer in details.answers for one in answer.samples)
    return Chosen(
        instance, report.scores[number], _sample(details.answers, sample), samples, warnings
    )


def answer_dict(chosen: Chosen) -> dict[str, Any]:
    """Return the details of an answer for JSON."""
    score, answer = chosen.score, chosen.answer
    samples = [{"sample": number, "outcome": outcome} for number, outcome in chosen.samples]
    facts = dataclasses.asdict(answer) | {"judgement": answer.judgement and vars(answer.judgement)}
    del facts["score"]
    return {"instance_id": chosen.instance_id, **score.names, **facts, "all_samples": samples}


def _score(scores: Sequence[ModelScore], instance: str, **choice: str | None) -> int:
    instances = sorted({name for score in scores for name in score.scope})
    if instance not in instances:
        hint = did_you_mean(instance, instances) or f"; it covers {join_names(instances)}"
        raise InputError(f"{instance!r} is not in the scope of this run{hint}")
    fits = fitting(scores, **choice)
    fits = [number for number in fits if instance in scores[number].answers] or fits
    if len(fits) > 1:
        raise _unclear(scores)
    return fits[0]


def fitting(scores: Sequence[ModelScore], **choice: str | None) -> list[int]:
    """Return the indices of the scores with this `model`, `setting` and `track`; None stands for any.

    Raises:
        ArgumentError: there is none.
    """
    fits = [
        number
        for number, score in enumerate(scores)
        if all(want in (None, getattr(score, name)) for name, want in choice.items())
    ]
    if scores and not fits:
        raise _unclear(scores)
    return fits


def _unclear(scores: Sequence[ModelScore]) -> ArgumentError:
    names = "; ".join(f"{score.name}, {score.track}" for score in scores)
    return ArgumentError(
        "model", f"choose one model, setting and track; the answers of this run are: {names}"
    )


def _sample(answers: Sequence[Answer], sample: int | None) -> Answer:
    chosen = next(
        (answer for answer in answers if sample is None or sample in answer.samples), None
    )
    if chosen is None:
        numbers = (
            ", ".join(str(number) for answer in answers for number in answer.samples) or "none"
        )
        raise ArgumentError(
            "sample", f"{sample} does not exist; the samples of this instance are: {numbers}"
        )
    return chosen
