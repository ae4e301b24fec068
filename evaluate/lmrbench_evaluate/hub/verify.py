"""Verify a submission: repeat its predictions in Docker, on published seeds and on secret ones.

The verdicts of the repeated run count, and `publication` publishes them. Verdicts that differ from
the submitted ones are listed; predictions that cannot be evaluated or shown are refused.
"""

import contextlib
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmrbench_data.base.errors import ArgumentError, InputError
from lmrbench_data.base.jobs import Progress
from lmrbench_data.base.jsonl import parse_row, read_log
from lmrbench_data.base.text import one_line
from lmrbench_data.dataset.load import load_rows
from lmrbench_data.dataset.result_rows import ResultRow
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import CONFIGS, NoConfigError, dataset_sha256

from ..judge.judgement_log import FILE as JUDGEMENTS
from ..judge.judgement_log import JudgementLog
from ..predictions.prediction import AnswerKey
from ..predictions.reading import read_predictions
from ..predictions.sources import BadRow
from ..runs.evaluation import RunSummary, evaluate
from ..runs.folder import PREDICTIONS, RESULTS, RunFolder
from ..runs.result_log import ResultLog
from ..runs.settings import RunSettings
from ..sandbox import open_sandbox
from ..sandbox.zygotes import CONTAINER
from .layout import MAX_ROWS, shown, table_faults
from .submission import Submission

#: What to do about a damaged file.
_FIX = "the submitter has to submit the run again"
#: Number of secret seeds of a verification, drawn for it alone.
FRESH_SEEDS = 2


@dataclass(frozen=True)
class Verification:
    """A repeated run.

    Attributes:
        folder: the run folder.
        instances: instance id → its row; all rows of the dataset.
        rows: the results of the run.
        differing: a line for each result that differs from the submitted one.
    """

    submission: Submission
    folder: Path
    instances: dict[str, DatasetRow]
    rows: list[ResultRow]
    differing: list[str]

    @property
    def memorised(self) -> list[str]:
        """A line for each answer that passes the published seeds and not the fresh ones."""
        lines = []
        for row in filter(is_memorised, self.rows):
            level = "core" if row.get("core_memorised") else "contract"
            lines.append(f"{one_line(AnswerKey.of(row))}: {level} cases")
        return lines


def is_memorised(row: ResultRow) -> bool:
    """Return whether an answer passes only the published seeds, at either level."""
    return bool(row.get("memorised") or row.get("core_memorised"))


def repeat(
    submission: Submission,
    dataset: str,
    *,
    workers: int = 2,
    fresh_seeds: int = FRESH_SEEDS,
    progress: Progress | None = None,
) -> tuple[RunSummary, Verification | None]:
    """Evaluate the predictions of a submission again in Docker.

    A stopped evaluation is resumed with the same seeds.

    Returns:
        The summary of the run, and its results; None if it is not complete.
    """
    config, rows = _dataset_rows(submission, dataset)
    instances = {row["instance_id"]: row for row in rows}
    submitted = _read_submission(submission, instances)
    settings = RunSettings.of(
        out=submission.work_folder / f"run-{fresh_seeds}",
        dataset=dataset,
        config=config,
        workers=workers,
        fresh_seeds=fresh_seeds,
    )
    predictions = str(submission.files[PREDICTIONS])
    with open_sandbox("docker", isolation=CONTAINER) as sandbox:
        summary = evaluate(predictions, settings, rows, sandbox, progress)
    if summary.stopped or summary.infra_errors:
        return summary, None
    if JUDGEMENTS in submission.files:
        shutil.copyfile(submission.files[JUDGEMENTS], summary.path / JUDGEMENTS)
    results = list(RunFolder(summary.path).rows())
    return summary, Verification(
        submission=submission,
        folder=summary.path,
        instances=instances,
        rows=results,
        differing=list(_differences(submitted, results)),
    )


def _dataset_rows(submission: Submission, dataset: str) -> tuple[str, list[DatasetRow]]:
    """Return the configuration that a submission is on, and its rows."""
    for config in CONFIGS:
        with contextlib.suppress(NoConfigError):
            rows = load_rows(dataset, config)
            if dataset_sha256(rows) == submission.dataset_sha256:
                return config, rows
    raise ArgumentError(
        "dataset",
        f"{dataset} is not the dataset of run {submission.run_id},"
        f" {shown(submission.dataset_sha256)[:12]}; name the published one, org/name@vX.Y.Z",
    )


def _read_submission(
    submission: Submission, instances: Mapping[str, DatasetRow]
) -> dict[AnswerKey, str]:
    """Read all files of a submission before anything is evaluated; return the submitted verdicts.

    Raises:
        InputError: a file is damaged or not JSON lines, or the predictions cannot be published.
    """
    faults = _prediction_faults(submission, instances)
    if faults:
        raise InputError(f"{submission.where}: cannot be published: {'; '.join(faults[:20])}")
    for _ in _lines(submission, JUDGEMENTS, JudgementLog.parse):
        pass  # raises an error if a line is damaged
    results = _lines(submission, RESULTS, ResultLog.parse)
    return {AnswerKey.of(row): _verdict(row) for row in results}


def _prediction_faults(submission: Submission, instances: Mapping[str, DatasetRow]) -> list[str]:
    """Return the reasons why the predictions cannot be published."""
    path = submission.files[PREDICTIONS]
    # Counted first: other forms of predictions, such as a list, would be read as a whole.
    count = sum(1 for _ in read_log(path, lambda line: parse_row(line, {}), _FIX))
    if not 0 < count <= MAX_ROWS:
        return [f"it has {count} rows of predictions; expected 1 to {MAX_ROWS}"]
    return _row_faults(path, instances)


def _row_faults(path: Path, instances: Mapping[str, DatasetRow]) -> list[str]:
    faults = []
    keys = []
    for item in read_predictions(path, instances):
        if isinstance(item, BadRow):
            problem = f"{Path(item.place).name}: {item.reason}"
            faults.append(f"prediction {shown(problem)}")
        else:
            keys.append({"instance_id": item.instance_id, **item.key.as_row()})
    return faults + table_faults(keys)


def _lines(
    submission: Submission, name: str, parse: Callable[[bytes], dict[str, Any] | None]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file of the submission; none if it lacks the file."""
    if name in submission.files:
        for line in read_log(submission.files[name], parse, _FIX):
            yield line.row


def _differences(submitted: Mapping[AnswerKey, str], rows: list[ResultRow]) -> Iterator[str]:
    """Yield one line for each result that was not submitted, or with another verdict."""
    for row in rows:
        before = submitted.get(AnswerKey.of(row))
        if before is None:
            yield f"{one_line(AnswerKey.of(row))}: not among the submitted results"
        elif before != _verdict(row):
            yield f"{one_line(AnswerKey.of(row))}: submitted {before}, is {_verdict(row)}"


def _verdict(row: Mapping[str, Any]) -> str:
    """Return both statuses of a result; one word if they are equal."""
    if row["status"] == row["core_status"]:
        return str(row["status"])
    return f"{row['status']} (core_status {row['core_status']})"
