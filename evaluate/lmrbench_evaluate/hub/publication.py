"""Publish a verified run in one commit to main, then close its pull request with a comment.

All files are made here: none is copied from a stranger, and a stranger's branch is never merged,
because its author can push to it at any time. Two runs never touch the same file.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.files import now
from lmrbench_data.base.hub_client import additions, commit, hub_errors
from lmrbench_data.base.paths import cards_folder
from lmrbench_data.base.version import __version__
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
    published_facts,
    published_schema,
    read_records,
    record_path,
    shown,
    table_faults,
)
from .record import JUDGED, Choices, Entry, Record, Score, Task, TaskResult
from .submission import Submission
from .verify import Verification, is_memorised

if TYPE_CHECKING:
    from huggingface_hub import HfApi

#: Longest text of a failing case, in characters.
MAX_FAILURE = 240
#: Largest number of answers that a record lists.
MAX_LISTED = 1000
#: Largest number of answers that a comment on the Hub lists.
MAX_LINES = 50


def publish(api: "HfApi", verified: Verification) -> tuple[Record, str]:
    """Publish a repeated run in one commit to main, then close the pull request.

    Returns:
        The record and its address.
    """
    submission = verified.submission
    repo_id = submission.repo_id
    head, present = check_free(api, repo_id, submission.run_id, submission.where)
    with hub_errors(submission.where):
        user = api.whoami()["name"]
    record = make_record(verified, user)
    files = _files(verified, record)
    if "README.md" not in present:
        files["README.md"] = _card(verified)
    title = f"Verified {record.run_id} [PR {record.pull_request} at {submission.sha[:12]}]"
    commit(api, repo_id, additions(files), title=title, parent_commit=head)
    return record, close(api, repo_id, record)


def _card(verified: Verification) -> bytes:
    """Return the card of a new results dataset."""
    card = (cards_folder() / "results_card.md").read_text(encoding="utf-8")
    row = next(iter(verified.instances.values()))
    return card.replace("{{ benchmark }}", benchmark_title(row["canary"])).encode()


def earlier_record(api: "HfApi", repo_id: str, number: int) -> Record | None:
    """Return the record of a pull request's earlier verification, even if it has new commits."""
    for record in read_records(api, repo_id).values():
        if record.pull_request == number:
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
    memorised = f"{len(record.memorised)} memorised: they pass on the published seeds and not on"
    differing = f"{len(record.differing)} differ from the submitted verdicts; those of this run"
    lines = [
        f"`lmrbench verify` repeated this run; its own results are on main: {url}",
        "",
        f"The submission was read at {record.submission[:12]}; later commits do not count."
        f" {record.agreed} of {record.rows} verdicts equal the submitted ones, also on"
        f" {len(record.fresh_seeds)} secret seeds, which the record now names."
        " This pull request is closed without a merge.",
        *_listed(f"{memorised} secret ones, so they do not count at that level.", record.memorised),
        *_listed(f"{differing} count:", record.differing),
    ]
    return "\n".join(lines)


def _listed(title: str, rows: Sequence[str]) -> list[str]:
    """Return the first rows as a code block of Markdown, where nothing is markup."""
    if not rows:
        return []
    lines = ["", title, "", *(f"    {row}" for row in rows[:MAX_LINES])]
    if len(rows) > MAX_LINES:
        lines += ["", f"{len(rows) - MAX_LINES} more."]
    return lines


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
    submission = Submission("", 0, "", "", facts["run_id"], facts["dataset_sha256"], {})
    try:
        record = make_record(Verification(submission, folder, run.dataset_rows(), rows, []), "")
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
        harness_version=__version__,
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
    for answer, judgement in read_judgements(verified.folder).items():
        if judgement.category:
            judges[answer] = shown(judgement.model)
    scores = with_difficulties(score_runs([verified.folder]))
    return [_EntryMaker(score, verified.rows).make(judges) for score in scores]


class _EntryMaker:
    """Make the entry of one model, setting and track, on all rows or those of one difficulty."""

    def __init__(self, score: ModelScore, results: Iterable[ResultRow]) -> None:
        self._score = score
        self._rows: dict[str, list[ResultRow]] = defaultdict(list)
        for row in results:
            name = row["instance_id"]
            if AnswerKey.of(row)[1:4] == score.key and name in score.scope:
                self._rows[name].append(row)

    def make(self, judges: Mapping[AnswerKey, str]) -> Entry:
        """Return the entry; `judges` are the judges of all answers of the run."""
        score = self._score
        rows = self._rows_of(self._rows)
        questions = {AnswerKey.of(row).question for row in rows}
        return Entry(
            model=score.model,
            setting=score.setting,
            track=score.track,
            level=score.headline.value,
            difficulty=score.part,
            samples=score.samples,
            judges=sorted({judges[question] for question in questions & judges.keys()}),
            fingerprint=_fingerprint(rows),
            overall=self._rate(score.overall, self._rows),
            categories=self._categories(),
            tasks={name: self._result(name, tally) for name, tally in score.instances.items()},
        )

    def _categories(self) -> dict[str, Score]:
        names: dict[str, list[str]] = defaultdict(list)
        for name, category in self._score.scope.items():
            names[category].append(name)
        tallies = sorted(self._score.categories.items())
        return {category: self._rate(tally, names[category]) for category, tally in tallies}

    def _rows_of(self, names: Iterable[str]) -> list[ResultRow]:
        return [row for name in names for row in self._rows[name]]

    def _rate(self, tally: Tally, names: Iterable[str]) -> Score:
        rows = self._rows_of(names)
        return Score(
            reproduced=tally.reproduced,
            robust=tally.robust,
            total=tally.total,
            missing=tally.outcomes[MISSING],
            interval=tally.share(self._score.headline).interval,
            memorised=sum(map(is_memorised, rows)),
            choices=_choices(rows),
            claimed_judged=_judged(tally),
            claimed_cost_usd=self._cost(names),
        )

    def _cost(self, names: Iterable[str]) -> float | None:
        """Return the cost of one answer to each instance; None if an answer states none."""
        costs = []
        for name in names:
            for answer in self._score.answers.get(name, ()):
                if "cost_usd" not in answer.amounts:
                    return None
                costs.append(answer.amounts["cost_usd"])
        return sum(costs) / self._score.samples if costs else None

    def _result(self, name: str, tally: Tally) -> TaskResult:
        rows = self._rows[name]
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
    """Return the case that decided an answer's outcome, on one line."""
    return " ".join(first_reason(row).split())[:MAX_FAILURE]


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
    """Return the rows of the repeated run."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = []
    for row in verified.rows:
        task = record.tasks[row["instance_id"]]
        added = {"paper_title": task.paper, "paper_url": task.url, "run_id": record.run_id}
        added |= {"config": record.config, "benchmark_version": record.benchmark_version}
        rows.append({**row, **added, "submitted_by": record.submitted_by})
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, schema=published_schema()), sink)
    return bytes(sink.getvalue())
