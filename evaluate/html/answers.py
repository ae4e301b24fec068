"""Collect what the page shows of each answer: code against the reference, failing cases, the judge's words, the log."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmrbench_data.errors import LMRBenchError
from lmrbench_data.evaluate.extract import MalformedAnswer
from lmrbench_data.evaluate.judge.store import Judgement, read_judgements
from lmrbench_data.evaluate.predictions import Prediction, PredictionFile
from lmrbench_data.evaluate.run_folder import read_results
from lmrbench_data.evaluate.scores import MISSING
from lmrbench_data.evaluate.tables import column
from lmrbench_data.evaluate.verdict import Status
from lmrbench_data.evaluate.workspace import rebuild
from lmrbench_data.loader import LoadError, dataset_sha256, load_rows

if TYPE_CHECKING:
    from lmrbench_data.evaluate.report import Report
    from lmrbench_data.evaluate.scores import ModelScore

MAX_DIFF_LINES = 400
MAX_LOG_CHARACTERS = 6000
MAX_CASES = 6

Row = Mapping[str, Any]


@dataclass
class Shown:
    """One model's first answer to an instance."""

    model: str
    status: str
    detail: str = ""
    cases: list[dict[str, Any]] = field(default_factory=list)
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
    row: Row | None
    """Of the dataset; None if the dataset of the run is not at hand."""
    answers: list[Shown]


def collect(report: "Report") -> tuple[list[Instance], list[str]]:
    """The instances of a report in order of their names, and what a reader must be warned of."""
    warnings: list[str] = []
    datasets: dict[str, dict[str, Row]] = {}
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
    known: dict[str, Row] = {}
    for facts in reversed(report.runs):
        scope |= facts["scope"]
        known |= datasets[facts["dataset_sha256"]]
    shown: dict[str, list[Shown]] = {name: [] for name in scope}
    for score in report.scores:
        facts = report.runs[list(report.paths).index(score.path)]
        name = column(score, report.scores)
        for answer in _answers(score, name, datasets[facts["dataset_sha256"]]):
            shown[answer[0]].append(answer[1])
    return [Instance(name, scope[name], known.get(name), shown[name]) for name in sorted(scope)], warnings


def _dataset(facts: Row) -> tuple[dict[str, Row], str]:
    """The rows of a run's dataset by instance id, or why they are not at hand."""
    try:
        rows = load_rows(facts["dataset"])
    except (LMRBenchError, LoadError, OSError) as error:
        return {}, f"its dataset cannot be loaded ({str(error).splitlines()[0][:200]})"
    if dataset_sha256(rows) != facts["dataset_sha256"]:
        return {}, f"{facts['dataset']} has changed since"
    return {str(row["instance_id"]): row for row in rows}, ""


def _answers(score: "ModelScore", name: str, rows: Mapping[str, Row]) -> Iterator[tuple[str, Shown]]:
    first = {instance: answers[0] for instance, answers in score.answers.items()}
    results = {
        row["instance_id"]: row
        for row in read_results(score.path)
        if (row["model_name_or_path"], row["setting"]) == (score.model, score.setting)
        and row["instance_id"] in first
        and row["sample"] == first[row["instance_id"]].sample
    }
    predictions = _predictions(score, first)
    judgements = read_judgements(score.path)
    for instance in score.scope:
        result = results.get(instance)
        if result is None:
            yield instance, Shown(name, MISSING, "no prediction for this instance")
            continue
        bad = [case for case in result["cases"] if case["status"] != Status.PASSED]
        answer = Shown(name, result["status"], result["detail"], bad[:MAX_CASES], max(0, len(bad) - MAX_CASES))
        answer.passed_cases = len(result["cases"]) - len(bad)
        answer.judgement = judgements.get((instance, result["prediction_sha256"]))
        answer.log = _log(score.path, instance, result["prediction_sha256"])
        tally = score.instances[instance]
        answer.samples = f"{tally.passed} of {tally.total} samples pass" if tally.total > 1 else ""
        if instance in rows and instance in predictions:
            answer.diff = list(_diff(rows[instance], predictions[instance]))
        yield instance, answer


def _predictions(score: "ModelScore", first: Mapping[str, Any]) -> dict[str, Prediction]:
    path = score.path / "predictions.jsonl"
    if not path.is_file():
        return {}
    return {
        item.instance_id: item
        for item in PredictionFile(path)
        if (item.model, item.setting) == (score.model, score.setting)
        and item.instance_id in first
        and item.sample == first[item.instance_id].sample
    }


def _diff(row: Row, prediction: Prediction) -> Iterator[tuple[str, str]]:
    """From the reference's goal file to the candidate's; what cannot be applied is shown as it came."""
    try:
        candidate = rebuild(row, prediction)[row["goal_file"]].data.decode("utf-8", "replace")
    except (MalformedAnswer, LMRBenchError) as error:
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


def _log(run: Path, instance: str, sha256: str) -> str:
    path = run / "logs" / instance / f"{sha256[:16]}.log"
    if not path.is_file():
        return ""
    text = path.read_text(encoding="utf-8", errors="replace")
    half = MAX_LOG_CHARACTERS // 2
    return text if len(text) <= 2 * half else f"{text[:half]}\n[...]\n{text[-half:]}"
