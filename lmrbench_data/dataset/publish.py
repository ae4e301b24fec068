"""Publish the dataset on the Hub: one commit with a tag, never over a newer version.

A push builds what it uploads, and every row has passed `dataset check` in Docker on some machine,
according to proved.json. A tag never moves, and a repeated push changes nothing.
"""

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.version import Version

from ..base.errors import InputError
from ..base.hub_client import check_rights, commit, hub_errors, tags
from ..loader import CONFIGS, data_file, dataset_sha256
from ..tasks.manifest import Benchmark
from .build import FILES, write_dataset
from .load import rows_by_config
from .rows import DatasetRow

if TYPE_CHECKING:
    from huggingface_hub import HfApi

#: The Hub's own files, which a push does not touch.
KEPT = (".gitattributes",)
_VERSION_TAG = re.compile(r"v\d+\.\d+\.\d+")
_RAISE = "raise `version` in benchmark.yaml"
#: Columns derived from others, which are not compared.
_DERIVED = {"row_sha256", "repo_sha256", "recording"}


@dataclass(frozen=True)
class Change:
    """A difference between the published rows and the built ones."""

    instance_id: str
    column: str
    """Empty for an added or removed row."""
    summary: str


@dataclass
class PushPlan:
    """The effect of a push."""

    benchmark: Benchmark
    repo_id: str
    configs: Mapping[str, Sequence[DatasetRow]]
    more_files: Mapping[str, Path] = field(default_factory=dict)
    """Further files to push, such as tasks for Harbor: path in the repository → file."""
    head: str | None = None
    """Parent commit on main; None for a new repository."""
    done: bool = False
    """Whether the tag exists with this content."""
    changes: list[Change] = field(default_factory=list)
    """Changes from the rows on main."""
    removed: list[str] = field(default_factory=list)
    """Files on main that the dataset lacks."""

    @property
    def tag(self) -> str:
        """The tag of the benchmark's version."""
        return f"v{self.benchmark.version}"

    @property
    def rows(self) -> list[DatasetRow]:
        """The rows of all configurations."""
        return _all_rows(self.configs)

    @property
    def sha256(self) -> str:
        """The content hash of all rows."""
        return dataset_sha256(self.rows)

    @property
    def files(self) -> list[str]:
        """The files of the dataset."""
        empty = [data_file(config) for config, rows in self.configs.items() if not rows]
        return [name for name in FILES if name not in empty]


def plan_push(
    api: "HfApi",
    repo_id: str,
    configs: Mapping[str, Sequence[DatasetRow]],
    benchmark: Benchmark,
    more_files: Mapping[str, Path] | None = None,
) -> PushPlan:
    """Compare the rows of each configuration with the Hub.

    Args:
        more_files: further files to push: path in the repository → file.

    Raises:
        InputError: the token lacks the right to write, the version is older than a published one,
            or its tag has other content.
        InfraError: the Hub does not answer.
    """
    plan = PushPlan(benchmark, repo_id, configs, more_files or {})
    check_rights(api, repo_id, write=True)
    files: set[str] = set()
    with hub_errors(repo_id):
        if api.repo_exists(repo_id, repo_type="dataset"):
            info = api.dataset_info(repo_id)
            plan.head = info.sha
            files.update(item.rfilename for item in info.siblings or ())
    if plan.head is not None:
        plan.done = _is_published(plan, tags(api, repo_id))
    if not plan.done:
        _compare(plan, files)
    return plan


def _compare(plan: PushPlan, files: Set[str]) -> None:
    """Note what a push changes on main, which has these files."""
    plan.removed = sorted(files - {*plan.files, *plan.more_files, *KEPT})
    has_rows = not files.isdisjoint(map(data_file, CONFIGS))
    old = _remote_rows(plan.repo_id, plan.head) if has_rows else []
    plan.changes = list(diff_rows(old, plan.rows))


def _is_published(plan: PushPlan, published: Mapping[str, str]) -> bool:
    """Return whether the plan's tag exists; refuse one with other content, or below a newer one."""
    if plan.tag in published:
        if _remote_sha256(plan.repo_id, published[plan.tag]) != plan.sha256:
            problem = f"{plan.tag} is already published with other content"
            raise InputError(f"{plan.repo_id}: {problem}; {_RAISE}")
        return True
    versions = [Version(tag) for tag in published if _VERSION_TAG.fullmatch(tag)]
    if versions and max(versions) > Version(plan.tag):
        problem = f"v{max(versions)} is newer than {plan.tag}"
        raise InputError(f"{plan.repo_id}: {problem}; {_RAISE}")
    return False


def push(api: "HfApi", plan: PushPlan, *, private: bool = False) -> str:
    """Carry out a plan with one commit and one tag, and read the rows back from the tag.

    Returns:
        The tagged commit.

    Raises:
        ConflictError: main has changed since the plan.
        InputError, InfraError: see `lmrbench_data.base.hub_client.hub_errors`.
    """
    if plan.done:
        return tags(api, plan.repo_id)[plan.tag]
    sha = _commit(api, plan, private)
    with hub_errors(f"{plan.repo_id} tag {plan.tag}"):
        api.create_tag(plan.repo_id, tag=plan.tag, revision=sha, repo_type="dataset", exist_ok=True)
    if _remote_sha256(plan.repo_id, plan.tag) != plan.sha256:
        problem = "does not contain the pushed rows; delete the tag and push again"
        raise InputError(f"{plan.repo_id}@{plan.tag}: {problem}")
    return sha


def _commit(api: "HfApi", plan: PushPlan, private: bool) -> str:
    from huggingface_hub import CommitOperation, CommitOperationAdd, CommitOperationDelete

    parent = plan.head or _create_repo(api, plan.repo_id, private)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "dataset"
        write_dataset(plan.rows, folder, plan.benchmark)
        sources = {file: folder / file for file in plan.files} | dict(plan.more_files)
        operations: list[CommitOperation] = []
        operations += [CommitOperationAdd(file, str(source)) for file, source in sources.items()]
        operations += [CommitOperationDelete(file) for file in plan.removed]
        title = f"{plan.benchmark.title} {plan.tag} ({plan.sha256[:12]})"
        return commit(api, plan.repo_id, operations, title=title, parent_commit=parent)


def _create_repo(api: "HfApi", repo_id: str, private: bool) -> str:
    """Create a dataset repository; return its first commit."""
    with hub_errors(repo_id):
        api.create_repo(repo_id, repo_type="dataset", private=private, exist_ok=True)
        return str(api.dataset_info(repo_id).sha)


def diff_rows(
    old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]
) -> Iterator[Change]:
    """Yield the changes from `old` to `new` by instance id and column."""
    before = {row["instance_id"]: row for row in old}
    after = {row["instance_id"]: row for row in new}
    for name in sorted(before.keys() | after.keys()):
        if name not in before:
            yield Change(name, "", "added")
        elif name not in after:
            yield Change(name, "", "removed")
        else:
            yield from _changed_columns(before[name], after[name])


def _changed_columns(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    for column in dict.fromkeys([*old, *new]):
        left = old.get(column)
        right = new.get(column)
        if left != right and column not in _DERIVED:
            is_short = isinstance(left, int | str) and "\n" not in f"{left}{right}"
            summary = f"{left!r} -> {right!r}" if is_short else "changed"
            yield Change(new["instance_id"], column, summary)


def _all_rows(configs: Mapping[str, Sequence[DatasetRow]]) -> list[DatasetRow]:
    return [row for rows in configs.values() for row in rows]


def _remote_rows(repo_id: str, revision: str | None) -> list[DatasetRow]:
    """Load the rows of all configurations."""
    return _all_rows(rows_by_config((), f"{repo_id}@{revision}", every=True))


def _remote_sha256(repo_id: str, revision: str) -> str:
    return dataset_sha256(_remote_rows(repo_id, revision))
