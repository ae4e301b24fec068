"""Verify a submission: repeat its predictions in Docker, with the published seeds and with secret ones.

The verdicts of the repeated run count, and `publication` publishes them. Verdicts that differ from the submitted ones
are listed; predictions that cannot be evaluated or shown are refused.
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
from .layout import MAX_ROWS, row_name, shown, table_faults
from .submission import Submission

#: Number of secret seeds of a verification, drawn for it alone.
FRESH_SEEDS = 2


@dataclass(frozen=True)
class Verification:
    """A repeated run.

    Attributes:
        instances: every row of the dataset by instance id.
        rows: its results.
        differing: a line for each result that differs from the submitted one.
    """

    submission: Submission
    folder: Path
    instances: dict[str, DatasetRow]
    rows: list[ResultRow]
    differing: list[str]

    @property
    def memorised(self) -> list[str]:
        """A line for each answer that passes the published seeds and not the fresh ones, at either level."""
        rows = filter(is_memorised, self.rows)
        return [
            f"{row_name(row)}: {'core' if row.get('core_memorised') else 'contract'} cases"
            for row in rows
        ]


def is_memorised(row: ResultRow) -> bool:
    """Return whether an answer passes the published seeds and not the fresh ones, at either level."""
    return bool(row.get("memorised") or row.get("core_memorised"))


def repeat(
    submission: Submission,
    dataset: str,
    *,
    workers: int = 2,
    fresh_seeds: int = FRESH_SEEDS,
    progress: Progress | None = None,
) -> tuple[RunSummary, Verification | None]:
    """Evaluate the predictions of a submission again in Docker; a stopped evaluation is resumed, with the same seeds.

    Returns:
        The summary of the run, and its results; None if it is not complete.
    """
    config, rows = _submitted_rows(submission, dataset)
    submitted = _submitted(submission, rows)
    folder = submission.work_folder / f"run-{fresh_seeds}"
    settings = RunSettings.of(
        out=folder, dataset=dataset, config=config, workers=workers, fresh_seeds=fresh_seeds
    )
    with open_sandbox("docker", isolation=CONTAINER) as place:
        summary = evaluate(
            str(submission.files["predictions.jsonl"]), settings, rows, place, progress
        )
    if summary.stopped or summary.infra_errors:
        return summary, None
    if JUDGEMENTS in submission.files:
        shutil.copyfile(submission.files[JUDGEMENTS], folder / JUDGEMENTS)
    results = list(RunFolder(folder).rows())
    differing = list(_differences(submitted, results))
    return summary, Verification(
        submission, folder, {row["instance_id"]: row for row in rows}, results, differing
    )


def _submitted_rows(submission: Submission, dataset: str) -> tuple[str, list[DatasetRow]]:
    """Return the configuration that a submission is on, and its rows."""
    hashes = []
    for config in CONFIGS:
        with contextlib.suppress(NoConfigError):
            rows = load_rows(dataset, config)
            hashes.append(dataset_sha256(rows))
            if hashes[-1] == submission.dataset_sha256:
                return config, rows
    have = " and ".join(sha256[:12] for sha256 in hashes)
    problem = f"run {submission.run_id} is on {shown(submission.dataset_sha256)[:12]}, and {dataset} is {have}"
    raise ArgumentError("dataset", f"{problem}; name the published one, org/name@vX.Y.Z")


def _submitted(submission: Submission, rows: list[DatasetRow]) -> dict[AnswerKey, tuple[str, str]]:
    """Read all files of a submission before anything is evaluated; return the submitted statuses.

    Raises:
        InputError: a file is damaged or not JSON lines, or the predictions cannot be published.
    """

    def lines(
        name: str, parse: Callable[[bytes], dict[str, Any] | None]
    ) -> Iterator[dict[str, Any]]:
        if name in submission.files:
            fix = "the submitter has to submit the run again"
            yield from (line.row for line in read_log(submission.files[name], parse, fix))

    number = 0
    for number, _ in enumerate(lines(PREDICTIONS, lambda line: parse_row(line, {})), start=1):
        if number > MAX_ROWS:
            raise InputError(
                f"{submission.where}: cannot be published: it has more than {MAX_ROWS} rows"
            )
    if not number:  # a single line without an end may be anything
        raise InputError(f"{submission.where}: cannot be published: {PREDICTIONS} has no rows")
    keys, bad = [], []
    for item in read_predictions(
        submission.files[PREDICTIONS], {row["instance_id"]: row for row in rows}
    ):
        if isinstance(item, BadRow):
            bad.append(f"prediction {shown(Path(str(item)).name)}")
        else:
            keys.append({"instance_id": item.instance_id, **item.key.as_row()})
    if faults := [*bad, *table_faults(keys)]:
        raise InputError(f"{submission.where}: cannot be published: {'; '.join(faults[:20])}")
    for _ in lines(JUDGEMENTS, JudgementLog.parse):
        pass
    return {
        AnswerKey.of(row): (row["status"], row["core_status"])
        for row in lines(RESULTS, ResultLog.parse)
    }


def _differences(
    submitted: Mapping[AnswerKey, tuple[str, str]], rows: list[ResultRow]
) -> Iterator[str]:
    """Yield one line for each result that differs from the submitted one, or was not submitted."""
    for row in rows:
        theirs, own = submitted.get(AnswerKey.of(row)), (row["status"], row["core_status"])
        if theirs is None:
            yield f"{row_name(row)}: not among the submitted results"
        elif theirs != own:
            core = theirs[0] == own[0]
            yield f"{row_name(row)}: submitted {'core_status ' * core}{theirs[core]}, is {own[core]}"
