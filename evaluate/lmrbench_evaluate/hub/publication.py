"""Publish a verified run: one commit to main with files made here, then a comment that closes the pull request.

No file is copied from a stranger, and a stranger's branch is never merged: its author can push to it at any time. Two
runs never touch the same file.
"""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.files import now
from lmrbench_data.base.hub_client import additions, commit, hub_errors
from lmrbench_data.base.paths import cards_folder
from lmrbench_data.base.version import __version__
from lmrbench_data.dataset.result_rows import ResultRow
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
    belongs,
    commit_of,
    commit_title,
    list_files,
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
#: Largest number of answers that a record lists, and that a comment on the Hub does.
MAX_LISTED, MAX_LINES = 1000, 50


def publish(api: "HfApi", verified: Verification) -> tuple[Record, str]:
    """Publish a repeated run in one commit to main, then close the pull request with a link to it.

    Returns:
        The record, and the address of the commit.
    """
    submission = verified.submission
    with hub_errors(submission.where):
        user = api.whoami()["name"]
        head = str(api.dataset_info(submission.repo_id, revision="main").sha)
        present = list_files(api, submission.repo_id, head)
    if taken := [name for name in present if belongs(name, submission.run_id)]:
        raise InputError(
            f"{submission.where}: main has {min(taken)} already; ask for a run with another name"
        )
    record = make_record(verified, user)
    files = _files(verified, record)
    if "README.md" not in present:
        card = (cards_folder() / "results_card.md").read_text(encoding="utf-8")
        name = benchmark_title(next(iter(verified.instances.values()))["canary"])
        files["README.md"] = card.replace("{{ benchmark }}", name).encode()
    title = f"{commit_title(record)}{submission.sha[:12]}]"
    commit(api, submission.repo_id, additions(files), title=title, parent_commit=head)
    return record, close(api, submission.repo_id, record)


def earlier_record(api: "HfApi", repo_id: str, number: int) -> Record | None:
    """Return the record of a pull request's earlier verification, even if it has new commits; None without one."""
    records = read_records(api, repo_id).values()
    return next((record for record in records if record.pull_request == number), None)


def close(api: "HfApi", repo_id: str, record: Record) -> str:
    """Comment on the pull request of a published run where its results are, and close it unless it is closed.

    Returns:
        The address of the commit.
    """
    with hub_errors(f"{repo_id} PR {record.pull_request}"):
        url = f"{api.endpoint}/datasets/{repo_id}/commit/{commit_of(api, repo_id, record)}"
        place: Any = {
            "repo_id": repo_id,
            "discussion_num": record.pull_request,
            "repo_type": "dataset",
        }
        if api.get_discussion_details(**place).status == "open":
            api.change_discussion_status(
                **place, new_status="closed", comment=_comment(record, url)
            )
    return url


def _comment(record: Record, url: str) -> str:
    lines = [
        f"`lmrbench verify` repeated this run; its own results are on main: {url}",
        "",
        f"The submission was read at {record.submission[:12]}; later commits do not count. {record.agreed} of "
        f"{record.rows} verdicts equal the submitted ones, also on {len(record.fresh_seeds)} secret seeds, which the "
        "record now names. This pull request is closed without a merge.",
    ]
    memorised = "they pass on the published seeds and not on secret ones, so they do not count at that level."
    for text, rows in (
        (f"{len(record.memorised)} memorised: {memorised}", record.memorised),
        (
            f"{len(record.differing)} differ from the submitted verdicts; those of this run count:",
            record.differing,
        ),
    ):
        if rows:
            # A code block, where nothing is markup.
            lines += ["", text, "", *(f"    {row}" for row in rows[:MAX_LINES])]
            lines += ["", f"{len(rows) - MAX_LINES} more."] if len(rows) > MAX_LINES else []
    return "\n".join(lines)


def local_record(folder: Path) -> Record:
    """Return the record of a run on this machine, which nobody has verified.

    Raises:
        InputError: the folder is not a whole run, or the leaderboard cannot show it.
        LoadError: the dataset of the run is gone.
    """
    run = RunFolder(folder)
    facts, rows = run.facts, list(run.rows())
    run.require_predictions()
    if faults := table_faults(rows):
        raise InputError(f"{folder}: {'; '.join(faults)}")
    submission = Submission("", 0, "", "", facts["run_id"], facts["dataset_sha256"], {})
    try:
        record = make_record(Verification(submission, folder, run.dataset_rows(), rows, []), "")
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"]))
        raise InputError(f"{folder}: the leaderboard cannot show its {place}") from error
    return record.model_copy(update={"verified_at": facts.get("finished_at") or record.verified_at})


def make_record(verified: Verification, verified_by: str) -> Record:
    """Return the record of a repeated run, with the rates of each model."""
    submission, facts = verified.submission, RunFolder(verified.folder).facts
    judges = {
        answer: shown(item.model)
        for answer, item in read_judgements(verified.folder).items()
        if item.category
    }
    scores = with_difficulties(score_runs([verified.folder]))
    entries = [_entry(score, verified.rows, judges) for score in scores]
    tasks = {
        name: Task(
            category=row["category"],
            paper=row["paper_title"],
            url=row["paper_url"],
            difficulty=row.get("difficulty", ""),
        )
        for name, row in verified.instances.items()
    }
    return Record(
        run_id=submission.run_id,
        verified_at=now(),
        verified_by=verified_by,
        submitted_by=submission.author,
        pull_request=submission.pull_request,
        submission=submission.sha,
        dataset=facts["dataset"],
        config=RunFolder(verified.folder).config,
        dataset_sha256=submission.dataset_sha256,
        benchmark_version=facts["benchmark_version"],
        harness_version=__version__,
        predictions_sha256=hashlib.sha256((verified.folder / PREDICTIONS).read_bytes()).hexdigest(),
        rows=len(verified.rows),
        agreed=len(verified.rows) - len(verified.differing),
        memorised=verified.memorised[:MAX_LISTED],
        differing=verified.differing[:MAX_LISTED],
        fresh_seeds=facts.get("fresh_seeds", []),
        tasks=tasks,
        entries=entries,
    )


def _entry(score: ModelScore, results: list[ResultRow], judges: Mapping[AnswerKey, str]) -> Entry:
    """Return the rates and results of one model, setting and track of a run, on all rows or those of one difficulty."""
    rows = [
        row
        for row in results
        if AnswerKey.of(row)[1:4] == score.key and row["instance_id"] in score.scope
    ]
    answers = sorted(f"{row['instance_id']}\n{row['prediction_sha256']}" for row in rows)
    by_task: dict[str, list[ResultRow]] = defaultdict(list)
    for row in rows:
        by_task[row["instance_id"]].append(row)

    def make_score(tally: Tally, names: Collection[str]) -> Score:
        group = [row for name in names for row in by_task[name]]
        amounts = [answer.amounts for name in names for answer in score.answers.get(name, ())]
        stated = [numbers["cost_usd"] for numbers in amounts if "cost_usd" in numbers]
        choices = [SettledChoice.of(choice) for row in group for choice in counted_choices(row)]
        read_published, published = by_truth(choices)[True]
        return Score(
            reproduced=tally.reproduced,
            robust=tally.robust,
            total=tally.total,
            missing=tally.outcomes[MISSING],
            interval=tally.share(score.headline).interval,
            memorised=sum(map(is_memorised, group)),
            choices=Choices(
                total=len(choices),
                read=sum(choice.is_settled for choice in choices),
                guessed=sum(1 / choice.options for choice in choices),
                recited=published,
                read_published=read_published,
                corrected=corrected(choices),
            ),
            claimed_judged=_judged(tally),
            claimed_cost_usd=sum(stated) / score.samples
            if stated and len(stated) == len(group)
            else None,
        )

    return Entry(
        model=score.model,
        setting=score.setting,
        track=score.track,
        level=score.headline.value,
        difficulty=score.part,
        samples=score.samples,
        judges=sorted(
            {judges[answer] for row in rows if (answer := AnswerKey.of(row).question) in judges}
        ),
        fingerprint=hashlib.sha256("\n".join(answers).encode("utf-8", "surrogatepass")).hexdigest(),
        overall=make_score(score.overall, by_task),
        categories={
            category: make_score(
                tally, [name for name in score.scope if score.scope[name] == category]
            )
            for category, tally in sorted(score.categories.items())
        },
        tasks={
            name: TaskResult(
                outcomes=dict(tally.outcomes),
                judged=_judged(tally),
                memorised=sum(map(is_memorised, by_task[name])),
                failure=next(filter(None, map(_failure, by_task[name])), ""),
            )
            for name, tally in score.instances.items()
        },
    )


def _judged(tally: Tally) -> dict[str, int]:
    return {label: tally.judged[label] for label in JUDGED if tally.judged[label]}


def _failure(row: ResultRow) -> str:
    """Return the case that decided an answer's outcome, on one line; empty for a robust answer."""
    return (
        "" if row["status"] == Status.PASSED else " ".join(first_reason(row).split())[:MAX_FAILURE]
    )


def _files(verified: Verification, record: Record) -> dict[str, bytes]:
    """Return the files of a published run: path in the results dataset → content."""
    folder, run = f"runs/{record.run_id}", verified.folder
    return {
        f"data/{record.run_id}.parquet": _parquet(verified, record),
        f"{folder}/{PREDICTIONS}": (run / PREDICTIONS).read_bytes(),
        f"{folder}/{FACTS}": published_facts(RunFolder(run).facts, record.run_id),
        record_path(record.run_id): (record.model_dump_json(indent=1) + "\n").encode(),
    }


def _parquet(verified: Verification, record: Record) -> bytes:
    """Return the rows of the repeated run."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    shared = {
        name: getattr(record, name)
        for name in ("run_id", "config", "benchmark_version", "submitted_by")
    }
    papers = {
        name: {"paper_title": task.paper, "paper_url": task.url}
        for name, task in record.tasks.items()
    }
    rows = [{**row, **papers[row["instance_id"]], **shared} for row in verified.rows]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, schema=published_schema()), sink)
    return bytes(sink.getvalue())
