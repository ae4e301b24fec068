"""Verify a submission: repeat its predictions in Docker, with the published seeds and with secret ones.

The verdicts of the repeated run count, and `publication` publishes them. Verdicts that differ from the submitted ones
are listed; predictions that cannot be evaluated or shown are refused.
"""

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lmrbench_data.base.errors import ArgumentError, InputError
from lmrbench_data.base.jobs import Progress
from lmrbench_data.base.jsonl import read_log
from lmrbench_data.dataset.load import load_rows
from lmrbench_data.dataset.result_rows import ResultRow
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import CONFIGS, NoConfigError, dataset_sha256

from ..judge.judgement_log import FILE as JUDGEMENTS
from ..predictions.prediction import AnswerKey
from ..runs.evaluation import RunSummary, evaluate
from ..runs.folder import RESULTS, RunFolder
from ..runs.result_log import ResultLog
from ..runs.settings import RunSettings
from ..sandbox import open_sandbox
from .claim import Claim
from .layout import row_name, shown, table_faults

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

    claim: Claim
    folder: Path
    instances: dict[str, DatasetRow]
    rows: list[ResultRow]
    differing: list[str]

    @property
    def memorised(self) -> list[str]:
        """A line for each answer that passes the published seeds and not the fresh ones, at either level."""
        lines = []
        for row in self.rows:
            if row.get("memorised") or row.get("core_memorised"):
                lines.append(f"{row_name(row)}: {'core cases' if row.get('core_memorised') else 'contract cases'}")
        return lines


def repeat(
    claim: Claim,
    dataset: str,
    *,
    workers: int = 2,
    fresh_seeds: int = FRESH_SEEDS,
    progress: Progress | None = None,
) -> tuple[RunSummary, Verification | None]:
    """Evaluate the predictions of a claim again in Docker; a stopped evaluation is resumed, with the same seeds.

    Returns:
        The summary of the run, and its results; None if it is not complete.
    """
    config, rows = _claimed_rows(claim, dataset)
    folder = claim.work_folder / f"run-{fresh_seeds}"
    settings = RunSettings(out=folder, dataset=dataset, config=config, workers=workers, fresh_seeds=fresh_seeds)
    with open_sandbox("docker") as place:
        summary = evaluate(str(claim.files["predictions.jsonl"]), settings, rows, place, progress)
    if summary.stopped or summary.infra_errors:
        return summary, None
    if JUDGEMENTS in claim.files:
        shutil.copyfile(claim.files[JUDGEMENTS], folder / JUDGEMENTS)
    results = list(RunFolder(folder).rows())
    bad = [f"prediction {shown(Path(str(row)).name)}" for row in summary.bad_rows]
    if faults := [*bad, *table_faults(results)]:
        raise InputError(f"{claim.where}: cannot be published: {'; '.join(faults[:20])}")
    differing = list(_differences(claim, results))
    return summary, Verification(claim, folder, {row["instance_id"]: row for row in rows}, results, differing)


def _claimed_rows(claim: Claim, dataset: str) -> tuple[str, list[DatasetRow]]:
    """Return the configuration that a claim is on, and its rows."""
    hashes = []
    for config in CONFIGS:
        with contextlib.suppress(NoConfigError):
            rows = load_rows(dataset, config)
            hashes.append(dataset_sha256(rows))
            if hashes[-1] == claim.dataset_sha256:
                return config, rows
    have = " and ".join(sha256[:12] for sha256 in hashes)
    problem = f"run {claim.run_id} is on {shown(claim.dataset_sha256)[:12]}, and {dataset} is {have}"
    raise ArgumentError("dataset", f"{problem}; name the published one, org/name@vX.Y.Z")


def _differences(claim: Claim, rows: list[ResultRow]) -> Iterator[str]:
    """Yield one line for each result that differs from the submitted one, or was not submitted."""
    if RESULTS not in claim.files:
        return
    lines = read_log(claim.files[RESULTS], ResultLog.parse, "the submitter has to submit the run again")
    submitted = {AnswerKey.of(line.row).row: (line.row["status"], line.row["core_status"]) for line in lines}
    for row in rows:
        theirs, own = submitted.get(AnswerKey.of(row).row), (row["status"], row["core_status"])
        if theirs is None:
            yield f"{row_name(row)}: not among the submitted results"
        elif theirs != own:
            core = theirs[0] == own[0]
            yield f"{row_name(row)}: submitted {'core_status ' * core}{theirs[core]}, is {own[core]}"
