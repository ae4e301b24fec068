"""Publish a verified run in one commit to main, then close its pull request with a comment.

All files are made here: none is copied from a stranger, and a stranger's branch is never merged,
because its author can push to it at any time. Two runs never touch the same file.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from lmrbench_data.base.errors import InfraError, InputError
from lmrbench_data.base.files import now
from lmrbench_data.base.hub_client import additions, commit, hub_errors
from lmrbench_data.base.names import PLAIN, plain_name
from lmrbench_data.base.paths import cards_folder
from lmrbench_data.base.text import one_line
from lmrbench_data.dataset.columns import schema
from lmrbench_data.dataset.result_rows import ResultRow
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.tasks.guessing import SettledChoice, by_truth, corrected

from ..judge.judgement_log import read_judgements
from ..predictions.prediction import AnswerKey
from ..reports.scores import ModelScore, score_runs, with_difficulties
from ..reports.sections import first_reason
from ..reports.tally import Tally
from ..runs.folder import FACTS, PREDICTIONS, RunFolder, benchmark_title
from ..verdict.choices import counted_choices
from ..verdict.levels import MISSING
from ..verdict.verdict import Status
from .layout import (
    check_free,
    list_files,
    published_facts,
    record_path,
    shown,
    table_faults,
)
from .record import JUDGED, Choices, Entry, Record, Score, Task, TaskResult
from .submission import Submission
from .verify import Verification, is_memorised

if TYPE_CHECKING:
    from huggingface_hub import HfApi

#: Path of a record; it has no special character of glob patterns, so it is a pattern itself.
_RECORD = re.compile(rf"verified/{PLAIN.pattern}\.json")
#: Columns of the published rows that results lack.
_ADDED = ("paper_title", "paper_url", "config", "benchmark_version", "submitted_by")
#: Largest number of characters of a failing case.
MAX_FAILURE = 240
#: Largest number of memorised, or of differing, answers that a record lists.
MAX_LISTED = 1000


def publish(api: "HfApi", verified: Verification) -> tuple[Record, str]:
    """Publish a repeated run in one commit to main, then close the pull request.

    Returns:
        The record and its address.
    """
    repo_id = verified.submission.repo_id
    where = verified.submission.where
    fix = "ask for a run with another name"
    head, present = check_free(api, repo_id, verified.submission.run_id, where, fix)
    with hub_errors(where):
        record = make_record(verified, api.whoami()["name"])
    files = _files(verified, record)
    if "README.md" not in present:
        files["README.md"] = _card(verified)
    title = f"Verified {record.run_id} [PR {record.pull_request} at {record.submission[:12]}]"
    commit(api, repo_id, additions(files), title=title, parent_commit=head)
    return record, close(api, repo_id, record)


def _card(verified: Verification) -> bytes:
    row = next(iter(verified.instances.values()))
    card = (cards_folder() / "results_card.md").read_text(encoding="utf-8")
    return card.replace("{{ benchmark }}", benchmark_title(row["canary"])).encode()


def earlier_record(api: "HfApi", repo_id: str, number: int) -> Record | None:
    """Return the record of a pull request that was verified before; None if it was not.

    New commits to the pull request do not matter.
    """
    with hub_errors(repo_id):
        # At one commit: for a branch that it cannot reach, the client returns an old state.
        sha = str(api.dataset_info(repo_id, revision="main").sha)
        paths = sorted(filter(_RECORD.fullmatch, list_files(api, repo_id, sha)))
        if not paths:
            return None
        folder = api.snapshot_download(
            repo_id, repo_type="dataset", revision=sha, allow_patterns=paths
        )
    for path in paths:
        try:
            record = Record.model_validate_json(Path(folder, path).read_bytes())
        except ValidationError:
            continue
        except FileNotFoundError as error:
            raise InfraError(f"{repo_id}: {path} was not downloaded; try again") from error
        if record.pull_request == number and record.run_id == Path(path).stem:
            return record
    return None


def close(api: "HfApi", repo_id: str, record: Record) -> str:
    """Close the pull request of a published run, unless it is closed, with a link to the record.

    Returns:
        The address of the record.
    """
    number = record.pull_request
    url = f"{api.endpoint}/datasets/{repo_id}/blob/main/{record_path(record.run_id)}"
    with hub_errors(f"{repo_id} PR {number}"):
        details = api.get_discussion_details(repo_id, number, repo_type="dataset")
        if details.status == "open":
            api.change_discussion_status(
                repo_id, number, "closed", repo_type="dataset", comment=_comment(record, url)
            )
    return url


def _comment(record: Record, url: str) -> str:
    return (
        f"`lmrbench verify` repeated this run; its own results are on main: {url}\n\n"
        f"The submission was read at {record.submission[:12]}; later commits do not count."
        f" {record.agreed} of {record.rows} verdicts equal the submitted ones, also on"
        f" {len(record.fresh_seeds)} secret seeds. {record.memorised_answers} pass on the published"
        " seeds only, so they do not count at that level. The record names the seeds, the"
        " differing verdicts and the memorised answers."
        " This pull request is closed without a merge."
    )


def local_record(folder: Path) -> Record:
    """Return the record of a run on this machine, which nobody has verified.

    Raises:
        InputError: the folder is not a whole run, or the leaderboard cannot show it.
        LoadError: the dataset of the run is gone.
    """
    run = RunFolder(folder)
    facts = run.facts
    rows = list(run.rows())
    run.require_predictions()
    faults = table_faults(rows)
    if faults:
        raise InputError(f"{folder}: {'; '.join(faults)}")
    submission = Submission(
        repo_id="",
        pull_request=0,
        sha="",
        author="",
        run_id=plain_name(facts["run_id"], "run"),
        dataset_sha256=facts["dataset_sha256"],
        files={},
    )
    unverified = Verification(submission, folder, run.dataset_rows(), rows, differing=[])
    try:
        record = make_record(unverified, verified_by="")
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"]))
        raise InputError(f"{folder}: the leaderboard cannot show its {place}") from error
    finished_at = facts.get("finished_at")
    return record.model_copy(update={"verified_at": finished_at}) if finished_at else record


def make_record(verified: Verification, verified_by: str) -> Record:
    """Return the record of a repeated run, with the rates of each model."""
    submission = verified.submission
    facts = RunFolder(verified.folder).facts
    predictions = (verified.folder / PREDICTIONS).read_bytes()
    return Record(
        run_id=submission.run_id,
        verified_at=now(),
        verified_by=verified_by,
        submitted_by=submission.author,
        pull_request=submission.pull_request,
        submission=submission.sha,
        dataset=facts["dataset"],
        config=facts["config"],
        dataset_sha256=submission.dataset_sha256,
        benchmark_version=facts["benchmark_version"],
        harness_version=facts["harness_version"],
        predictions_sha256=hashlib.sha256(predictions).hexdigest(),
        rows=len(verified.rows),
        agreed=len(verified.rows) - len(verified.differing),
        memorised=verified.memorised[:MAX_LISTED],
        differing=verified.differing[:MAX_LISTED],
        fresh_seeds=facts.get("fresh_seeds", []),
        tasks={name: _task(row) for name, row in verified.instances.items()},
        entries=_entries(verified),
    )


def _task(row: DatasetRow) -> Task:
    return Task(
        category=row["category"],
        paper=row["paper_title"],
        url=row["paper_url"],
        difficulty=row.get("difficulty", ""),
    )


def _entries(verified: Verification) -> list[Entry]:
    judges = {}
    for question, judgement in read_judgements(verified.folder).items():
        if judgement.category:
            judges[question] = shown(judgement.model)
    rows: dict[AnswerKey, list[ResultRow]] = defaultdict(list)
    for row in verified.rows:
        rows[AnswerKey.of(row).row._replace(sample=0)].append(row)
    entries = []
    for score in with_difficulties(score_runs([verified.folder])):
        own_rows = {name: rows[AnswerKey(name, *score.key)] for name in score.scope}
        entries.append(_EntryMaker(score, own_rows, judges).make())
    return entries


@dataclass
class _EntryMaker:
    """Makes the entry of one model, setting and track, on all rows or those of one difficulty.

    Attributes:
        rows: instance id → results of the model.
        judges: question → its judge, for all answers of the run.
    """

    score: ModelScore
    rows: Mapping[str, Sequence[ResultRow]]
    judges: Mapping[AnswerKey, str]

    def make(self) -> Entry:
        score = self.score
        rows = self._rows_of(score.scope)
        questions = {AnswerKey.of(row).question for row in rows}
        return Entry(
            model=score.model,
            setting=score.setting,
            track=score.track,
            level=score.headline.value,
            difficulty=score.part,
            samples=score.samples,
            judges=sorted({self.judges[name] for name in questions & self.judges.keys()}),
            fingerprint=_fingerprint(rows),
            overall=self._rate(score.overall, score.scope),
            categories=self._categories(),
            tasks={name: self._result(name, tally) for name, tally in score.instances.items()},
        )

    def _categories(self) -> dict[str, Score]:
        names: dict[str, list[str]] = defaultdict(list)
        for name, category in self.score.scope.items():
            names[category].append(name)
        tallies = sorted(self.score.categories.items())
        return {category: self._rate(tally, names[category]) for category, tally in tallies}

    def _rows_of(self, names: Iterable[str]) -> list[ResultRow]:
        return [row for name in names for row in self.rows[name]]

    def _rate(self, tally: Tally, names: Iterable[str]) -> Score:
        rows = self._rows_of(names)
        return Score(
            reproduced=tally.reproduced,
            robust=tally.robust,
            total=tally.total,
            missing=tally.outcomes[MISSING],
            interval=tally.share(self.score.headline).interval,
            memorised=sum(map(is_memorised, rows)),
            choices=_choices(rows),
            claimed_judged=_judged(tally),
            claimed_cost_usd=self._cost(names),
        )

    def _cost(self, names: Iterable[str]) -> float | None:
        """Return the cost of one answer to each instance; None if an answer states none."""
        costs = []
        for name in names:
            for answer in self.score.answers.get(name, ()):
                if "cost_usd" not in answer.amounts:
                    return None
                costs.append(answer.amounts["cost_usd"])
        return sum(costs) / self.score.samples if costs else None

    def _result(self, name: str, tally: Tally) -> TaskResult:
        rows = self.rows[name]
        failures = [_failure(row) for row in rows if row["status"] != Status.PASSED]
        return TaskResult(
            outcomes=dict(tally.outcomes),
            judged=_judged(tally),
            memorised=sum(map(is_memorised, rows)),
            failure=next(filter(None, failures), ""),
        )


def _fingerprint(rows: Iterable[ResultRow]) -> str:
    answers = sorted(f"{row['instance_id']}\n{row['prediction_sha256']}" for row in rows)
    return hashlib.sha256("\n".join(answers).encode("utf-8", "surrogatepass")).hexdigest()


def _choices(rows: Iterable[ResultRow]) -> Choices:
    choices = [SettledChoice.of(choice) for row in rows for choice in counted_choices(row)]
    read_published, published = by_truth(choices)[True]
    return Choices(
        total=len(choices),
        read=sum(choice.is_settled for choice in choices),
        guessed=sum(1 / choice.options for choice in choices),
        recited=published,
        read_published=read_published,
        corrected=corrected(choices),
    )


def _judged(tally: Tally) -> dict[str, int]:
    return {label: tally.judged[label] for label in JUDGED if tally.judged[label]}


def _failure(row: ResultRow) -> str:
    """Return the case that decided an answer's outcome, in one line."""
    return one_line(first_reason(row))[:MAX_FAILURE]


def _files(verified: Verification, record: Record) -> dict[str, bytes]:
    """Return the files of a published run: path in the results dataset → content."""
    run_id = record.run_id
    run = RunFolder(verified.folder)
    return {
        f"data/{run_id}.parquet": _parquet(verified, record),
        f"runs/{run_id}/{PREDICTIONS}": run.predictions.path.read_bytes(),
        f"runs/{run_id}/{FACTS}": published_facts(run.facts, run_id),
        record_path(run_id): (record.model_dump_json(indent=1) + "\n").encode(),
    }


def _parquet(verified: Verification, record: Record) -> bytes:
    """Return the rows of the repeated run as Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [_published_row(row, record) for row in verified.rows]
    columns = pa.schema([*schema(row=ResultRow), *((name, pa.string()) for name in _ADDED)])
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, schema=columns), sink)
    return bytes(sink.getvalue())


def _published_row(row: ResultRow, record: Record) -> dict[str, Any]:
    """Return a result with its paper and its run, so that a row can be read on its own."""
    task = record.tasks[row["instance_id"]]
    return {
        **row,
        "paper_title": task.paper,
        "paper_url": task.url,
        "run_id": record.run_id,
        "config": record.config,
        "benchmark_version": record.benchmark_version,
        "submitted_by": record.submitted_by,
    }
