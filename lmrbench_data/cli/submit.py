"""`lmrbench submit`, `verify` and `space`: send runs to the results dataset, verify them, show the leaderboard."""

import re
from pathlib import Path
from typing import Annotated

import typer

from ..base.text import counted
from .options import Workers, Yes
from .output import Json, print_json, print_table, put, say
from .progress import progress_bar

DATASET = "lmr-bench/lmr-bench"


def submit(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    to: Annotated[str | None, typer.Option("--to", help="Results dataset, org/name.")] = None,
    model_repo: Annotated[
        str | None,
        typer.Option("--model-repo", help="Model repository that gets the scores of the verified run."),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="Model whose scores go to --model-repo, as the run names it.")
    ] = None,
    dataset: Annotated[str, typer.Option("--dataset", help="Published dataset of the benchmark, org/name.")] = DATASET,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Check the run, the target and your rights, and show the files without sending them."
        ),
    ] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Submit a run to a results dataset by pull request.

    Sends results, predictions and logs; a maintainer verifies them before they count.

    The run must be complete and without infra errors, made in Docker on a published version of the dataset; each row
    must state its track. After verification, --model-repo adds the scores to a model repository. To create a results
    dataset, run `hf repos create ORG/results --type dataset`.

    Example: lmrbench submit runs/mine --to lmr-bench/results --dry-run
    """
    from lmrbench_evaluate.hub.submitter.submit import carry_out, plan_submission
    from lmrbench_evaluate.reports.report import make_report
    from lmrbench_evaluate.reports.sections import tables

    from ..base.hub_session import open_hub

    if not (to or model_repo):
        raise typer.BadParameter("give --to org/results; after verification, add --model-repo org/model")
    api = open_hub()
    plan = plan_submission(api, run, dataset, results_repo=to, model_repo=model_repo, model=model)
    submission, where = plan.submission, f"{dataset}@{plan.published.tag}"
    size = sum(map(len, submission.files.values()))
    if not as_json:
        for title, table in tables(make_report([run]))[:2]:
            print_table(*table, title=title)
        for name, content in sorted(submission.files.items()) if plan.results_repo else ():
            put(f"{name}  {len(content)} bytes")
        if plan.scores:
            put(plan.scores)
        put(f"run {submission.run_id} of {plan.user}: dataset {where}, {len(submission.rows)} rows, {size} bytes")
    result: dict[str, object] = {"run_id": submission.run_id, "rows": len(submission.rows), "bytes": size}
    result |= {"dataset": where, "pull_request": None, "model_pull_request": None}
    if not dry_run:
        if not (yes or as_json):
            typer.confirm(f"Open a pull request in {model_repo or to}?", abort=True, err=True)
        for name, opened in zip(("pull_request", "model_pull_request"), carry_out(api, plan), strict=True):
            if opened:
                result[name] = opened.url
                say(f"{'already open' if opened.existed else 'opened'}: {opened.url}")
    if as_json:
        print_json(result)


def verify(
    repo: Annotated[str, typer.Argument(help="Results dataset, org/name.")],
    pull_request: Annotated[str, typer.Argument(help="Number or URL of the pull request.")],
    dataset: Annotated[
        str, typer.Option("--dataset", help="Dataset of the run: embedded, a folder, or org/name@revision.")
    ] = "embedded",
    workers: Workers = 2,
    fresh_seeds: Annotated[
        int,
        typer.Option(
            "--fresh-seeds",
            min=1,
            max=100,
            help="Number of secret seeds to test on, in addition to the published ones.",
        ),
    ] = 2,
    publish: Annotated[
        bool, typer.Option("--publish/--no-publish", help="Publish the repeated run, and close the pull request.")
    ] = True,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Verify a submission in Docker and publish its results.

    Evaluates the predictions again, on secret seeds as well, and publishes the results of this second run.

    The pull request is not merged: one commit to main holds the files of the second run, and the pull request is closed
    with a link to it. If verdicts differ, the pull request gets a comment that lists the differences, and the exit
    status is 1.

    Example: lmrbench verify lmr-bench/results 17
    """
    import shutil

    from lmrbench_evaluate.hub.maintainer.claim import fetch_claim
    from lmrbench_evaluate.hub.maintainer.settle import accept, close, earlier_record, reject
    from lmrbench_evaluate.hub.maintainer.verify import count_memorised, differences, repeat, run_folder

    from ..base.hub_client import check_rights
    from ..base.hub_session import open_hub

    number = re.fullmatch(r"(?:https?://.*/discussions/)?(\d+)/?", pull_request)
    if not number:
        raise typer.BadParameter(f"{pull_request!r} is neither the number nor the URL of a pull request")
    api = open_hub()
    if publish:
        check_rights(api, repo, write=True)  # before the work, which may take an hour
    if publish and (record := earlier_record(api, repo, int(number[1]))):
        url = close(api, repo, record)
        say(f"already verified and published; closed: {url}")
        if as_json:
            facts = {"run_id": record["run_id"], "sha": record["submission"], "rows": record["rows"]}
            known = {"memorised": len(record["memorised"]), "agreed": record["agreed"]}
            print_json({**facts, "differences": [], **known, "published": url})
        return
    claim = fetch_claim(api, repo, int(number[1]))
    if not as_json:
        put(f"{claim.where} at {claim.sha[:12]}: run {claim.run_id}, {len(claim.rows)} rows")
    with progress_bar("verifying", shown=not as_json) as progress:
        summary, instances = repeat(claim, dataset, workers=workers, fresh_seeds=fresh_seeds, progress=progress)
    if summary.stopped or summary.infra_errors:
        say(f"incomplete: {summary.stopped or f'{summary.infra_errors} infra errors'}; re-run the command to resume")
        raise typer.Exit(3)
    run = run_folder(claim, fresh_seeds)
    found = list(differences(claim, run, instances))
    memorised = count_memorised(run)
    result = {"run_id": claim.run_id, "sha": claim.sha, "rows": len(claim.rows), "differences": found}
    result |= {"memorised": memorised, "agreed": None, "published": None}
    if not as_json:
        for line in found[:50]:
            put(f"differs: {line}")
        where = f"{counted(len(found), 'difference')} in {counted(len(claim.rows), 'row')}"
        put(f"{where}; {memorised} pass on the published seeds only")
    if publish and (
        yes or as_json or typer.confirm("Publish the run?" if not found else "Comment on the pull request?", err=True)
    ):
        if found:
            reject(api, claim, found)
        else:
            record, url = accept(api, claim, run, instances)
            result |= {"published": url, "agreed": record["agreed"]}
            say(f"{record['agreed']} of {record['rows']} verdicts also agree on the secret seeds")
            say(f"verified and published: {url}")
            shutil.rmtree(claim.work_folder, ignore_errors=True)  # its seeds are not secret any more
    if as_json:
        print_json(result)
    if found:
        raise typer.Exit(1)


def space(folder: Annotated[Path, typer.Argument(help="New folder.", file_okay=False)]) -> None:
    """Write the files of the leaderboard Space into a folder.

    README.md in the folder lists the settings of the Space.

    Example: lmrbench space leaderboard && hf upload ORG/leaderboard leaderboard --type space
    """
    from lmrbench_evaluate.hub.space import write_space

    put(f"written: {folder}, {counted(len(write_space(folder)), 'file')}")
