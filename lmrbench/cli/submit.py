"""`lmrbench submit`, `verify` and `space`: send runs to a results dataset, verify and show them."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lmrbench_data.base.errors import ArgumentError, LMRBenchError
from lmrbench_data.base.hub_client import check_rights, open_hub
from lmrbench_data.base.text import plural

from .options import DATASET, DatasetSpec, Workers, Yes
from .output import Json, emit, only_runs, print_err, print_out, progress_bar

if TYPE_CHECKING:
    from lmrbench_evaluate.hub.record import Record
    from lmrbench_evaluate.hub.submit import SubmissionPlan
    from lmrbench_evaluate.hub.verify import Verification

#: Number of differing verdicts that are printed.
MAX_DIFFERING = 50


def submit(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    to: Annotated[str, typer.Option(help="Results dataset, org/name.")],
    dataset: Annotated[
        str, typer.Option(help="Published dataset of the benchmark, org/name.")
    ] = DATASET,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything, and send nothing.")
    ] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Submit a run to a results dataset by pull request.

    Sends results, predictions and judgements; they count only after a maintainer has verified them.

    The run must be complete and without infra errors, made in Docker on a published version of the
    dataset; each row must state its track. To create a results dataset, run `hf repos create
    ORG/results --type dataset`.

    Example: lmrbench submit runs/mine --to lmr-bench/results --dry-run
    """
    from lmrbench_evaluate.hub.submit import open_submission, plan_submission

    api = open_hub()
    plan = plan_submission(api, run, dataset, to)
    published = f"{dataset}@{plan.tag}"
    size = sum(map(len, plan.files.values()))
    if not as_json:
        _print_plan(run, plan, f"dataset {published}", size)
    url = None
    if not dry_run:
        if not (yes or as_json):
            typer.confirm(f"Open a pull request in {to}?", abort=True, err=True)
        url, existed = open_submission(api, plan)
        print_err(f"{'already open' if existed else 'opened'}: {url}")
    result = {
        "run_id": plan.run_id,
        "rows": len(plan.rows),
        "bytes": size,
        "dataset": published,
        "pull_request": url,
    }
    emit(result, as_json)


def _print_plan(run: Path, plan: "SubmissionPlan", dataset: str, size: int) -> None:
    from lmrbench_evaluate.reports.report import make_report
    from lmrbench_evaluate.reports.sections import tables

    emit(None, False, *tables(make_report([run]))[:2])
    for name, content in sorted(plan.files.items()):
        print_out(f"{name}  {len(content)} bytes")
    rows = plural(len(plan.rows), "row")
    print_out(f"run {plan.run_id} of {plan.user}: {dataset}, {rows}, {size} bytes")


def verify(
    repo: Annotated[str, typer.Argument(help="Results dataset, org/name.")],
    pull_request: Annotated[str, typer.Argument(help="Number or URL of the pull request.")],
    dataset: DatasetSpec = "embedded",
    workers: Workers = 2,
    fresh_seeds: Annotated[
        int, typer.Option(min=1, max=100, help="Number of additional, secret seeds.")
    ] = 2,
    publish: Annotated[
        bool, typer.Option(help="Publish the repeated run, and close the pull request.")
    ] = True,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Verify a submission in Docker and publish its results.

    Evaluates the predictions again, on secret seeds as well, and publishes the results of this
    second run.

    The pull request is not merged: one commit to main holds the files of the second run, and the
    pull request is closed with a link to it. Verdicts that differ from the submitted ones are
    listed; those of the second run count.

    Example: lmrbench verify lmr-bench/results 17
    """
    from lmrbench_evaluate.hub.publication import close, earlier_record
    from lmrbench_evaluate.hub.publication import publish as publish_run
    from lmrbench_evaluate.hub.submission import fetch_submission
    from lmrbench_evaluate.hub.verify import repeat

    number = _number_of(pull_request)
    api = open_hub()
    if publish:
        check_rights(api, repo, write=True)  # before the work, which may take an hour
        record = earlier_record(api, repo, number)
        if record:
            url = close(api, repo, record)
            print_err(f"already verified and published; closed: {url}")
            emit(_record_dict(record, url), as_json)
            return
    submission = fetch_submission(api, repo, number)
    if not as_json:
        print_out(f"{submission.where} at {submission.sha[:12]}: run {submission.run_id}")
    with progress_bar("verifying") as progress:
        summary, verified = repeat(
            submission, dataset, workers=workers, fresh_seeds=fresh_seeds, progress=progress
        )
    if verified is None:
        reason = summary.stopped or plural(summary.infra_errors, "infra error")
        print_err(f"incomplete: {reason}; re-run the command to resume")
        raise typer.Exit(3)
    if not as_json:
        _print_verification(verified)
    published = None
    if publish and (yes or as_json or typer.confirm("Publish the run?", err=True)):
        _, published = publish_run(api, verified)
        print_err(f"verified and published: {published}")
        # Its seeds are not secret any more.
        shutil.rmtree(submission.work_folder, ignore_errors=True)
    emit(_verification_dict(verified, published), as_json)


def _number_of(pull_request: str) -> int:
    match = re.fullmatch(r"(?:https?://.*/discussions/)?(\d+)/?", pull_request)
    if not match:
        problem = f"{pull_request!r} is neither the number nor the URL of a pull request"
        raise typer.BadParameter(problem)
    return int(match[1])


def _print_verification(verified: "Verification") -> None:
    rows = len(verified.rows)
    equal = rows - len(verified.differing)
    for line in verified.differing[:MAX_DIFFERING]:
        print_out(f"differs: {line}")
    print_out(f"{equal} of {rows} verdicts equal the submitted ones, on secret seeds as well")
    print_out(f"{len(verified.memorised)} pass on the published seeds only")


def _verification_dict(verified: "Verification", url: str | None) -> dict[str, Any]:
    return {
        "run_id": verified.submission.run_id,
        "sha": verified.submission.sha,
        "rows": len(verified.rows),
        "agreed": len(verified.rows) - len(verified.differing),
        "memorised": len(verified.memorised),
        "differing": verified.differing,
        "published": url,
    }


def _record_dict(record: "Record", url: str) -> dict[str, Any]:
    return {
        "run_id": record.run_id,
        "sha": record.submission,
        "rows": record.rows,
        "agreed": record.agreed,
        "memorised": record.memorised_answers,
        "differing": record.differing,
        "published": url,
    }


def space(
    folder: Annotated[Path, typer.Argument(help="New folder.", file_okay=False)] = Path(
        "leaderboard"
    ),
    runs: Annotated[
        list[Path] | None,
        typer.Option(
            "--from", exists=True, help="Show this run, or the runs in this folder (repeatable)."
        ),
    ] = None,
) -> None:
    """Write the files of the leaderboard Space into a folder.

    README.md in the folder lists the settings of the Space. With --from, the leaderboard shows
    local runs, which nobody has verified, in place of a results dataset.

    Example: lmrbench space leaderboard --from runs
    """
    from lmrbench_evaluate.hub.publication import local_record
    from lmrbench_evaluate.hub.space import write_space

    records = []
    for path in _run_folders(runs or []):
        try:
            records.append(local_record(path))
        except LMRBenchError as error:
            print_err(f"skipped: {error}")
    if runs and not records:
        raise ArgumentError("from", "no run can be shown")
    files = write_space(folder, records)
    print_out(f"written: {folder}, {plural(len(files), 'file')}")
    if records:
        print_out(
            f"{plural(len(records), 'run')} to show: in {folder}, "
            "`pip install -r requirements.txt && python app.py`"
        )


def _run_folders(places: list[Path]) -> Iterator[Path]:
    """Yield the runs among some folders, and those directly inside them."""
    from lmrbench_evaluate.runs.folder import RunFolder

    for place in places:
        inside: list[Path] = []
        if place.is_dir() and not RunFolder(place).exists:
            inside = [path for path in sorted(place.iterdir()) if path.is_dir()]
        yield from only_runs(inside or [place])
