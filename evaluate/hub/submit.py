"""Submit a run: a pull request to the results dataset; and, once it is verified, one to a model repository.

A retry never submits twice: the pull request's title carries the hash of what is in it, and is looked for first.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError, InputError
from ...hub import Committed, additions, check_rights, commit_once, hub_errors
from ...loader import load_rows
from ...text import one_line
from ..runs.results import read_facts
from .claim import list_files
from .model_scores import model_results, submit_to_model, verified_rows
from .publication import belongs
from .published import PublishedDataset, find_published
from .records import name_warnings, read_records
from .submission import Submission, make_submission

if TYPE_CHECKING:
    from huggingface_hub import HfApi


@dataclass(frozen=True)
class Plan:
    """What a submission would send where; nothing has been sent.

    Attributes:
        results_repo: None if the run is there already, and scores are to be sent.
        scores: `.eval_results` of the model repository, "" without one.
        warnings: names of models that can be taken for another submitter's.
    """

    submission: Submission
    published: PublishedDataset
    user: str
    results_repo: str | None
    model_repo: str | None
    scores: str
    warnings: Sequence[str] = ()


def plan_submission(
    api: "HfApi",
    run: Path,
    dataset: str,
    *,
    results_repo: str | None = None,
    model_repo: str | None = None,
    model: str | None = None,
) -> Plan:
    """Check a run against the published dataset and the results, and make what would be sent.

    Args:
        model_repo: the repository to give scores to: those of the rows that `verify` has published of this run.
        model: which of the run's models that is.

    Raises:
        InputError: the run cannot be submitted, nobody published its dataset, or the token may not do it; scores are
            asked for and the run is not verified.
        LostAnswer: the Hub does not answer.
    """
    published = find_published(api, dataset, read_facts(run)["dataset_sha256"])
    instances = [row["instance_id"] for row in load_rows(f"{dataset}@{published.sha}")]
    user = check_rights(api, model_repo or results_repo or dataset, write=False)
    submission = make_submission(run, instances, user)
    if model_repo:
        if not results_repo:
            raise ArgumentError(
                "to", "name the results dataset: a model repository gets the scores of verified runs only"
            )
        with hub_errors(model_repo):
            api.model_info(model_repo)
        rows, source = verified_rows(api, results_repo, submission.run_id, user)
        return Plan(submission, published, user, None, model_repo, model_results(rows, model, published, source))
    warnings: list[str] = []
    if results_repo:
        records = check_free(api, results_repo, submission.run_id)
        warnings = name_warnings(submission.models, user, records)
    return Plan(submission, published, user, results_repo, None, "", warnings)


def check_free(api: "HfApi", results_repo: str, run_id: str) -> dict[str, dict[str, Any]]:
    """The records of a results dataset, which has nothing of that run yet.

    Raises:
        InputError: it has, so that `verify` would refuse the run.
        LostAnswer: see `lmrbench_data.hub.hub_errors`.
    """
    with hub_errors(results_repo):
        head = str(api.dataset_info(results_repo, revision="main").sha)
        taken = [name for name in list_files(api, results_repo, head) if belongs(name, run_id)]
    if taken:
        raise InputError(f"{results_repo}: run {run_id} is there already ({min(taken)})")
    return read_records(api, results_repo, head)


def carry_out(api: "HfApi", plan: Plan) -> tuple[Committed | None, Committed | None]:
    """Open the pull requests of a plan: that to the results dataset and that to the model repository.

    Raises:
        InputError, LostAnswer: see `lmrbench_data.hub.hub_errors`.
    """
    results = submit(api, plan.submission, plan.results_repo, plan.warnings) if plan.results_repo else None
    return results, submit_to_model(api, plan.model_repo, plan.scores) if plan.model_repo else None


def submit(api: "HfApi", submission: Submission, results_repo: str, warnings: Sequence[str] = ()) -> Committed:
    """Open the pull request for a run, or find the one that was opened before.

    Args:
        warnings: said in its description.

    Raises:
        InputError, LostAnswer: see `lmrbench_data.hub.hub_errors`.
    """
    models = ", ".join(one_line(name) for name in submission.models)
    version = submission.facts["benchmark_version"]
    title = f"{models[:80]} on LMR-Bench {version}: {submission.run_id} [{submission.sha256[:16]}]"
    said = "".join(f"\n\nA name that can be taken for another submitter's:\n\n    {line}" for line in warnings[:50])
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
        description=f"Opened by `lmrbench submit`. A maintainer repeats the run with `lmrbench verify`.{said}",
        create_pr=True,
    )
