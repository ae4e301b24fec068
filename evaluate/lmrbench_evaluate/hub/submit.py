"""Submit a run: a pull request to the results dataset.

A run that `verify` would refuse is refused before it is sent. A retry never submits twice: the
title of the pull request carries the hash of its content.
"""

import contextlib
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.hub_client import check_rights, hub_errors, open_pull_request, tags
from lmrbench_data.base.names import plain_name
from lmrbench_data.base.text import one_line, plural
from lmrbench_data.dataset.load import load_rows
from lmrbench_data.dataset.result_rows import ResultRow
from lmrbench_data.loader import CONFIGS, LoadError, read_card_stamp

from ..judge.judgement_log import FILE as JUDGEMENTS
from ..predictions.sources import WORDS
from ..runs.folder import FACTS, PREDICTIONS, RESULTS, RunFolder, benchmark_title
from ..verdict.verdict import Status
from .layout import ALLOWED, MIB, check_free, published_facts, table_faults

if TYPE_CHECKING:
    from huggingface_hub import HfApi


@dataclass(frozen=True)
class SubmissionPlan:
    """The content of a submission; nothing has been sent.

    Attributes:
        files: path in the results dataset → content.
        tag: tag at which the dataset has the rows of the run.
        user: name of the submitter on the Hub.
        benchmark: name and version of the benchmark, for the title.
    """

    results_repo: str
    run_id: str
    files: dict[str, bytes]
    rows: Sequence[ResultRow]
    tag: str
    user: str
    benchmark: str


def plan_submission(api: "HfApi", run: Path, dataset: str, results_repo: str) -> SubmissionPlan:
    """Check a run against the published dataset and the results, and plan its submission."""
    folder = RunFolder(run)
    facts = folder.facts
    folder.require_predictions()
    rows = list(folder.rows())
    published = publishable(api, run, dataset, "cannot be submitted")
    run_id = plain_name(facts["run_id"], "run")
    return SubmissionPlan(
        results_repo=results_repo,
        run_id=run_id,
        files=_files(run, facts, run_id),
        rows=rows,
        tag=published.tag,
        user=_check_results(api, results_repo, run_id),
        benchmark=f"{published.title} {facts['benchmark_version']}",
    )


class Published(NamedTuple):
    """The place of a run's dataset on the Hub, and the title of its benchmark."""

    tag: str
    sha: str
    config: str
    title: str


def publishable(api: "HfApi", run: Path, dataset: str, refusal: str) -> Published:
    """Find the published dataset of a run whose scores may stand beside those of others.

    Args:
        refusal: the words between the run and the reasons in an error.

    Raises:
        InputError: the run is not complete or not official, or no version has its dataset.
    """
    folder = RunFolder(run)
    rows = list(folder.rows())
    tag, sha, config = _find_published(api, dataset, folder.facts["dataset_sha256"])
    dataset_rows = load_rows(f"{dataset}@{sha}", config)
    faults = [*_run_faults(folder.facts, rows, len(dataset_rows)), *table_faults(rows)]
    if faults:
        raise InputError(f"{run}: {refusal}: {'; '.join(faults)}")
    return Published(tag, sha, config, benchmark_title(dataset_rows[0]["canary"]))


def _find_published(api: "HfApi", repo_id: str, dataset_sha256: str) -> tuple[str, str, str]:
    """Return the tag, commit and configuration at which others find the dataset of a run."""
    for tag, sha in sorted(tags(api, repo_id).items(), reverse=True):
        where = f"{repo_id}@{tag}"
        with hub_errors(where):
            card = api.hf_hub_download(repo_id, "README.md", repo_type="dataset", revision=sha)
        for config in CONFIGS:
            with contextlib.suppress(LoadError):
                if read_card_stamp(Path(card), where, config)["sha256"] == dataset_sha256:
                    return tag, sha, config
    raise InputError(
        f"{repo_id}: no tag has the dataset of this run ({dataset_sha256[:12]});"
        f" evaluate on a published version, {repo_id}@vX.Y.Z"
    )


def _run_faults(
    facts: Mapping[str, Any], rows: Sequence[ResultRow], instances: int
) -> Iterator[str]:
    again = "run the same `lmrbench evaluate` again"
    if not facts.get("complete"):
        yield f"it is not complete; {again}"
    if any(row["status"] == Status.INFRA_ERROR for row in rows):
        yield f"it has infra errors; {again}"
    if not facts["official_sandbox"]:
        yield f"it ran in the {facts['sandbox']} sandbox, which is not official; evaluate in docker"
    if facts["timeout_scale"] != 1:
        scale = facts["timeout_scale"]
        yield f"its time limits were scaled by {scale}; evaluate with `timeout_scale` 1"
    if facts.get("predictions") in WORDS:
        yield "it evaluated the benchmark's own files, not a model"
    scope = facts["scope"]
    if len(scope) < instances:
        yield f"it covers {len(scope)} of {plural(instances, 'instance')}; evaluate on all of them"


def _files(run: Path, facts: Mapping[str, Any], run_id: str) -> dict[str, bytes]:
    """Return the files of the pull request: path in the results dataset → content."""
    contents = {FACTS: published_facts(facts, run_id)}
    for name in (PREDICTIONS, RESULTS, JUDGEMENTS):
        if (run / name).is_file():
            contents[name] = (run / name).read_bytes()
    for name, content in contents.items():
        if len(content) > ALLOWED[name]:
            raise InputError(
                f"{run / name}: is larger than {ALLOWED[name] // MIB} MiB; submit the run in parts"
            )
    return {f"runs/{run_id}/{name}": content for name, content in contents.items()}


def _check_results(api: "HfApi", results_repo: str, run_id: str) -> str:
    """Check that a results dataset exists and has no file of the run; return the user's name."""
    user = check_rights(api, results_repo, write=False)
    with hub_errors(results_repo):
        exists = api.repo_exists(results_repo, repo_type="dataset")
    if not exists:
        fix = f"a maintainer creates it with `hf repos create {results_repo} --type dataset`"
        raise InputError(f"{results_repo}: no such dataset, or this token may not see it; {fix}")
    check_free(api, results_repo, run_id, results_repo, "submit a run with another name")
    return user


def open_submission(api: "HfApi", plan: SubmissionPlan) -> tuple[str, bool]:
    """Open the pull request of a plan; return its address, and whether it was open already."""
    description = (
        "Opened by `lmrbench submit`. A maintainer repeats the run with `lmrbench verify`."
    )
    return open_pull_request(
        api,
        plan.results_repo,
        plan.files,
        title=_title(plan),
        older=f": {plan.run_id} [",  # as in `_title`
        description=description,
    )


def _title(plan: SubmissionPlan) -> str:
    """Return the title of the pull request, which other content changes."""
    content = b"".join(name.encode() + plan.files[name] for name in sorted(plan.files))
    digest = hashlib.sha256(content).hexdigest()[:16]
    models = ", ".join(sorted({one_line(row["model_name_or_path"]) for row in plan.rows}))
    return f"{models[:80]} on {plan.benchmark}: {plan.run_id} [{digest}]"
