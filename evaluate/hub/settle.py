"""Bring a verification to its end: publish the repeated run, comment on the pull request, close it; each exactly once.

A stranger's branch is never merged: its author can push to it at any time. What comes to main is one commit of this
side's own files, made upon the state of main that was looked at. A verification that was stopped in between is resumed:
the record on main says what is left to do.
"""

import contextlib
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ...hub import BACKOFF_S, Conflict, LostAnswer, additions, commit_once, hub_errors, persist
from ...paths import cards_folder
from ...rows import DatasetRow
from .claim import Claim, list_files
from .publication import belongs, make_publication
from .records import name_warnings, read_records
from .submission import row_name

if TYPE_CHECKING:
    from huggingface_hub import HfApi

Record = Mapping[str, Any]
#: Of a comment on the Hub.
MAX_LINES = 50


def find_published(api: "HfApi", repo_id: str, number: int) -> Record | None:
    """The record of an earlier verification of a pull request, whatever its author has pushed to it since.

    Raises:
        InputError, LostAnswer: see `lmrbench_data.hub.hub_errors`.
    """
    records = read_records(api, repo_id, "main").values()
    return next((record for record in records if record.get("pull_request") == number), None)


def accept(api: "HfApi", claim: Claim, run: Path, instances: Mapping[str, DatasetRow]) -> tuple[Record, str]:
    """Publish the repeated run in one commit to main, then close the pull request with a link to it.

    Returns:
        The record, and the address of the commit.

    Raises:
        Conflict: main changes faster than it can be read.
        InputError, LostAnswer: see `lmrbench_data.hub.hub_errors`.
    """
    with hub_errors(claim.where):
        user = api.whoami()["name"]
    models = sorted({str(row["model_name_or_path"]) for row in claim.rows})
    publication = make_publication(claim, run, instances, user, [name for name in models if _is_repo(api, name)])
    _publish(api, claim, publication.files)
    return publication.record, close(api, claim.repo_id, publication.record)


def _is_repo(api: "HfApi", model: str) -> bool:
    """Whether a model's name is that of a repository that everybody can see, so that the leaderboard may link to it.

    A link is not worth a verification: where the Hub does not say, there is none.
    """
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", model, re.ASCII):
        return False
    with contextlib.suppress(LostAnswer, InputError), hub_errors(model):
        return bool(api.repo_exists(model, repo_type="model", token=False))
    return False


def _publish(api: "HfApi", claim: Claim, files: Mapping[str, bytes]) -> None:
    """Add these files to main exactly once, whatever others commit meanwhile."""
    for wait in (*BACKOFF_S, None):
        with hub_errors(claim.where):
            head = str(api.dataset_info(claim.repo_id, revision="main").sha)
            there = list_files(api, claim.repo_id, head)
        if taken := [name for name in there if belongs(name, claim.run_id)]:
            record = read_records(api, claim.repo_id, head).get(claim.run_id, {})
            if record.get("pull_request") == claim.pull_request:
                return  # an answer was lost, or another maintainer was faster
            raise InputError(f"{claim.where}: main has {min(taken)} already; ask for a run of another name")
        added = dict(files)
        if "README.md" not in there:
            added["README.md"] = (cards_folder() / "results_card.md").read_bytes()
        title = f"{_mark(claim.run_id, claim.pull_request)}{claim.sha[:12]}]"
        try:
            commit_once(api, claim.repo_id, partial(additions, added), title=title, parent_commit=head)
            return
        except Conflict:  # somebody else was faster: look again
            if wait is None:
                raise
            time.sleep(wait)


def _mark(run_id: str, number: int) -> str:
    """How the title of the commit begins that publishes a run."""
    return f"Verified {run_id} [PR {number} at "


def close(api: "HfApi", repo_id: str, record: Record) -> str:
    """Say on the pull request of a published run where its results are, and close it.

    Returns:
        The address of the commit.

    Raises:
        InputError, LostAnswer: see `lmrbench_data.hub.hub_errors`.
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
        f"The submission was read at {record['submission'][:12]}; what was pushed later does not count. "
        f"{record['agreed']} of {record['rows']} verdicts are the claimed ones on {len(record['fresh_seeds'])} secret "
        "seeds as well, which the record now names. This pull request is closed and not merged.",
    ]
    if memorised := record["rows"] - record["agreed"]:
        said = "passed on the published seeds, not on secret ones. They do not count at that level."
        lines += ["", f"{memorised} memorised: {said}"]
        lines += ["", *_block(map(_memorised_line, record["memorised"]), memorised)]
    others = {name: item for name, item in read_records(api, repo_id, "main").items() if name != record["run_id"]}
    if warnings := name_warnings(record["models"], record["submitted_by"], others):
        lines += ["", "Names that can be taken for another submitter's:", "", *_block(warnings, len(warnings))]
    _say_once(api, repo_id, number, "\n".join(lines), close=True)
    return url


def reject(api: "HfApi", claim: Claim, found: Sequence[str]) -> None:
    """Say on the pull request where the verdicts differ; it stays open.

    Raises:
        InputError, LostAnswer: see `lmrbench_data.hub.hub_errors`.
    """
    first = f"`lmrbench verify` came to other verdicts at {claim.sha[:12]}:"
    _say_once(api, claim.repo_id, claim.pull_request, "\n".join([first, "", *_block(found, len(found))]))


def _memorised_line(row: Mapping[str, Any]) -> str:
    return f"{row_name(row)}: {'core cases' if row['core'] else 'cases of the contract'}"


def _block(lines: Iterable[str], total: int) -> list[str]:
    """Lines in which nothing is markup."""
    block = [f"    {line}" for line in list(lines)[:MAX_LINES]]
    return [*block, "", f"{total - MAX_LINES} more."] if total > MAX_LINES else block


def _say_once(api: "HfApi", repo_id: str, number: int, text: str, *, close: bool = False) -> None:
    """Comment on a pull request, known by the comment's first line, and close it; a lost answer doubles neither."""
    first, what = text.partition("\n")[0], f"{repo_id} PR {number}"
    place: Any = {"repo_id": repo_id, "discussion_num": number, "repo_type": "dataset"}
    with hub_errors(what):
        user = api.whoami()["name"]

    def look() -> tuple[bool, bool]:
        """Whether it is said, and whether the pull request is closed."""
        with hub_errors(what):
            details = api.get_discussion_details(**place)
        said = [event for event in details.events if str(getattr(event, "content", "")).startswith(first)]
        # By whatever maintainer; a submitter who writes the same line keeps nobody from saying it.
        by_us = any(event.author == user or event.author != details.author for event in said)
        return by_us, details.status != "open"

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

    persist(act, done)
