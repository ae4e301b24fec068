"""Collect what the page shows of each answer: code against the reference, failing cases, the judge's words, the log."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....errors import LMRBenchError
from ....loader import dataset_sha256, load_rows
from ....rows import CaseRow, DatasetRow, ResultRow
from ....text import error_line
from ...judge.store import AnswerId, Judgement, answer_id, read_judgements
from ...predictions import Prediction, PredictionFile
from ...runs.folder import log_path, read_results
from ...verdict import Status
from ...workspace import rebuild
from ..scores import MISSING
from ..tables import column

if TYPE_CHECKING:
    from ..report import Report
    from ..scores import ModelScore

MAX_DIFF_LINES = 400
MAX_LOG_CHARACTERS = 6000
MAX_CASES = 6


@dataclass
class Shown:
    """One model's first answer to an instance."""

    model: str
    status: str
    detail: str = ""
    cases: list[CaseRow] = field(default_factory=list)
    """Those that did not pass, the first ones."""
    more_cases: int = 0
    passed_cases: int = 0
    diff: list[tuple[str, str]] = field(default_factory=list)
    """(kind, line): kind is one of add, del, hunk, same, note."""
    judgement: Judgement | None = None
    log: str = ""
    samples: str = ""
    """How many samples passed, where there are several."""


@dataclass
class Instance:
    """All that is shown of an instance."""

    instance_id: str
    category: str
    row: DatasetRow | None
    """Of the dataset; None if the dataset of the run is not at hand."""
    answers: list[Shown]


def collect(report: "Report") -> tuple[list[Instance], list[str]]:
    """The instances of a report in order of their names, and what a reader must be warned of."""
    warnings: list[str] = []
    datasets: dict[str, dict[str, DatasetRow]] = {}
    for facts in report.runs:
        if not facts.get("complete"):
            warnings.append(f"Run {facts['run_id']} is incomplete: its numbers are not final.")
        if not facts["official_sandbox"]:
            warnings.append(f"Run {facts['run_id']} ran in the {facts['sandbox']} sandbox, which isolates nothing.")
        if facts["dataset_sha256"] not in datasets:
            rows, reason = _dataset(facts)
            datasets[facts["dataset_sha256"]] = rows
            if reason:
                warnings.append(f"Instructions and differences are left out for run {facts['run_id']}: {reason}.")
    if len({facts["dataset_sha256"] for facts in report.runs}) > 1:
        warnings.append("The runs are on different datasets: their numbers cannot be compared.")
    scope: dict[str, str] = {}
    known: dict[str, DatasetRow] = {}
    for facts in reversed(report.runs):
        scope |= facts["scope"]
        known |= datasets[facts["dataset_sha256"]]
    shown: dict[str, list[Shown]] = {name: [] for name in scope}
    for path, facts in zip(report.paths, report.runs, strict=True):
        rows = datasets[facts["dataset_sha256"]]
        scores = [score for score in report.scores if score.path == path]
        run = _Run.read(path, scores, report.judge_model)
        for score in scores:
            for instance in score.scope:
                shown[instance].append(_shown(score, column(score, report.scores), instance, rows.get(instance), run))
    return [Instance(name, scope[name], known.get(name), shown[name]) for name in sorted(scope)], warnings


def _dataset(facts: Mapping[str, Any]) -> tuple[dict[str, DatasetRow], str]:
    """The rows of a run's dataset by instance id, or why they are not at hand."""
    try:
        rows = load_rows(facts["dataset"])
    except (LMRBenchError, OSError) as error:
        return {}, f"its dataset cannot be loaded ({error_line(error)})"
    if dataset_sha256(rows) != facts["dataset_sha256"]:
        return {}, f"{facts['dataset']} has changed since"
    return {row["instance_id"]: row for row in rows}, ""


#: (model, setting, instance) of a first sample.
_First = tuple[str, str, str]


@dataclass(frozen=True)
class _Run:
    """What a run folder has on the first sample of each model and instance, read once for all of its models."""

    path: Path
    results: dict[_First, ResultRow]
    predictions: dict[_First, Prediction]
    judgements: dict[AnswerId, Judgement]

    @classmethod
    def read(cls, path: Path, scores: Sequence["ModelScore"], judge_model: str | None) -> "_Run":
        first = {
            (score.model, score.setting, instance): answers[0].sample
            for score in scores
            for instance, answers in score.answers.items()
        }
        results = {}
        for row in read_results(path):
            key = row["model_name_or_path"], row["setting"], row["instance_id"]
            if first.get(key) == row["sample"]:
                results[key] = row
        predictions = {}
        file = PredictionFile(path / "predictions.jsonl")
        for item in file if file.path.is_file() else ():
            key = item.model, item.setting, item.instance_id
            if first.get(key) == item.sample:
                predictions[key] = item
        return cls(path, results, predictions, read_judgements(path, judge_model))


def _shown(score: "ModelScore", name: str, instance: str, row: DatasetRow | None, run: _Run) -> Shown:
    key = score.model, score.setting, instance
    result = run.results.get(key)
    if result is None:
        return Shown(name, MISSING, "no prediction for this instance")
    sha256 = result["prediction_sha256"]
    bad = [case for case in result["cases"] if case["status"] != Status.PASSED]
    tally = score.instances[instance]
    return Shown(
        model=name,
        status=result["status"],
        detail=result["detail"],
        cases=bad[:MAX_CASES],
        more_cases=max(0, len(bad) - MAX_CASES),
        passed_cases=len(result["cases"]) - len(bad),
        diff=list(_diff(row, run.predictions[key])) if row and key in run.predictions else [],
        judgement=run.judgements.get(answer_id(result)),
        log=_log(log_path(run.path, instance, sha256)),
        samples=f"{tally.passed} of {tally.total} samples pass" if tally.total > 1 else "",
    )


def _diff(row: DatasetRow, prediction: Prediction) -> Iterator[tuple[str, str]]:
    """From the reference's goal file to the candidate's; what cannot be applied is shown as it came."""
    try:
        candidate = rebuild(row, prediction)[row["goal_file"]].data.decode("utf-8", "replace")
    except LMRBenchError as error:
        yield "note", f"cannot be applied: {error}"
        lines: Sequence[str] = [f" {line}" for line in prediction.content.splitlines()]
    else:
        before, after = row["golden_file"].splitlines(), candidate.splitlines()
        lines = list(difflib.unified_diff(before, after, n=4, lineterm=""))[2:]
        if not lines:
            yield "note", "the same as the reference"
    for line in lines[:MAX_DIFF_LINES]:
        yield {"+": "add", "-": "del", "@": "hunk"}.get(line[:1], "same"), line
    if len(lines) > MAX_DIFF_LINES:
        yield "note", f"{len(lines) - MAX_DIFF_LINES} more lines"


def _log(path: Path) -> str:
    if not path.is_file():
        return ""
    text = path.read_text(encoding="utf-8", errors="replace")
    half = MAX_LOG_CHARACTERS // 2
    return text if len(text) <= 2 * half else f"{text[:half]}\n[...]\n{text[-half:]}"
