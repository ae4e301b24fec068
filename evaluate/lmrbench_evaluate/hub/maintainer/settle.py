"""Settle a verification: publish the repeated run, comment on the pull request and close it, each exactly once.

A stranger's branch is never merged: its author can push to it at any time. Main gets one commit with files made here,
based on the state of main that was checked. An interrupted verification is resumed from the record on main.
"""

import contextlib
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.hub_client import BACKOFF_S, additions, commit_once, write_once
from lmrbench_data.base.hub_session import ConflictError, LostAnswerError, hub_errors
from lmrbench_data.base.paths import cards_folder
from lmrbench_data.dataset.rows import DatasetRow

from ...runs.provenance import benchmark_title
from ..layout import belongs, list_files
from ..records import read_records
from ..submitted_rows import row_name
from .claim import Claim
from .publication import make_publication

if TYPE_CHECKING:
    from huggingface_hub import HfApi

Record = Mapping[str, Any]
#: Largest number of listed lines in a comment on the Hub.
MAX_LINES = 50


def earlier_record(api: "HfApi", repo_id: str, number: int) -> Record | None:
    """Return the record of a pull request's earlier verification, even if it has new commits; None without one.

    Raises:
        InputError, LostAnswerError: see `lmrbench_data.base.hub_session.hub_errors`.
    """
    records = read_records(api, repo_id, "main").values()
    return next((record for record in records if record.get("pull_request") == number), None)


def accept(api: "HfApi", claim: Claim, run: Path, instances: Mapping[str, DatasetRow]) -> tuple[Record, str]:
    """Publish the repeated run in one commit to main, then close the pull request with a link to it.

    Returns:
        The record, and the address of the commit.

    Raises:
        ConflictError: main changes faster than it can be read.
        InputError, LostAnswerError: see `lmrbench_data.base.hub_session.hub_errors`.
    """
    with hub_errors(claim.where):
        user = api.whoami()["name"]
    models = sorted({str(row["model_name_or_path"]) for row in claim.rows})
    publication = make_publication(claim, run, instances, user, [name for name in models if _is_repo(api, name)])
    card = (cards_folder() / "results_card.md").read_text(encoding="utf-8")
    name = benchmark_title(next(iter(instances.values()))["canary"])
    _publish(api, claim, publication.files, card.replace("{{ benchmark }}", name).encode())
    return publication.record, close(api, claim.repo_id, publication.record)


def _is_repo(api: "HfApi", model: str) -> bool:
    """Return whether a model's name is a public repository, so that the leaderboard may link to it.

    If the Hub does not answer, the result is False: a missing link must not stop a verification.
    """
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", model, re.ASCII):
        return False
    with contextlib.suppress(LostAnswerError, InputError), hub_errors(model):
        return bool(api.repo_exists(model, repo_type="model", token=False))
    return False


def _publish(api: "HfApi", claim: Claim, files: Mapping[str, bytes], card: bytes) -> None:
    """Add files to main exactly once, even if others commit meanwhile; add the card if there is none."""
    for wait in (*BACKOFF_S, None):
        with hub_errors(claim.where):
            head = str(api.dataset_info(claim.repo_id, revision="main").sha)
            there = list_files(api, claim.repo_id, head)
        if taken := [name for name in there if belongs(name, claim.run_id)]:
            record = read_records(api, claim.repo_id, head).get(claim.run_id, {})
            if record.get("pull_request") == claim.pull_request:
                return  # a reply was lost, or another maintainer was faster
            raise InputError(f"{claim.where}: main has {min(taken)} already; ask for a run with another name")
        added = dict(files)
        if "README.md" not in there:
            added["README.md"] = card
        title = f"{_mark(claim.run_id, claim.pull_request)}{claim.sha[:12]}]"
        try:
            commit_once(api, claim.repo_id, partial(additions, added), title=title, parent_commit=head)
            return
        except ConflictError:  # somebody else was faster: read main again
            if wait is None:
                raise
            time.sleep(wait)


def _mark(run_id: str, number: int) -> str:
    """Return the start of the title of the commit that publishes a run."""
    return f"Verified {run_id} [PR {number} at "


def close(api: "HfApi", repo_id: str, record: Record) -> str:
    """Comment on the pull request of a published run where its results are, and close it.

    Returns:
        The address of the commit.

    Raises:
        InputError, LostAnswerError: see `lmrbench_data.base.hub_session.hub_errors`.
    """
    number = record["pull_request"]
    with hub_errors(f"{repo_id} PR {number}"):
        commits = api.list_repo_commits(repo_id, repo_type="dataset")
    mark = _mark(record["run_id"], number)
    sha = next((commit.commit_id for commit in commits if commit.title.startswith(mark)), "main")
    url = f"{api.endpoint}/datasets/{repo_id}/commit/{sha}"
    lines = [
        f"`lmrbench verify` repeated this run; its own results are on main: {url}",
        "",
        f"The submission was read at {record['submission'][:12]}; later commits do not count. "
        f"{record['agreed']} of {record['rows']} verdicts equal the claimed ones, also on {len(record['fresh_seeds'])} "
        "secret seeds, which the record now names. This pull request is closed without a merge.",
    ]
    if memorised := record["memorised"]:
        said = "they pass on the published seeds and not on secret ones, so they do not count at that level."
        lines += ["", f"{len(memorised)} memorised: {said}"]
        lines += ["", *_block(map(_memorised_line, memorised), len(memorised))]
    if differing := record.get("differing", []):
        lines += [
            "",
            f"{len(differing)} differ from the claims on secret seeds; the verdicts of this run count:",
        ]
        lines += ["", *_block(map(_differing_line, differing), len(differing))]
    records = read_records(api, repo_id, "main")
    _say_once(api, repo_id, number, "\n".join(lines), records, close=True)
    return url


def reject(api: "HfApi", claim: Claim, found: Sequence[str]) -> None:
    """Comment on the pull request where the verdicts differ; it stays open.

    Raises:
        InputError, LostAnswerError: see `lmrbench_data.base.hub_session.hub_errors`.
    """
    first = f"`lmrbench verify` found differences at {claim.sha[:12]}:"
    text = "\n".join([first, "", *_block(found, len(found))])
    _say_once(api, claim.repo_id, claim.pull_request, text, read_records(api, claim.repo_id, "main"))


def _memorised_line(row: Mapping[str, Any]) -> str:
    return f"{row_name(row)}: {'core cases' if row['core'] else 'cases of the contract'}"


def _differing_line(row: Mapping[str, Any]) -> str:
    claims = {name: f"claimed_{name}" for name in ("status", "core_status")}
    wrong = [f"{name} {row[claim]}, is {row[name]}" for name, claim in claims.items() if row[name] != row[claim]]
    return f"{row_name(row)}: claimed {'; '.join(wrong)}"


def _block(lines: Iterable[str], total: int) -> list[str]:
    """Return lines as a code block, where nothing is markup."""
    block = [f"    {line}" for line in list(lines)[:MAX_LINES]]
    return [*block, "", f"{total - MAX_LINES} more."] if total > MAX_LINES else block


def _say_once(
    api: "HfApi", repo_id: str, number: int, text: str, records: Mapping[str, Record], *, close: bool = False
) -> None:
    """Comment on a pull request and close it, each once: the comment is recognised by its first line.

    Args:
        records: those on main, which name the maintainers; comments of others are ignored.
    """
    first, what = text.partition("\n")[0], f"{repo_id} PR {number}"
    place: Any = {"repo_id": repo_id, "discussion_num": number, "repo_type": "dataset"}
    with hub_errors(what):
        maintainers = {api.whoami()["name"], *(record.get("verified_by") for record in records.values())}

    def look() -> tuple[bool, bool]:
        """Return whether the comment exists, and whether the pull request is closed."""
        with hub_errors(what):
            details = api.get_discussion_details(**place)
        ours = [event for event in details.events if event.author in maintainers]
        said = any(str(getattr(event, "content", "")).startswith(first) for event in ours)
        return said, details.status != "open"

    def act() -> bool:
        said, closed = look()
        with hub_errors(what):
            if close and not closed:
                api.change_discussion_status(**place, new_status="closed", comment=None if said else text)
            elif not said:
                api.comment_discussion(**place, comment=text)
        return True

    def done() -> bool | None:
        said, closed = look()
        return True if said and (closed or not close) else None

    write_once(act, done)
