"""Publish a built dataset on the Hub: one commit with a tag, never over a newer version, never unproved rows.

The push contains exactly what this version of the package builds, and every row has passed `dataset check` in Docker on
some machine, according to proved.json. A tag never moves, and a repeated push changes nothing.
"""

import re
import tempfile
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..base.errors import InputError
from ..base.hub_client import check_rights, commit, hub_errors, tags
from ..loader import CONFIGS, DATA_FILE, FUNCTION, LoadError, NoConfigError, data_file, dataset_sha256
from ..tasks.manifest import Benchmark
from .build import FILES, write_dataset
from .diff import Change, diff_rows
from .load import load_rows
from .rows import DatasetRow, content_sha256

if TYPE_CHECKING:
    from huggingface_hub import HfApi

#: The Hub's own files, which a push does not touch.
KEPT = (".gitattributes",)
_VERSION_TAG = re.compile(r"v(\d+)\.(\d+)\.(\d+)")


@dataclass
class PushPlan:
    """The effect of a push."""

    title: str
    """Title of the benchmark."""
    repo_id: str
    tag: str
    folder: Path
    rows: int
    sha256: str
    head: str | None
    """Parent commit on main; None for a new repository."""
    done: bool = False
    """Whether the tag exists with this content."""
    changes: list[Change] = field(default_factory=list)
    """Changes from the rows on main."""
    removed: list[str] = field(default_factory=list)
    """Files on main that the dataset lacks."""


def plan_push(
    api: "HfApi",
    repo_id: str,
    folder: Path,
    benchmark: Benchmark,
    proved: Collection[str],
) -> PushPlan:
    """Check a built folder and compare it with the Hub.

    Args:
        proved: content hashes of rows with a proof.

    Raises:
        InputError: the folder is dirty or unchecked, the token lacks the right to write, the version is older than a
            published one, or its tag has other content.
        LostAnswerError: the Hub does not answer.
    """
    configs = _clean_rows(folder, benchmark)
    rows = [row for found in configs.values() for row in found]
    if missing := [row["instance_id"] for row in rows if content_sha256(row) not in proved]:
        named = ", ".join(missing[:3]) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
        check = f"run `lmrbench dataset check{_option(benchmark)} --sandbox docker`"
        raise InputError(f"{folder}: not checked in Docker: {named}; {check}")
    plan = PushPlan(benchmark.title, repo_id, f"v{benchmark.version}", folder, len(rows), dataset_sha256(rows), None)
    check_rights(api, repo_id, write=True)
    with hub_errors(repo_id):
        if not api.repo_exists(repo_id, repo_type="dataset"):
            plan.changes = list(diff_rows([], rows))
            return plan
        info = api.dataset_info(repo_id)
    plan.head = info.sha
    published = tags(api, repo_id)
    if plan.tag in published:
        if _remote_sha256(repo_id, published[plan.tag]) != plan.sha256:
            fix = "raise `version` in benchmark.yaml and build again"
            raise InputError(f"{repo_id}: {plan.tag} is already published with other content; {fix}")
        plan.done = True
        return plan
    newest = max((match for tag in published if (match := _VERSION_TAG.fullmatch(tag))), key=_numbers, default=None)
    own = _VERSION_TAG.fullmatch(plan.tag)
    if own is None:
        raise InputError(f"benchmark.yaml: version {benchmark.version!r}: must be MAJOR.MINOR.PATCH")
    if newest is not None and _numbers(newest) > _numbers(own):
        raise InputError(f"{repo_id}: {newest.group()} is newer than {plan.tag}; raise `version` in benchmark.yaml")
    there = {item.rfilename for item in info.siblings or ()}
    plan.removed = sorted(there - {*_files(folder), *KEPT})
    plan.changes = list(diff_rows(_remote_rows(repo_id, info.sha) if DATA_FILE in there else [], rows))
    return plan


def push(api: "HfApi", plan: PushPlan, *, private: bool = False) -> str:
    """Carry out a plan with one commit and one tag, and read the rows back from the tag.

    Returns:
        The tagged commit.

    Raises:
        ConflictError: main has changed since the plan.
        InputError, LostAnswerError: see `lmrbench_data.base.hub_client.hub_errors`.
    """
    if plan.done:
        return tags(api, plan.repo_id)[plan.tag]
    from huggingface_hub import CommitOperation, CommitOperationAdd, CommitOperationDelete

    with hub_errors(plan.repo_id):
        if plan.head is None:
            api.create_repo(plan.repo_id, repo_type="dataset", private=private, exist_ok=True)
            plan.head = str(api.dataset_info(plan.repo_id).sha)
    operations: list[CommitOperation] = [
        *(CommitOperationAdd(name, str(plan.folder / name)) for name in _files(plan.folder)),
        *(CommitOperationDelete(name) for name in plan.removed),
    ]
    title = f"{plan.title} {plan.tag} ({plan.sha256[:12]})"
    committed = commit(api, plan.repo_id, operations, title=title, parent_commit=plan.head)
    with hub_errors(f"{plan.repo_id} tag {plan.tag}"):
        api.create_tag(plan.repo_id, tag=plan.tag, revision=committed.sha, repo_type="dataset", exist_ok=True)
    if _remote_sha256(plan.repo_id, plan.tag) != plan.sha256:
        raise InputError(f"{plan.repo_id}@{plan.tag}: does not contain the pushed rows; delete the tag and push again")
    return committed.sha


def _option(benchmark: Benchmark) -> str:
    return "" if benchmark.is_lmr_bench else " --benchmark DIR"


def _files(folder: Path) -> list[str]:
    """Return the files of a build."""
    return [name for name in FILES if (folder / name).is_file()]


def _clean_rows(folder: Path, benchmark: Benchmark) -> dict[str, list[DatasetRow]]:
    """Load the rows of a folder that is, byte for byte, the one that this version of the package writes for them."""
    build = f"run `lmrbench dataset build{_option(benchmark)}`"
    try:
        present = [config for config in CONFIGS if config == FUNCTION or (folder / data_file(config)).is_file()]
        configs = {config: load_rows(folder, config) for config in present}
    except LoadError as error:
        raise InputError(f"{error}; {build}") from error
    rows = [row for found in configs.values() for row in found]
    if versions := {str(row["benchmark_version"]) for row in rows} - {benchmark.version}:
        raise InputError(
            f"{folder}: is version {', '.join(versions)}, benchmark.yaml says {benchmark.version}; {build}"
        )
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()}
    stray = sorted(name for name in found - set(FILES) if "__pycache__" not in name)
    if stray:
        raise InputError(f"{folder}: dirty, contains {stray[0]}; remove it, or {build} into a new folder")
    with tempfile.TemporaryDirectory() as name:
        fresh = Path(name) / "lmr-bench"
        write_dataset(configs[FUNCTION], fresh, benchmark, others=configs)
        for file in _files(fresh):
            if not (folder / file).is_file() or (folder / file).read_bytes() != (fresh / file).read_bytes():
                raise InputError(f"{folder}: dirty, {file} differs from what this version writes; {build}")
    return configs


def _remote_rows(repo_id: str, revision: str | None) -> list[DatasetRow]:
    """Load the rows of all configurations."""
    rows = []
    for config in CONFIGS:
        try:
            rows += load_rows(f"{repo_id}@{revision}", config)
        except NoConfigError:
            continue
        except LoadError as error:
            raise InputError(f"{error}; fix or move the published rows first") from error
    return rows


def _remote_sha256(repo_id: str, revision: str) -> str:
    return dataset_sha256(_remote_rows(repo_id, revision))


def _numbers(match: re.Match[str]) -> tuple[int, ...]:
    return tuple(map(int, match.groups()))
