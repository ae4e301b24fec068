"""Submit a run: a pull request to the results dataset.

A run that `verify` would refuse is refused before it is sent. A retry never submits twice: the title of the pull
request carries the hash of its content.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.hub_client import check_rights, hub_errors, open_pull_request, tags
from lmrbench_data.base.text import one_line, plural
from lmrbench_data.dataset.load import load_rows
from lmrbench_data.dataset.result_rows import ResultRow
from lmrbench_data.loader import CONFIGS, LoadError, read_card_stamp

from ..judge.judgement_log import FILE as JUDGEMENTS
from ..runs.folder import FACTS, PREDICTIONS, RESULTS, RunFolder, benchmark_title
from ..verdict.verdict import Status
from .layout import ALLOWED, MIB, belongs, list_files, published_facts, table_faults

if TYPE_CHECKING:
    from huggingface_hub import HfApi


@dataclass(frozen=True)
class SubmissionPlan:
    """The content of a submission; nothing has been sent.

    Attributes:
        files: path in the results dataset → content.
        tag: tag of the dataset that has the run's rows.
        benchmark: name and version of the benchmark in titles.
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
    facts, rows = folder.facts, list(folder.rows())
    tag, sha, config = _find_published(api, dataset, facts["dataset_sha256"])
    dataset_rows = load_rows(f"{dataset}@{sha}", config)
    faults = [
        *_faults(run, facts, rows, [row["instance_id"] for row in dataset_rows]),
        *table_faults(rows),
    ]
    if faults:
        raise InputError(f"{run}: cannot be submitted: {'; '.join(faults)}")
    run_id = re.sub(r"[^A-Za-z0-9._-]", "-", facts["run_id"])[-100:].lstrip("._-") or "run"
    files = _files(run, facts, run_id)
    user = check_rights(api, results_repo, write=False)
    _check_free(api, results_repo, run_id)
    benchmark = f"{benchmark_title(dataset_rows[0]['canary'])} {facts['benchmark_version']}"
    return SubmissionPlan(results_repo, run_id, files, rows, tag, user, benchmark)


def _find_published(api: "HfApi", repo_id: str, dataset_sha256: str) -> tuple[str, str, str]:
    """Return tag, commit and configuration with this content, without which nobody can repeat the run."""
    for tag, sha in sorted(tags(api, repo_id).items(), reverse=True):
        with hub_errors(f"{repo_id}@{tag}"):
            card = api.hf_hub_download(repo_id, "README.md", repo_type="dataset", revision=sha)
        for config in CONFIGS:
            try:
                stamp = read_card_stamp(Path(card), f"{repo_id}@{tag}", config)
            except LoadError:
                continue
            if stamp["sha256"] == dataset_sha256:
                return tag, sha, config
    raise InputError(
        f"{repo_id}: no tag has the dataset of this run ({dataset_sha256[:12]}); evaluate on a published version, "
        f"{repo_id}@vX.Y.Z"
    )


def _faults(
    run: Path, facts: Mapping[str, Any], rows: Sequence[ResultRow], instances: Sequence[str]
) -> Iterator[str]:
    if not facts.get("complete"):
        yield "it is not complete; run the same `lmrbench evaluate` again"
    if any(row["status"] == Status.INFRA_ERROR for row in rows):
        yield "it has infra errors; run the same `lmrbench evaluate` again"
    if not facts["official_sandbox"]:
        yield f"it ran in the {facts['sandbox']} sandbox, which is not official; evaluate in docker"
    if facts["timeout_scale"] != 1:
        yield f"its time limits were scaled by {facts['timeout_scale']}"
    if missing := set(instances) - set(facts["scope"]):
        yield f"its scope lacks {len(missing)} of {plural(len(instances), 'instance')} ({min(missing)})"
    if unknown := set(facts["scope"]) - set(instances):
        yield f"its scope names unknown instances ({min(unknown)})"
    if facts.get("predictions") in ("gold", "masked"):
        yield "it evaluated the benchmark's own files, not a model"
    if not (run / PREDICTIONS).is_file():
        yield f"{PREDICTIONS} is missing"


def _files(run: Path, facts: Mapping[str, Any], run_id: str) -> dict[str, bytes]:
    files = {FACTS: published_facts(facts, run_id)}
    files |= {
        name: (run / name).read_bytes()
        for name in (PREDICTIONS, RESULTS, JUDGEMENTS)
        if (run / name).is_file()
    }
    if large := [name for name, content in files.items() if len(content) > ALLOWED[name]]:
        raise InputError(
            f"{run}: cannot be submitted: {large[0]} is larger than {ALLOWED[large[0]] // MIB} MiB"
        )
    return {f"runs/{run_id}/{name}": content for name, content in files.items()}


def _check_free(api: "HfApi", results_repo: str, run_id: str) -> None:
    """Check that a results dataset exists and has no file of that run, or `verify` would refuse it."""
    with hub_errors(results_repo):
        if not api.repo_exists(results_repo, repo_type="dataset"):
            make = f"a maintainer creates it with `hf repos create {results_repo} --type dataset`"
            raise InputError(
                f"{results_repo}: no such dataset, or this token may not see it; {make}"
            )
        head = str(api.dataset_info(results_repo, revision="main").sha)
        taken = [name for name in list_files(api, results_repo, head) if belongs(name, run_id)]
    if taken:
        raise InputError(f"{results_repo}: run {run_id} exists already ({min(taken)})")


def carry_out(api: "HfApi", plan: SubmissionPlan) -> tuple[str, bool]:
    """Open the pull request of a plan; return its address, and whether it was open already."""
    digest = hashlib.sha256(
        b"".join(name.encode() + plan.files[name] for name in sorted(plan.files))
    ).hexdigest()
    models = ", ".join(
        one_line(name) for name in sorted({row["model_name_or_path"] for row in plan.rows})
    )
    return open_pull_request(
        api,
        plan.results_repo,
        plan.files,
        title=f"{models[:80]} on {plan.benchmark}: {plan.run_id} [{digest[:16]}]",
        older=f": {plan.run_id} [",
        description="Opened by `lmrbench submit`. A maintainer repeats the run with `lmrbench verify`.",
    )
