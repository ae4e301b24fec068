"""Submit a run: a pull request to the results dataset and, once it is verified, one to a model repository.

A retry never submits twice: the title of the pull request carries the hash of its content and is looked up first.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lmrbench_data.base.errors import ArgumentError, InputError
from lmrbench_data.base.hub_client import Committed, additions, check_rights, commit_once
from lmrbench_data.base.hub_session import hub_errors
from lmrbench_data.base.text import one_line
from lmrbench_data.dataset.load import load_rows

from ...runs.folder import RunFolder
from ...runs.provenance import benchmark_title
from ..layout import belongs, list_files
from .model_scores import model_results, submit_to_model, verified_rows
from .published_dataset import PublishedDataset, find_published
from .submission import Submission, make_submission

if TYPE_CHECKING:
    from huggingface_hub import HfApi


@dataclass(frozen=True)
class SubmissionPlan:
    """The content and the targets of a submission; nothing has been sent.

    Attributes:
        benchmark: name of the benchmark in titles.
        results_repo: None if the run is published and only its scores are sent.
        scores: `.eval_results` of the model repository, or empty.
    """

    submission: Submission
    published: PublishedDataset
    user: str
    benchmark: str
    results_repo: str | None
    model_repo: str | None
    scores: str


def plan_submission(
    api: "HfApi",
    run: Path,
    dataset: str,
    *,
    results_repo: str | None = None,
    model_repo: str | None = None,
    model: str | None = None,
) -> SubmissionPlan:
    """Check a run against the published dataset and the results, and plan its submission.

    Args:
        model_repo: the repository that gets the scores of this run's published rows.
        model: the run's model that it holds.

    Raises:
        InputError: the run cannot be submitted, its dataset is not published, or the token lacks the right; or
            `model_repo` is given and the run is not verified.
        LostAnswerError: the Hub does not answer.
    """
    published = find_published(api, dataset, RunFolder(run).facts["dataset_sha256"])
    rows = load_rows(f"{dataset}@{published.sha}", published.config)
    instances, benchmark = [row["instance_id"] for row in rows], benchmark_title(rows[0]["canary"])
    user = check_rights(api, model_repo or results_repo or dataset, write=False)
    submission = make_submission(run, instances, user)
    if model_repo:
        if not results_repo:
            raise ArgumentError(
                "to", "name the results dataset: a model repository gets the scores of verified runs only"
            )
        with hub_errors(model_repo):
            api.model_info(model_repo)
        verified, source = verified_rows(api, results_repo, submission.run_id, user)
        scores = model_results(verified, model, published, source)
        return SubmissionPlan(submission, published, user, benchmark, None, model_repo, scores)
    if results_repo:
        check_free(api, results_repo, submission.run_id)
    return SubmissionPlan(submission, published, user, benchmark, results_repo, None, "")


def check_free(api: "HfApi", results_repo: str, run_id: str) -> None:
    """Check that a results dataset has no file of that run.

    Raises:
        InputError: it has one, so `verify` would refuse the run; or the dataset does not exist.
        LostAnswerError: see `lmrbench_data.base.hub_session.hub_errors`.
    """
    with hub_errors(results_repo):
        if not api.repo_exists(results_repo, repo_type="dataset"):
            make = f"a maintainer creates it with `hf repos create {results_repo} --type dataset`"
            raise InputError(f"{results_repo}: no such dataset, or this token may not see it; {make}")
        head = str(api.dataset_info(results_repo, revision="main").sha)
        taken = [name for name in list_files(api, results_repo, head) if belongs(name, run_id)]
    if taken:
        raise InputError(f"{results_repo}: run {run_id} exists already ({min(taken)})")


def carry_out(api: "HfApi", plan: SubmissionPlan) -> tuple[Committed | None, Committed | None]:
    """Open the pull requests of a plan: to the results dataset and to the model repository.

    Raises:
        InputError, LostAnswerError: see `lmrbench_data.base.hub_session.hub_errors`.
    """
    results = submit(api, plan) if plan.results_repo else None
    return results, submit_to_model(api, plan.model_repo, plan.scores, plan.benchmark) if plan.model_repo else None


def submit(api: "HfApi", plan: SubmissionPlan) -> Committed:
    """Open the pull request for a run, or return the open one.

    Raises:
        InputError, LostAnswerError: see `lmrbench_data.base.hub_session.hub_errors`.
    """
    submission, results_repo = plan.submission, plan.results_repo
    assert results_repo is not None
    models = ", ".join(one_line(name) for name in submission.models)
    version = submission.facts["benchmark_version"]
    title = f"{models[:80]} on {plan.benchmark} {version}: {submission.run_id} [{submission.sha256[:16]}]"
    with hub_errors(results_repo):
        author = api.whoami()["name"]
        opened = api.get_repo_discussions(
            results_repo, repo_type="dataset", discussion_type="pull_request", discussion_status="open", author=author
        )
        for item in opened:
            if f": {submission.run_id} [" in item.title and item.title != title:
                raise InputError(f"{results_repo}: PR {item.num} has an older state of this run; close it first")
    return commit_once(
        api,
        results_repo,
        lambda: additions(submission.files),
        title=title,
        description="Opened by `lmrbench submit`. A maintainer repeats the run with `lmrbench verify`.",
        create_pr=True,
    )
