"""Publish the dataset on the Hub: one commit with a tag, never over a newer version, never unproved rows.

A push builds what it uploads, and every row has passed `dataset check` in Docker on some machine, according to
proved.json. A tag never moves, and a repeated push changes nothing.
"""

import contextlib
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.errors import InputError
from ..base.hub_client import check_rights, commit, hub_errors, tags
from ..loader import CONFIGS, NoConfigError, data_file, dataset_sha256
from ..tasks.manifest import Benchmark
from .build import FILES, write_dataset
from .load import load_rows
from .rows import DatasetRow

if TYPE_CHECKING:
    from huggingface_hub import HfApi

#: The Hub's own files, which a push does not touch.
KEPT = (".gitattributes",)
_VERSION_TAG = re.compile(r"v(\d+)\.(\d+)\.(\d+)")
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
    tag: str
    configs: Mapping[str, Sequence[DatasetRow]]
    sha256: str
    head: str | None = None
    """Parent commit on main; None for a new repository."""
    done: bool = False
    """Whether the tag exists with this content."""
    changes: list[Change] = field(default_factory=list)
    """Changes from the rows on main."""
    removed: list[str] = field(default_factory=list)
    """Files on main that the dataset lacks."""

    @property
    def rows(self) -> list[DatasetRow]:
        """The rows of all configurations."""
        return [row for rows in self.configs.values() for row in rows]

    @property
    def files(self) -> list[str]:
        """The files of the dataset."""
        empty = {data_file(config) for config, rows in self.configs.items() if not rows}
        return [name for name in FILES if name not in empty]


def plan_push(
    api: "HfApi", repo_id: str, configs: Mapping[str, Sequence[DatasetRow]], benchmark: Benchmark
) -> PushPlan:
    """Compare the rows of each configuration with the Hub.

    Raises:
        InputError: the token lacks the right to write, the version is older than a published one, or its tag has other
            content.
        InfraError: the Hub does not answer.
    """
    rows = [row for built in configs.values() for row in built]
    plan = PushPlan(benchmark, repo_id, f"v{benchmark.version}", configs, dataset_sha256(rows))
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
            fix = "raise `version` in benchmark.yaml"
            raise InputError(
                f"{repo_id}: {plan.tag} is already published with other content; {fix}"
            )
        plan.done = True
        return plan
    newest = max(
        (tag for tag in published if _VERSION_TAG.fullmatch(tag)), key=_numbers, default=plan.tag
    )
    if _numbers(newest) > _numbers(plan.tag):
        raise InputError(
            f"{repo_id}: {newest} is newer than {plan.tag}; raise `version` in benchmark.yaml"
        )
    published_files = {item.rfilename for item in info.siblings or ()}
    plan.removed = sorted(published_files - {*plan.files, *KEPT})
    has_rows = not published_files.isdisjoint(map(data_file, CONFIGS))
    plan.changes = list(diff_rows(_remote_rows(repo_id, info.sha) if has_rows else [], rows))
    return plan


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
    from huggingface_hub import CommitOperation, CommitOperationAdd, CommitOperationDelete

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "dataset"
        write_dataset(plan.rows, folder, plan.benchmark)
        with hub_errors(plan.repo_id):
            if plan.head is None:
                api.create_repo(plan.repo_id, repo_type="dataset", private=private, exist_ok=True)
                plan.head = str(api.dataset_info(plan.repo_id).sha)
        operations: list[CommitOperation] = [
            *(CommitOperationAdd(file, str(folder / file)) for file in plan.files),
            *(CommitOperationDelete(file) for file in plan.removed),
        ]
        title = f"{plan.benchmark.title} {plan.tag} ({plan.sha256[:12]})"
        sha = commit(api, plan.repo_id, operations, title=title, parent_commit=plan.head)
    with hub_errors(f"{plan.repo_id} tag {plan.tag}"):
        api.create_tag(plan.repo_id, tag=plan.tag, revision=sha, repo_type="dataset", exist_ok=True)
    if _remote_sha256(plan.repo_id, plan.tag) != plan.sha256:
        raise InputError(
            f"{plan.repo_id}@{plan.tag}: does not contain the pushed rows; delete the tag and push again"
        )
    return sha


def diff_rows(
    old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]
) -> Iterator[Change]:
    """Yield the changes from `old` to `new` by instance id and column."""
    before, after = ({str(row["instance_id"]): row for row in rows} for rows in (old, new))
    for name in sorted(before.keys() | after.keys()):
        if name not in before or name not in after:
            yield Change(name, "", "added" if name in after else "removed")
            continue
        for column in dict.fromkeys([*before[name], *after[name]]):
            left, right = before[name].get(column), after[name].get(column)
            if left == right or column in _DERIVED:
                continue
            if isinstance(left, int | str) and "\n" not in f"{left}{right}":
                yield Change(name, column, f"{left!r} -> {right!r}")
            else:
                yield Change(name, column, "changed")


def _remote_rows(repo_id: str, revision: str | None) -> list[DatasetRow]:
    """Load the rows of all configurations."""
    rows = []
    for config in CONFIGS:
        with contextlib.suppress(NoConfigError):
            rows += load_rows(f"{repo_id}@{revision}", config)
    return rows


def _remote_sha256(repo_id: str, revision: str) -> str:
    return dataset_sha256(_remote_rows(repo_id, revision))


def _numbers(tag: str) -> list[int]:
    """Return the numbers of a version's tag, v1.2.3."""
    return [int(part) for part in tag.removeprefix("v").split(".")]
