"""Submit a run: a pull request to the results dataset, and one to a model repository with its scores.

A retry never submits twice: the pull request's title carries the hash of what is in it, and is looked for first.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError, InputError
from ...hub import Committed, additions, commit_once, hub_errors, tags
from ...loader import LoadError, load_rows, read_card_stamp
from ...text import one_line
from ..judge.category import BEST_FIRST
from ..reports.scores import ModelScore, score_runs
from ..runs.folder import read_facts
from .claim import list_files
from .publication import belongs
from .records import name_warnings, read_records
from .submission import Submission, make_submission

if TYPE_CHECKING:
    from huggingface_hub import HfApi

#: The tasks that cards/eval.yaml registers.
ACCURACY_TASK, JUDGE_TASK = "unit_test_accuracy", "judge_completely_correct"
EVAL_RESULTS = ".eval_results/lmr-bench.yaml"


@dataclass(frozen=True)
class PublishedDataset:
    """The tag of the dataset on the Hub that a run was evaluated on."""

    repo_id: str
    tag: str
    sha: str


def find_published(api: "HfApi", repo_id: str, dataset_sha256: str) -> PublishedDataset:
    """The tag of a dataset repository that has this content.

    Raises:
        InputError: none has, so that nobody could repeat the run; or there is no such repository.
        LostAnswer: the Hub does not answer.
    """
    from huggingface_hub import hf_hub_download

    for tag, sha in sorted(tags(api, repo_id).items(), reverse=True):
        with hub_errors(f"{repo_id}@{tag}"):
            card = hf_hub_download(repo_id, "README.md", repo_type="dataset", revision=sha)
        try:
            stamp = read_card_stamp(Path(card), f"{repo_id}@{tag}")
        except LoadError:
            continue
        if stamp["sha256"] == dataset_sha256:
            return PublishedDataset(repo_id, tag, sha)
    raise InputError(
        f"{repo_id}: no tag has the dataset of this run ({dataset_sha256[:12]}); evaluate on a published version, "
        f"{repo_id}@vX.Y.Z"
    )


@dataclass(frozen=True)
class Plan:
    """What a submission would send where; nothing has been sent.

    Attributes:
        scores: `.eval_results` of the model repository, "" without one.
        warnings: names of models that can be taken for another submitter's.
        model: which of the run's models that repository is.
    """

    run: Path
    submission: Submission
    published: PublishedDataset
    user: str
    results_repo: str | None
    model_repo: str | None
    model: str | None
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

    Raises:
        InputError: the run cannot be submitted, or nobody published its dataset.
        LostAnswer: the Hub does not answer.
    """
    published = find_published(api, dataset, read_facts(run)["dataset_sha256"])
    instances = [row["instance_id"] for row in load_rows(f"{dataset}@{published.sha}")]
    with hub_errors("the Hub"):
        user = api.whoami()["name"]
    submission = make_submission(run, instances, user)
    scores = model_results(run, model, published, None) if model_repo else ""
    warnings: list[str] = []
    if results_repo:
        records = check_free(api, results_repo, submission.run_id)
        warnings = name_warnings(submission.models, user, records)
    return Plan(run, submission, published, user, results_repo, model_repo, model, scores, warnings)


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
    scores = None
    if plan.model_repo:
        content = model_results(plan.run, plan.model, plan.published, results.url if results else None)
        scores = submit_to_model(api, plan.model_repo, content)
    return results, scores


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


def model_results(run: Path, model: str | None, dataset: PublishedDataset, source_url: str | None) -> str:
    """`.eval_results/lmr-bench.yaml` for a model repository: unit-test accuracy and, if judged, the share of CC.

    Args:
        model: which model of the run; may be left out if there is one.

    Raises:
        InputError: the run has no such model, or several and none was named.
    """
    import yaml
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    score = _one(score_runs([run]), model)
    overall = score.overall
    values = {ACCURACY_TASK: 100 * overall.passed / overall.total}
    if overall.has_category and overall.judge_base == overall.total:
        values[JUDGE_TASK] = 100 * overall.judged[BEST_FIRST[0]] / overall.total
    entries = [
        EvalResultEntry(
            dataset_id=dataset.repo_id,
            task_id=task,
            value=round(value, 2),
            dataset_revision=dataset.sha,
            source_url=source_url,
            notes=f"setting: {one_line(score.setting)}" if score.setting else None,
        )
        for task, value in values.items()
    ]
    return yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False, allow_unicode=True)


def submit_to_model(api: "HfApi", repo_id: str, content: str) -> Committed:
    """Open the pull request that gives a model repository its results.

    Raises:
        InputError, LostAnswer: see `lmrbench_data.hub.hub_errors`.
    """
    import hashlib

    digest = hashlib.sha256(content.encode()).hexdigest()
    return commit_once(
        api,
        repo_id,
        lambda: additions({EVAL_RESULTS: content.encode()}),
        title=f"LMR-Bench results [{digest[:16]}]",
        description="Opened by `lmrbench submit --model-repo`.",
        create_pr=True,
        repo_type="model",
    )


def _one(scores: Sequence[ModelScore], model: str | None) -> ModelScore:
    found = [score for score in scores if model in (None, score.model)]
    if len(found) != 1:
        names = ", ".join(sorted({score.name for score in scores}))
        raise ArgumentError("model", f"one of this run's models is needed: {names}")
    return found[0]
