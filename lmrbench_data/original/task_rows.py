"""Rows of the original's tasks for judging: the files and instruction a model was given, and the published reference.

They have no cases, so that tests cannot run on them. The clone has no text of the papers: the rows have the texts of
our own instances on the same papers.
"""

import functools
import hashlib
import re
from collections.abc import Mapping, Sequence

from ..base.archive import gzip_bytes, pack
from ..base.problems import Problem
from ..dataset.load import load_rows
from ..dataset.rows import DatasetRow
from ..loader import File, archive_sha256, row_sha256
from .catalogue import text_of
from .clone import Clone, UnreadableFile, clone_warning
from .goals import Goal, shown_files


@functools.cache
def own_rows() -> tuple[DatasetRow, ...]:
    """Return the rows of our own dataset, as installed."""
    return tuple(load_rows("embedded"))


def build_rows(clone: Clone, goals: Sequence[Goal], version: str, problems: list[Problem]) -> list[DatasetRow]:
    """The rows of all functions whose goal file and reference the clone has, sorted by instance id.

    Args:
        version: of the dataset.
    """
    ours = {row["instance_id"]: row for row in own_rows()}
    repositories: dict[str, Mapping[str, File] | None] = {}
    rows = []
    for goal in goals:
        if goal.info.subject not in repositories:
            repositories[goal.info.subject] = _repository(clone, goal, problems)
        files = repositories[goal.info.subject]
        if files is not None and goal.path in files and goal.golden is not None:
            rows.append(_row(goal, files, ours.get(goal.function.instance_id), version))
    return sorted(rows, key=lambda row: row["instance_id"])


def _repository(clone: Clone, goal: Goal, problems: list[Problem]) -> Mapping[str, File] | None:
    try:
        return shown_files(clone, goal.info)
    except UnreadableFile as error:
        message = f"{error}: answers to its tasks cannot be judged"
        problems.append(clone_warning(goal.info.subject, clone.place(goal.info.folder), message))
        return None


def _row(goal: Goal, files: Mapping[str, File], ours: DatasetRow | None, version: str) -> DatasetRow:
    assert goal.golden is not None
    facts, archive, nothing = goal.info.facts, pack(files), gzip_bytes(b"")
    url = text_of(facts, "paper_url") or text_of(facts, "paper_link")
    arxiv = re.search(r"arxiv\.org/\w+/(\d{4}\.\d{4,5})", url)
    year = facts.get("year")
    row: DatasetRow = {
        "instance_id": goal.function.instance_id,
        "category": goal.function.category,
        "paper_title": text_of(facts, "paper_title") or text_of(facts, "paper_name") or goal.info.name,
        "paper_url": url or goal.info.subject,
        "arxiv_id": arxiv[1] if arxiv else ours["arxiv_id"] if ours else "",
        "venue": text_of(facts, "paper_venue"),
        "year": int(year) if isinstance(year, int) or (isinstance(year, str) and year.isdecimal()) else 0,
        "upstream_repo": text_of(facts, "repo_url"),
        "instruction": goal.instruction,
        "contract": "",
        "paper_text": ours["paper_text"] if ours else "",
        "repo_name": goal.repo,
        "repo_archive": archive,
        "repo_sha256": archive_sha256(archive),
        "goal_file": goal.path,
        "goal_function": goal.name,
        "class_name": goal.name.rpartition(".")[0],
        "context_files": [],
        "evidence": [],
        "golden_file": goal.golden,
        "tests_archive": pack({}),
        "expected": nothing,
        "recording": {"sha256": hashlib.sha256(nothing).hexdigest(), "image": "", "sandbox": "", "cpu": ""},
        "tests": {"seeds": [], "timeout_s": 0, "memory_mb": 0, "cases": []},
        "test_protocol": "cases",
        "docker_image": "",
        "benchmark_version": version,
        "license": "unknown",
        "canary": "",
        "row_sha256": "",
    }
    return {**row, "row_sha256": row_sha256(row)}
