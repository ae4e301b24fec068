"""The details of each answer: verdict, failing cases, difference, judgement and log."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmrbench_data.base.errors import ArgumentError, InputError, LMRBenchError
from lmrbench_data.base.suggestions import did_you_mean
from lmrbench_data.base.text import error_line, join_names, without_middle
from lmrbench_data.dataset.result_rows import CaseRow, ChoiceRow, PartRow
from lmrbench_data.dataset.rows import DatasetRow

from ..judge.judgement_log import Judgement, read_judgements
from ..predictions.prediction import AnswerKey, Prediction, was_cut
from ..runs.folder import RunFolder
from ..verdict.choices import counted_choices
from ..verdict.levels import MISSING, outcome
from ..verdict.verdict import Status
from .agreement import match_labels
from .annotations import Annotation
from .answer_diff import DiffSection, diff_answer
from .data import ReportData
from .scores import ModelScore, Scores, answers_by_key
from .spending import read_numbers

MAX_LOG_CHARACTERS = 6000
MAX_RAW_CHARACTERS = 20_000
MAX_CASES = 6
NO_PREDICTION = "no prediction for this instance"


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


def collect(
    report: ReportData, instance: str | None = None, score: int | None = None
) -> tuple[list[Instance], list[str]]:
    """Return the instances of a report (or one, and one score), and warnings for the reader."""
    categories = _categories(report.runs)
    if instance is not None:
        categories = {instance: categories[instance]}
    rows, warnings = _dataset_rows(report.paths[0])
    instances = []
    for name, category in sorted(categories.items()):
        instances.append(Instance(name, category, rows.get(name), []))
    _add_all_answers(instances, report, score)
    _add_labels(instances, report)
    return instances, [*_run_warnings(report.runs), *warnings]


def _categories(runs: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the category of each instance of some runs."""
    categories: dict[str, str] = {}
    for facts in runs:
        categories |= facts["scope"]
    return categories


def _dataset_rows(path: Path) -> tuple[dict[str, DatasetRow], list[str]]:
    """Return the rows that a run was evaluated on, or else a warning."""
    try:
        return RunFolder(path).dataset_rows(), []
    except (LMRBenchError, OSError) as error:
        reason = f"the dataset cannot be loaded ({error_line(error)})"
        return {}, [f"Instructions and differences are missing: {reason}."]


def _run_warnings(runs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for facts in runs:
        run = f"Run {facts['run_id']}"
        if not facts.get("complete"):
            yield f"{run} is incomplete: its numbers are not final."
        if not facts["official_sandbox"]:
            yield f"{run} ran in the {facts['sandbox']} sandbox, which is not official."


class _Run:
    """The rows of a run folder for some instances, read once for all models."""

    def __init__(self, path: Path, names: Sequence[str], judge_model: str | None) -> None:
        self.folder = RunFolder(path)
        self.results = {
            AnswerKey.of(row).row: row for row in self.folder.rows() if row["instance_id"] in names
        }
        self.predictions = {
            item.key.row: item for item in self.folder.predictions if item.instance_id in names
        }
        self.judgements = read_judgements(path, judge_model)


def _add_all_answers(instances: Sequence[Instance], report: ReportData, score: int | None) -> None:
    """Add the answers of all scores, or of one."""
    names = [instance.instance_id for instance in instances]
    runs = {path: _Run(path, names, report.judge_model) for path in report.paths}
    for number, item in enumerate(report.scores):
        if score in (None, number):
            _add_answers(instances, number, item, runs[item.path])


def _add_answers(instances: Sequence[Instance], number: int, score: ModelScore, run: _Run) -> None:
    """Add the answers of one score; equal samples are one."""
    for instance in instances:
        name = instance.instance_id
        groups: dict[str, list[int]] = {}
        for answer in score.answers.get(name, ()):
            groups.setdefault(answer.sha256, []).append(answer.sample)
        for samples in groups.values():
            key = AnswerKey(name, *score.key, samples[0])
            instance.answers.append(_answer(number, key, samples, instance.row, run))
        if name in score.scope and not groups:
            instance.answers.append(Answer(number, [], MISSING, NO_PREDICTION))


def _answer(
    number: int, key: AnswerKey, samples: list[int], row: DatasetRow | None, run: _Run
) -> Answer:
    result = run.results[key]
    reached = outcome(result["status"], result["core_status"])
    log_path = run.folder.log_path(key.instance_id, result["prediction_sha256"])
    judgement = run.judgements.get(AnswerKey.of(result).question)
    answer = Answer(
        score=number,
        samples=samples,
        outcome=reached,
        detail=result["detail"],
        functions=result.get("functions", []),
        experiments=result.get("experiments", []),
        judgement=judgement,
        log=_log(log_path),
        choices=counted_choices(result),
    )
    _add_cases(answer, result["cases"])
    if prediction := run.predictions.get(key):
        _add_prediction(answer, prediction, row)
    return answer


def _add_cases(answer: Answer, cases: Sequence[CaseRow]) -> None:
    failed = failed_cases(cases)
    answer.cases = failed[:MAX_CASES]
    answer.more_cases = len(failed[MAX_CASES:])
    answer.bad_cases = sum(len(case.seeds) for case in failed)
    answer.all_cases = len(cases)


def _add_prediction(answer: Answer, prediction: Prediction, row: DatasetRow | None) -> None:
    answer.sections = diff_answer(row, prediction) if row else []
    answer.took = read_numbers(prediction.metadata)
    answer.is_cut = was_cut(prediction.metadata)
    answer.raw = without_middle(prediction.content, MAX_RAW_CHARACTERS)


def _add_labels(instances: Sequence[Instance], report: ReportData) -> None:
    """Add people's labels to the answers; those of two runs with one key go to the first."""
    labels = match_labels(report.annotations, answers_by_key(report.scores)).labels
    for instance in instances:
        for answer in instance.answers:
            names = report.scores[answer.score].key
            for sample in answer.samples:
                key = AnswerKey(instance.instance_id, *names, sample)
                answer.labels += labels.pop(key, {}).values()


def failed_cases(cases: Sequence[CaseRow]) -> list[FailedCase]:
    """Return the cases of a result row that did not pass, core cases before others."""
    failed: dict[tuple[str, str], FailedCase] = {}
    for case in sorted(cases, key=lambda case: not case["core"]):
        if case["status"] != Status.PASSED:
            first = FailedCase(case["name"], case["core"], case["status"], [], case["detail"])
            failed.setdefault((first.name, first.status), first).seeds.append(case["seed"])
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
    number = _score(report, instance, **choice)
    [details], warnings = collect(report, instance, number)
    answer = _with_sample(details.answers, sample)
    samples = sorted(_outcomes(details.answers).items())
    return Chosen(instance, report.scores[number], answer, samples, warnings)


def _outcomes(answers: Sequence[Answer]) -> dict[int, str]:
    """Return sample → outcome."""
    outcomes: dict[int, str] = {}
    for answer in answers:
        outcomes |= dict.fromkeys(answer.samples, answer.outcome)
    return outcomes


def answer_dict(chosen: Chosen) -> dict[str, Any]:
    """Return the details of an answer for JSON."""
    answer = dataclasses.asdict(chosen.answer)
    del answer["score"]
    if chosen.answer.judgement:
        answer["judgement"] = vars(chosen.answer.judgement)
    samples = [{"sample": number, "outcome": outcome} for number, outcome in chosen.samples]
    names = {"instance_id": chosen.instance_id, **chosen.score.names}
    return {**names, **answer, "all_samples": samples}


def _score(report: ReportData, instance: str, **choice: str | None) -> int:
    """Return the index of the only score with this choice that has answers to the instance."""
    scores = report.scores
    instances = sorted(_categories(report.runs))
    if instance not in instances:
        hint = did_you_mean(instance, instances) or f"; it covers {join_names(instances)}"
        raise InputError(f"{instance!r} is not in the scope of this run{hint}")
    if not scores:
        problem = "has no results in this run yet; evaluate again to resume it"
        raise InputError(f"{instance!r} {problem}")
    fits = fitting(scores, **choice)
    fits = [number for number in fits if instance in scores[number].answers] or fits
    if len(fits) > 1:
        raise _unclear(scores)
    return fits[0]


def fitting(scores: Scores, **choice: str | None) -> list[int]:
    """Return the indices of the scores with this `model`, `setting` and `track`; None is any.

    Raises:
        ArgumentError: there is none.
    """
    fits = list(range(len(scores)))
    for name, value in choice.items():
        if value is not None:
            fits = [number for number in fits if getattr(scores[number], name) == value]
    if scores and not fits:
        raise _unclear(scores)
    return fits


def _unclear(scores: Scores) -> ArgumentError:
    names = "; ".join(f"{score.name}, {score.track}" for score in scores)
    problem = "choose one model, setting and track; the answers of this run are"
    return ArgumentError("model", f"{problem}: {names}")


def _with_sample(answers: Sequence[Answer], sample: int | None) -> Answer:
    """Return the answer with this sample; the first one for None."""
    if sample is None:
        return answers[0]
    for answer in answers:
        if sample in answer.samples:
            return answer
    numbers = ", ".join(map(str, _outcomes(answers))) or "none"
    problem = f"{sample} does not exist; the samples of this instance are: {numbers}"
    raise ArgumentError("sample", problem)
