"""Collect what is shown of each answer: verdict, failing cases, the change of the code, the judge's words, the log."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import LMRBenchError
from ...loader import dataset_sha256, load_rows
from ...rows import CaseRow, DatasetRow, ResultRow
from ...text import error_line
from ..judge.store import AnswerId, Judgement, answer_id, read_judgements
from ..levels import MISSING, outcome
from ..predictions import Prediction, PredictionFile, PredictionKey
from ..runs.results import log_path, read_results
from ..runs.standing import has_scripts, is_imported
from ..verdict import Status
from .changes import Part, changes
from .content import Content
from .spending import read_numbers

if TYPE_CHECKING:
    from .scores import ModelScore

MAX_LOG_CHARACTERS = 6000
MAX_CASES = 6


@dataclass
class FailedCase:
    """A case that did not pass, with the seeds on which it came to the same status."""

    name: str
    core: bool
    status: str
    seeds: list[int]
    detail: str
    """Of the first of these seeds."""


@dataclass
class Answer:
    """What one model answered to an instance; equal samples of one model are one answer."""

    score: int
    """Whose: number of a score of the report."""
    samples: list[int]
    """Which; none for an instance without prediction."""
    outcome: str
    """One of `OUTCOMES`."""
    detail: str = ""
    cases: list["FailedCase"] = field(default_factory=list)
    """The first ones, core cases before others."""
    more_cases: int = 0
    bad_cases: int = 0
    """How many cases and seeds did not pass, ..."""
    all_cases: int = 0
    """... of how many."""
    parts: list[Part] = field(default_factory=list)
    judgement: Judgement | None = None
    log: str = ""
    took: dict[str, float] = field(default_factory=dict)
    """Of its first sample (see `spending`)."""


@dataclass
class Instance:
    """All that is shown of an instance."""

    instance_id: str
    category: str
    row: DatasetRow | None
    """Of the dataset; None if the dataset of the run is not at hand."""
    answers: list[Answer]
    """In the order of scores and samples."""


def collect(
    report: Content, only: Collection[str] | None = None, score: int | None = None
) -> tuple[list[Instance], list[str]]:
    """The instances of a report in order of their names, and what a reader must be warned of.

    Args:
        only: ids of these instances; all by default.
        score: number of the score whose answers count; all by default.
    """
    warnings: list[str] = []
    if any(map(is_imported, report.runs)):
        warnings.append("Imported: these verdicts were reached elsewhere, and none is official.")
    for facts in report.runs:
        if is_imported(facts):
            continue
        if not facts.get("complete"):
            warnings.append(f"Run {facts['run_id']} is incomplete: its numbers are not final.")
        if has_scripts(facts):
            warnings.append(f"Verdicts of run {facts['run_id']} are read from logs, which tested code can write.")
        elif not facts["official_sandbox"]:
            warnings.append(f"Run {facts['run_id']} ran in the {facts['sandbox']} sandbox, which isolates nothing.")
    rows: dict[str, DatasetRow] = {}
    reason = ""
    for facts in report.runs:  # all of one dataset, which may be at hand under one of its names only
        if not rows:
            rows, reason = _dataset(facts)
    if reason and not rows:
        warnings.append(f"Instructions and differences are left out: {reason}.")
    scope = {name: category for facts in report.runs for name, category in facts["scope"].items()}
    scope = {name: scope[name] for name in sorted(scope) if only is None or name in only}
    runs = {path: _Run.read(path, scope, report.judge_model) for path in report.paths}
    instances = []
    for name, category in scope.items():
        answers = [
            answer
            for number, of in enumerate(report.scores)
            if name in of.scope and score in (None, number)
            for answer in _answers(number, of, name, rows.get(name), runs[of.path])
        ]
        instances.append(Instance(name, category, rows.get(name), answers))
    return instances, warnings


def _dataset(facts: Mapping[str, Any]) -> tuple[dict[str, DatasetRow], str]:
    """The rows of a run's dataset by instance id, or why they are not at hand."""
    if is_imported(facts):
        return {}, "an imported run has verdicts only"
    try:
        rows = load_rows(facts["dataset"])
    except (LMRBenchError, OSError) as error:
        return {}, f"the dataset cannot be loaded ({error_line(error)})"
    if dataset_sha256(rows) != facts["dataset_sha256"]:
        return {}, f"{facts['dataset']} has changed since"
    return {row["instance_id"]: row for row in rows}, ""


@dataclass(frozen=True)
class _Run:
    """What a run folder has on some instances, read once for all of its models."""

    path: Path
    results: dict[PredictionKey, ResultRow]
    predictions: dict[PredictionKey, Prediction]
    judgements: dict[AnswerId, Judgement]

    @classmethod
    def read(cls, path: Path, scope: Collection[str], judge_model: str | None) -> "_Run":
        results = {}
        for row in read_results(path):
            if row["instance_id"] in scope:
                names = row["instance_id"], row["model_name_or_path"], row["setting"], row["track"]
                results[(*names, row["sample"])] = row
        file = PredictionFile(path / "predictions.jsonl")
        found = (item for item in file) if file.path.is_file() else iter(())
        predictions = {item.key: item for item in found if item.instance_id in scope}
        return cls(path, results, predictions, read_judgements(path, judge_model))


def _answers(number: int, score: "ModelScore", instance: str, row: DatasetRow | None, run: _Run) -> Sequence[Answer]:
    groups: dict[str, list[int]] = {}
    for answer in score.answers.get(instance, ()):
        groups.setdefault(answer.sha256, []).append(answer.sample)
    if not groups:
        return [Answer(number, [], MISSING, "no prediction for this instance")]
    return [_answer(number, (instance, *score.key), samples, row, run) for samples in groups.values()]


def _answer(
    number: int, of: tuple[str, str, str, str], samples: list[int], row: DatasetRow | None, run: _Run
) -> Answer:
    key: PredictionKey = (*of, samples[0])
    result, prediction = run.results[key], run.predictions.get(key)
    failed = failed_cases(result["cases"])
    return Answer(
        number,
        samples,
        outcome(result["status"], result["core_status"]),
        result["detail"],
        failed[:MAX_CASES],
        max(0, len(failed) - MAX_CASES),
        sum(len(case.seeds) for case in failed),
        len(result["cases"]),
        changes(row, prediction) if row and prediction else [],
        run.judgements.get(answer_id(result)),
        _log(log_path(run.path, of[0], result["prediction_sha256"])),
        read_numbers(prediction.metadata) if prediction else {},
    )


def failed_cases(cases: Sequence[CaseRow]) -> list[FailedCase]:
    """The cases of a result row that did not pass, core cases before others."""
    found: dict[tuple[str, str], FailedCase] = {}
    for case in sorted(cases, key=lambda case: not case["core"]):
        if case["status"] != Status.PASSED:
            first = FailedCase(case["name"], case["core"], case["status"], [], case["detail"])
            found.setdefault((case["name"], case["status"]), first).seeds.append(case["seed"])
    return list(found.values())


def _log(path: Path) -> str:
    if not path.is_file():
        return ""
    text = path.read_text(encoding="utf-8", errors="replace")
    half = MAX_LOG_CHARACTERS // 2
    return text if len(text) <= 2 * half else f"{text[:half]}\n[...]\n{text[-half:]}"
