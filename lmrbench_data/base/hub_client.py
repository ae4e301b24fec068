"""Write to the Hub: commits, tags and repositories made exactly once.

The Hub's client retries uploads but not commits, tags or new repositories. After a lost response to one of those, this
module checks whether the write arrived before it tries again, so a retry never duplicates it.
"""

import itertools
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from .errors import InputError
from .hub_session import LostAnswerError, hub_errors

if TYPE_CHECKING:
    from huggingface_hub import CommitOperation, HfApi

T = TypeVar("T")
#: Seconds before each further attempt; tests set the variable.
_SCALE = float(os.environ.get("LMRBENCH_BACKOFF_SCALE", "1"))
BACKOFF_S = (1.0 * _SCALE, 3.0 * _SCALE, 9.0 * _SCALE)
#: Longest wait that a Retry-After header can ask for.
MAX_WAIT_S = 60.0
#: Number of recent commits searched for one whose response was lost.
LOOK_BACK = 50


@dataclass(frozen=True)
class Committed:
    """A commit or pull request on the Hub."""

    sha: str
    url: str
    pull_request: int | None = None
    existed: bool = False
    """Whether an earlier attempt made it."""


def write_once(act: Callable[[], T], happened: Callable[[], T | None]) -> T:
    """Write exactly once: after a lost response, try again only if `happened` finds nothing.

    Args:
        act: writes.
        happened: returns the result of an earlier attempt, or None.

    Raises:
        LostAnswerError: every attempt failed, or the outcome of one is unknown.
        LMRBenchError: any other error of `act`.
    """
    lost: LostAnswerError | None = None
    is_known = True
    for wait in (*BACKOFF_S, None):
        if is_known:
            try:
                return act()
            except LostAnswerError as error:
                lost = error
        assert lost is not None
        time.sleep(min(lost.retry_after_s or wait or 0.0, MAX_WAIT_S))
        try:
            found = happened()
        except LostAnswerError:
            is_known = False
        else:
            if found is not None:
                return found
            is_known = True
    assert lost is not None
    if is_known:
        raise lost
    raise LostAnswerError(f"{lost}; the write may have arrived; re-run the command, which checks first")


def check_rights(api: "HfApi", repo_id: str, *, write: bool) -> str:
    """Check the token's rights before any work is done; return the user's name.

    Args:
        write: to commit to the repository; to open a pull request, the `write` role is enough.

    Raises:
        InputError: the rights are missing.
        LostAnswerError: see `hub_errors`.
    """
    with hub_errors("the Hub"):
        user = api.whoami()
    needed = f"{repo_id}: not allowed; the token needs the `write` role for this repository"
    # The rights of a fine-grained token show only in use.
    if user.get("auth", {}).get("accessToken", {}).get("role") == "read":
        raise InputError(f"{needed} (it may only read)")
    roles = {org["name"]: org.get("roleInOrg") for org in user.get("orgs", ())}
    namespace = repo_id.partition("/")[0]
    if write and namespace != user["name"] and roles.get(namespace, "read") == "read":
        raise InputError(f"{needed} ({user['name']} may not write in {namespace})")
    return str(user["name"])


def commit_once(
    api: "HfApi",
    repo_id: str,
    operations: Callable[[], Sequence["CommitOperation"]],
    *,
    title: str,
    description: str = "",
    parent_commit: str | None = None,
    revision: str | None = None,
    create_pr: bool = False,
    repo_type: str = "dataset",
) -> Committed:
    """Commit to main or another branch, or open a pull request, exactly once.

    Args:
        operations: makes new ones for each attempt, because the client marks them as used.
        title: title of the commit or pull request. It must be unique, for example by a hash of the content: it
            identifies the commit after a lost response, and a pull request before it is opened.
        parent_commit: expected head of the branch.
        revision: branch; main by default.

    Raises:
        ConflictError: the head of the branch is not `parent_commit`.
        InputError, LostAnswerError: see `hub_errors`.
    """

    def act() -> Committed:
        with hub_errors(repo_id):
            info = api.create_commit(
                repo_id,
                operations(),
                commit_message=title,
                commit_description=description,
                parent_commit=parent_commit,
                revision=revision,
                create_pr=create_pr,
                repo_type=repo_type,
            )
        return Committed(info.oid, info.pr_url or info.commit_url, int(info.pr_num) if info.pr_num else None)

    def find() -> Committed | None:
        if create_pr:
            return find_pull_request(api, repo_id, title, repo_type)
        with hub_errors(repo_id):
            commits = api.list_repo_commits(repo_id, repo_type=repo_type, revision=revision)[:LOOK_BACK]
        newer = itertools.takewhile(lambda commit: commit.commit_id != parent_commit, commits)
        sha = next((commit.commit_id for commit in newer if commit.title == title), None)
        return Committed(sha, f"{api.endpoint}/{repo_type}s/{repo_id}/commit/{sha}", existed=True) if sha else None

    if create_pr and (found := find()):
        return found
    return write_once(act, find)


def additions(files: Mapping[str, bytes]) -> "list[CommitOperation]":
    """Return the operations that add or replace files, for one attempt to commit."""
    from huggingface_hub import CommitOperationAdd

    return [CommitOperationAdd(name, content) for name, content in sorted(files.items())]


def find_pull_request(api: "HfApi", repo_id: str, title: str, repo_type: str = "dataset") -> Committed | None:
    """Return this user's open or merged pull request with that title; None if there is none.

    Raises:
        InputError, LostAnswerError: see `hub_errors`.
    """
    with hub_errors(repo_id):
        author = api.whoami()["name"]
        for item in api.get_repo_discussions(repo_id, repo_type=repo_type, discussion_type="pull_request"):
            if (item.title, item.author) == (title, author) and item.status in ("open", "draft", "merged"):
                sha = api.dataset_info(repo_id, revision=item.git_reference).sha if repo_type == "dataset" else ""
                return Committed(sha or "", item.url, item.num, existed=True)
    return None


def ensure_repo(api: "HfApi", repo_id: str, *, private: bool = False, repo_type: str = "dataset") -> bool:
    """Create a repository unless it exists; return whether this call created it.

    Raises:
        InputError, LostAnswerError: see `hub_errors`.
    """

    def exists() -> bool:
        with hub_errors(repo_id):
            return bool(api.repo_exists(repo_id, repo_type=repo_type))

    def act() -> bool:
        with hub_errors(repo_id):
            api.create_repo(repo_id, repo_type=repo_type, private=private, exist_ok=True)
        return True

    return False if exists() else write_once(act, lambda: exists() or None)


def tag_once(api: "HfApi", repo_id: str, tag: str, sha: str, *, repo_type: str = "dataset") -> None:
    """Tag a commit, unless the tag is already there.

    Raises:
        InputError: the tag names another commit.
        LostAnswerError: see `hub_errors`.
    """

    def act() -> bool:
        if is_placed():
            return True
        with hub_errors(f"{repo_id} tag {tag}"):
            api.create_tag(repo_id, tag=tag, revision=sha, repo_type=repo_type, exist_ok=False)
        return True

    def is_placed() -> bool | None:
        found = tags(api, repo_id, repo_type).get(tag)
        if found not in (None, sha):
            raise InputError(f"{repo_id}: tag {tag} names another commit ({found[:12]}); a tag never moves")
        return True if found else None

    write_once(act, is_placed)


def tags(api: "HfApi", repo_id: str, repo_type: str = "dataset") -> dict[str, str]:
    """Return the tags of a repository: tag → commit.

    Raises:
        InputError, LostAnswerError: see `hub_errors`.
    """
    with hub_errors(repo_id):
        return {ref.name: ref.target_commit for ref in api.list_repo_refs(repo_id, repo_type=repo_type).tags}
