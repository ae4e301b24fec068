"""Submit a run: a pull request to the results dataset and, once it is verified, one to a model repository.

A run that `verify` would refuse is refused before it is sent. A retry never submits twice: the title of the pull
request carries the hash of its content. A model repository gets one value per track and level, which the Hub shows
under the tasks that `cards/eval.yaml` registers: without the judge's categories, which nobody repeats.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from lmrbench_data.base.errors import ArgumentError, InputError
from lmrbench_data.base.hub_client import Committed, check_rights, hub_errors, open_pull_request, tags
from lmrbench_data.base.near import did_you_mean
from lmrbench_data.base.text import one_line
from lmrbench_data.dataset.load import load_rows
from lmrbench_data.dataset.result_rows import ResultRow
from lmrbench_data.dataset.rows import TRACKS
from lmrbench_data.loader import CONFIGS, FUNCTION, LoadError, read_card_stamp

from ..judge.judgement_log import FILE as JUDGEMENTS
from ..runs.folder import FACTS, PREDICTIONS, RESULTS, RunFolder, benchmark_title
from ..verdict.levels import Level
from ..verdict.verdict import Status
from .layout import (
    ALLOWED,
    MIB,
    PUBLISHED_FACTS,
    belongs,
    commit_of,
    list_files,
    read_records,
    record_path,
    table_faults,
)
from .record import Entry, Record

if TYPE_CHECKING:
    from huggingface_hub import HfApi


@dataclass(frozen=True)
class PublishedDataset:
    """A tag of the dataset on the Hub, and the configuration that a run was on."""

    repo_id: str
    tag: str
    sha: str
    config: str


@dataclass(frozen=True)
class SubmissionPlan:
    """The content and the targets of a submission; nothing has been sent.

    Attributes:
        files: path in the results dataset → content.
        benchmark: name of the benchmark in titles.
        results_repo: None if the run is published and only its scores are sent.
        scores: `.eval_results` of the model repository, or empty.
    """

    run_id: str
    files: dict[str, bytes]
    rows: Sequence[ResultRow]
    dataset: PublishedDataset
    user: str
    benchmark: str
    version: str
    results_repo: str | None = None
    model_repo: str | None = None
    scores: str = ""


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
        model_repo: the repository that gets the scores of this run once it is verified.
        model: the run's model that it holds.
    """
    folder = RunFolder(run)
    facts, rows = folder.facts, list(folder.rows())
    published = _find_published(api, dataset, facts["dataset_sha256"])
    dataset_rows = load_rows(f"{dataset}@{published.sha}", published.config)
    faults = [*_faults(run, facts, rows, [row["instance_id"] for row in dataset_rows]), *table_faults(rows)]
    if faults:
        raise InputError(f"{run}: cannot be submitted: {'; '.join(faults)}")
    run_id = re.sub(r"[^A-Za-z0-9._-]", "-", facts["run_id"]).lstrip(".-")[-100:]
    files = _files(run, facts, run_id)
    user = check_rights(api, model_repo or results_repo or dataset, write=False)
    benchmark = benchmark_title(dataset_rows[0]["canary"])
    shared = run_id, files, rows, published, user, benchmark, facts["benchmark_version"]
    if model_repo:
        if not results_repo:
            raise ArgumentError(
                "to", "name the results dataset: a model repository gets the scores of verified runs only"
            )
        with hub_errors(model_repo):
            api.model_info(model_repo)
        record, source = verified_run(api, results_repo, run_id, user)
        scores = model_results(record, model, published.repo_id, published.sha, source)
        return SubmissionPlan(*shared, model_repo=model_repo, scores=scores)
    if results_repo:
        _check_free(api, results_repo, run_id)
    return SubmissionPlan(*shared, results_repo=results_repo)


def _find_published(api: "HfApi", repo_id: str, dataset_sha256: str) -> PublishedDataset:
    """Find the tag of a dataset repository with this content: without it nobody can repeat the run."""
    for tag, sha in sorted(tags(api, repo_id).items(), reverse=True):
        with hub_errors(f"{repo_id}@{tag}"):
            card = api.hf_hub_download(repo_id, "README.md", repo_type="dataset", revision=sha)
        for config in CONFIGS:
            try:
                stamp = read_card_stamp(Path(card), f"{repo_id}@{tag}", config)
            except LoadError:
                continue
            if stamp["sha256"] == dataset_sha256:
                return PublishedDataset(repo_id, tag, sha, config)
    raise InputError(
        f"{repo_id}: no tag has the dataset of this run ({dataset_sha256[:12]}); evaluate on a published version, "
        f"{repo_id}@vX.Y.Z"
    )


def _faults(run: Path, facts: Mapping[str, Any], rows: Sequence[ResultRow], instances: Sequence[str]) -> Iterator[str]:
    if not facts.get("complete"):
        yield "it is not complete; run the same `lmrbench evaluate` again"
    if any(row["status"] == Status.INFRA_ERROR for row in rows):
        yield "it has infra errors; run the same `lmrbench evaluate` again"
    if not facts["official_sandbox"]:
        yield f"it ran in the {facts['sandbox']} sandbox, which does not isolate; evaluate in docker"
    if facts["timeout_scale"] != 1:
        yield f"its time limits were scaled by {facts['timeout_scale']}"
    if missing := set(instances) - set(facts["scope"]):
        yield f"{len(missing)} of {len(instances)} instances are not in its scope ({min(missing)})"
    if unknown := set(facts["scope"]) - set(instances):
        yield f"its scope names unknown instances ({min(unknown)})"
    if facts.get("predictions") in ("gold", "masked"):
        yield "it evaluated the benchmark's own files, not a model"
    if not (run / PREDICTIONS).is_file():
        yield f"{PREDICTIONS} is missing"


def _files(run: Path, facts: Mapping[str, Any], run_id: str) -> dict[str, bytes]:
    shown = {**{name: facts[name] for name in PUBLISHED_FACTS if name in facts}, "run_id": run_id}
    files = {FACTS: (json.dumps(shown, indent=2) + "\n").encode()}
    files |= {name: (run / name).read_bytes() for name in (PREDICTIONS, RESULTS, JUDGEMENTS) if (run / name).is_file()}
    if large := [name for name, content in files.items() if len(content) > ALLOWED[name]]:
        raise InputError(f"{run}: cannot be submitted: {large[0]} is larger than {ALLOWED[large[0]] // MIB} MiB")
    return {f"runs/{run_id}/{name}": content for name, content in files.items()}


def _check_free(api: "HfApi", results_repo: str, run_id: str) -> None:
    """Check that a results dataset exists and has no file of that run, or `verify` would refuse it."""
    with hub_errors(results_repo):
        if not api.repo_exists(results_repo, repo_type="dataset"):
            make = f"a maintainer creates it with `hf repos create {results_repo} --type dataset`"
            raise InputError(f"{results_repo}: no such dataset, or this token may not see it; {make}")
        head = str(api.dataset_info(results_repo, revision="main").sha)
        taken = [name for name in list_files(api, results_repo, head) if belongs(name, run_id)]
    if taken:
        raise InputError(f"{results_repo}: run {run_id} exists already ({min(taken)})")


def task_id(config: str, track: str, level: Level) -> str | None:
    """Return the task of `cards/eval.yaml` for a level of a track; None if it registers none.

    Methods have one track, and their levels are the same.
    """
    if config == FUNCTION:
        return f"{track}_{level}"
    return f"{config}_{level}" if (track, level) == ("paper", Level.REPRODUCED) else None


def model_results(record: Record, model: str | None, dataset: str, revision: str, source_url: str) -> str:
    """Make the content of the file in `.eval_results`: for each track both rates of its best setting.

    Args:
        model: the model; may be left out if the run has one only.
        dataset, revision: the benchmark on the Hub.
        source_url: the address of the record.
    """
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    models = sorted({entry.model for entry in record.entries})
    if model not in models and not (model is None and len(models) == 1):
        unknown = f"{model!r} is unknown{did_you_mean(model, models, within=True)}; " if model else ""
        raise ArgumentError("model", f"{unknown}one of this run's models is needed: {', '.join(map(one_line, models))}")

    def rank(entry: Entry) -> tuple[float, float]:
        return entry.overall.rate(entry.level), sum(entry.overall.rate(level) for level in Level)

    results = []
    for track in TRACKS:
        entries = [item for item in record.entries if (item.model, item.track) == (model or models[0], track)]
        best = max(entries, key=rank, default=None)
        for level in Level if best else ():
            if best and (task := task_id(record.config, track, level)):
                result = EvalResultEntry(
                    dataset_id=dataset,
                    task_id=task,
                    value=round(100 * best.overall.rate(level), 2),
                    dataset_revision=revision,
                    source_url=source_url,
                    notes=f"setting: {one_line(best.setting)}" if best.setting else None,
                )
                results.append(result)
    return yaml.safe_dump(eval_result_entries_to_yaml(results), sort_keys=False, allow_unicode=True)


def verified_run(api: "HfApi", repo_id: str, run_id: str, user: str) -> tuple[Record, str]:
    """Return the record of this user's verified run, and its address."""
    record = read_records(api, repo_id).get(run_id)
    if record is None:
        fix = f"submit it to {repo_id} first and wait until a maintainer has verified it"
        raise InputError(f"{repo_id}: run {run_id} is not verified; {fix}")
    if record.submitted_by != user:
        raise InputError(f"{repo_id}: run {run_id} was submitted by {one_line(record.submitted_by)}, not {user}")
    with hub_errors(repo_id):
        sha = commit_of(api, repo_id, record)
    return record, f"{api.endpoint}/datasets/{repo_id}/blob/{sha}/{record_path(run_id)}"


def carry_out(api: "HfApi", plan: SubmissionPlan) -> Committed | None:
    """Open the pull request of a plan, or return the open one; None if the plan has no target."""
    if plan.model_repo:
        digest = hashlib.sha256(plan.scores.encode()).hexdigest()
        return open_pull_request(
            api,
            plan.model_repo,
            {f".eval_results/{plan.benchmark.lower()}.yaml": plan.scores.encode()},
            title=f"{plan.benchmark} results [{digest[:16]}]",
            older=f"{plan.benchmark} results [",
            description="Opened by `lmrbench submit --model-repo`: scores of a run that a maintainer has repeated.",
            repo_type="model",
        )
    if not plan.results_repo:
        return None
    digest = hashlib.sha256(b"".join(name.encode() + plan.files[name] for name in sorted(plan.files))).hexdigest()
    models = ", ".join(one_line(name) for name in sorted({row["model_name_or_path"] for row in plan.rows}))
    return open_pull_request(
        api,
        plan.results_repo,
        plan.files,
        title=f"{models[:80]} on {plan.benchmark} {plan.version}: {plan.run_id} [{digest[:16]}]",
        older=f": {plan.run_id} [",
        description="Opened by `lmrbench submit`. A maintainer repeats the run with `lmrbench verify`.",
    )
