"""`lmrbench submit` and `lmrbench verify`: runs on their way to the results dataset."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .output import Json, Workers, print_json, print_table, progress_bar, put, say

if TYPE_CHECKING:
    from ..evaluate.hub.claim import Claim
    from ..evaluate.runs.evaluate import Finished

DATASET = "lmr-bench/lmr-bench"
DatasetRepo = Annotated[str, typer.Option("--dataset", help="Where the benchmark is published, org/name.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def submit(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    to: Annotated[str | None, typer.Option("--to", help="The results dataset, org/name.")] = None,
    model_repo: Annotated[
        str | None, typer.Option("--model-repo", help="Also give this model repository its scores.")
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="Which of the run's models --model-repo is.")] = None,
    dataset: DatasetRepo = DATASET,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check and show, open nothing.")] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Open a pull request with a run's results, predictions and logs; a maintainer verifies them before they count.

    The run must be complete, without infra errors, made in Docker, and on a published version of the dataset.
    """
    from ..evaluate.hub.submission import make_submission
    from ..evaluate.hub.submit import find_published, model_results, submit_to_model
    from ..evaluate.hub.submit import submit as open_pull_request
    from ..evaluate.reports.report import make_report, tables
    from ..evaluate.runs.folder import read_facts
    from ..hub import hub_errors, open_hub
    from ..loader import load_rows

    if not (to or model_repo):
        raise typer.BadParameter("give --to org/results, --model-repo org/model, or both")
    facts = read_facts(run)
    api = open_hub()
    published = find_published(api, dataset, facts["dataset_sha256"])
    instances = [str(row["instance_id"]) for row in load_rows(f"{dataset}@{published.sha}")]
    with hub_errors("the Hub"):
        user = api.whoami()["name"]
    submission = make_submission(run, instances, user)
    scores = model_results(run, model, published, None) if model_repo else ""
    size = sum(map(len, submission.files.values()))
    if not as_json:
        for title, table in tables(make_report([run]))[:2]:
            print_table(*table, title=title)
        for name, content in sorted(submission.files.items()) if to else ():
            put(f"{name}  {len(content)} bytes")
        if scores:
            put(scores)
        where = f"dataset {dataset}@{published.tag}"
        put(f"run {submission.run_id} of {user}: {where}, {len(submission.rows)} rows, {size} bytes")
    result: dict[str, object] = {"run_id": submission.run_id, "rows": len(submission.rows), "bytes": size}
    result |= {"dataset": f"{dataset}@{published.tag}", "pull_request": None, "model_pull_request": None}
    if not dry_run:
        if not (yes or as_json):
            places = " and ".join(filter(None, (to, model_repo)))
            typer.confirm(f"Open a pull request in {places}?", abort=True, err=True)
        url = None
        if to:
            opened = open_pull_request(api, submission, to)
            url = result["pull_request"] = opened.url
            say(f"{'is open already' if opened.existed else 'opened'}: {opened.url}")
        if model_repo:
            opened = submit_to_model(api, model_repo, model_results(run, model, published, url))
            result["model_pull_request"] = opened.url
            say(f"{'is open already' if opened.existed else 'opened'}: {opened.url}")
    if as_json:
        print_json(result)


def verify(
    repo: Annotated[str, typer.Argument(help="The results dataset, org/name.")],
    pull_request: Annotated[str, typer.Argument(help="Number or address of the pull request.")],
    dataset: Annotated[
        str, typer.Option("--dataset", help="embedded, a folder, or org/name@revision: what the run must be on.")
    ] = "embedded",
    workers: Workers = 2,
    merge: Annotated[bool, typer.Option("--merge/--no-merge", help="Mark as verified and merge if all agree.")] = True,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Evaluate a submission's predictions again in Docker and compare every verdict; merge it only if all agree.

    Where they differ, the pull request gets a comment that says so, and the exit status is 1.
    """
    from ..evaluate.hub.claim import fetch_claim
    from ..evaluate.hub.verify import accept, differences, reject
    from ..hub import open_hub

    number = re.fullmatch(r"(?:https?://.*/discussions/)?(\d+)/?", pull_request)
    if not number:
        raise typer.BadParameter(f"{pull_request!r} is no number or address of a pull request")
    api = open_hub()
    claim = fetch_claim(api, repo, int(number[1]))
    if not as_json:
        put(f"{repo} PR {number[1]} at {claim.sha[:12]}: run {claim.run_id}, {len(claim.rows)} rows")
    finished, rows = _repeat(claim, dataset, workers, quiet=as_json)
    if finished.stopped or finished.infra_errors:
        say(f"incomplete: {finished.stopped or f'{finished.infra_errors} infra errors'}; the same command goes on")
        raise typer.Exit(3)
    found = list(differences(claim, claim.work_folder, [str(row["instance_id"]) for row in rows]))
    result = {"run_id": claim.run_id, "sha": claim.sha, "rows": len(claim.rows), "differences": found, "merged": False}
    if not as_json:
        for line in found[:50]:
            put(f"differs: {line}")
        put(f"{len(found)} differences in {len(claim.rows)} rows")
    if merge and (yes or as_json or typer.confirm("Merge it?" if not found else "Say so on the PR?", err=True)):
        if found:
            reject(api, claim, found)
        else:
            record = accept(api, claim)
            result["merged"] = True
            say(f"verified and merged: {record}")
    if as_json:
        print_json(result)
    if found:
        raise typer.Exit(1)


def _repeat(claim: "Claim", dataset: str, workers: int, *, quiet: bool) -> "tuple[Finished, list[dict[str, object]]]":
    """Evaluate the predictions of a claim in Docker; a stopped evaluation goes on."""
    from ..embedded import ensure_embedded
    from ..errors import InputError
    from ..evaluate.runs.evaluate import Settings, evaluate
    from ..evaluate.sandbox import open_sandbox
    from ..loader import dataset_sha256, load_rows
    from .evaluate import draw_progress

    place = open_sandbox("docker", say)
    try:
        if dataset == "embedded":
            ensure_embedded("docker", say)
        rows = load_rows(dataset)
        if dataset_sha256(rows) != claim.dataset_sha256:
            have, want = dataset_sha256(rows)[:12], claim.dataset_sha256[:12]
            mend = "give --dataset org/name@vX.Y.Z"
            raise InputError(f"run {claim.run_id} is on dataset {want}, {dataset} is {have}; {mend}")
        settings = Settings(str(claim.predictions), claim.work_folder, dataset=dataset, workers=workers)
        with progress_bar("verifying", shown=not quiet) as bar:
            finished = evaluate(settings, rows, place, say, draw_progress(bar))
    finally:
        place.close()
    return finished, rows
