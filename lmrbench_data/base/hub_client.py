"""Write to the Hub: errors in one line, and commits that happen once even if the answer to them is lost.

The client retries uploads by itself but not commits, tags or new repositories. Where the answer to one of those is
lost, this module looks whether it has happened before it tries again, so that a retry never makes a second one.
"""

import contextlib
import datetime
import email.utils
import itertools
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import InfraError, InputError
from .text import error_line

if TYPE_CHECKING:
    from huggingface_hub import CommitOperation, HfApi

T = TypeVar("T")
#: Seconds before each further attempt. The variable is for tests, which meet every fault.
_SCALE = float(os.environ.get("LMRBENCH_BACKOFF_SCALE", "1"))
BACKOFF_S = (1.0 * _SCALE, 3.0 * _SCALE, 9.0 * _SCALE)
#: The longest Retry-After that is waited for.
MAX_WAIT_S = 60.0
#: So many of the newest commits are looked through for one whose answer was lost.
LOOK_BACK = 50


class ConflictError(InputError):
    """Somebody else has changed the repository since it was read: read it again."""


class LostAnswerError(InfraError):
    """The connection broke or the server failed: what was asked for may have happened or not."""

    retry_after_s: float | None = None


@dataclass(frozen=True)
class Committed:
    """A commit or pull request on the Hub."""

    sha: str
    url: str
    pull_request: int | None = None
    existed: bool = False
    """It was there before: from an earlier attempt."""


def open_hub(token: str | None = None) -> "HfApi":
    """The Hub's client, as the user's environment sets it up (HF_ENDPOINT, HF_TOKEN, `hf auth login`)."""
    from huggingface_hub import HfApi
    from huggingface_hub.utils.tqdm import disable_progress_bars

    disable_progress_bars()
    return HfApi(token=token, library_name="lmrbench")


@contextlib.contextmanager
def hub_errors(what: str) -> Iterator[None]:
    """Turn whatever the client raises into one line that starts with `what`.

    Raises:
        ConflictError: 409 or 412, somebody else was faster.
        LostAnswerError: the network, a server error or a rate limit.
        InputError: everything that the user has to fix: token, rights, names.
    """
    from huggingface_hub import errors

    # What a dropped connection raises is the HTTP library's own error.
    http_error: type[Exception] = getattr(errors, "HTTPError", errors.HfHubHTTPError)
    try:
        yield
    except errors.HfHubHTTPError as error:
        raise _explain(what, error) from error
    except errors.LocalTokenNotFoundError as error:
        raise InputError(f"{what}: no token; run `hf auth login` or set HF_TOKEN") from error
    except errors.OfflineModeIsEnabled as error:
        raise InputError(f"{what}: HF_HUB_OFFLINE is set; unset it") from error
    except errors.HFValidationError as error:
        raise InputError(f"{what}: {error_line(error)}") from error
    except (http_error, OSError) as error:
        raise LostAnswerError(
            f"{what}: the Hub does not answer ({type(error).__name__}: {error_line(error)})"
        ) from error


def _explain(what: str, error: Any) -> Exception:
    from huggingface_hub import errors

    status = error.response.status_code if error.response is not None else 0
    said = error.server_message or error_line(error)
    if status == 401:
        # To a missing repository the Hub answers 401, too, unless the token may see it.
        return InputError(f"{what}: no such repository, or the token is missing or expired; run `hf auth login`")
    if isinstance(error, errors.RepositoryNotFoundError):
        return InputError(f"{what}: no such repository, or this token may not see it")
    if isinstance(error, errors.RevisionNotFoundError):
        return InputError(f"{what}: no such revision")
    if isinstance(error, errors.EntryNotFoundError):
        return InputError(f"{what}: no such file")
    if status == 403:
        return InputError(f"{what}: not allowed; the token needs the `write` role for this repository ({said})")
    if status in (409, 412):
        return ConflictError(f"{what}: the repository has changed meanwhile ({said}); try again")
    if status == 429 or status >= 500:
        reason = "too many requests" if status == 429 else f"the Hub failed with {status}"
        lost = LostAnswerError(f"{what}: {reason}; try again later")
        lost.retry_after_s = retry_after_s(error.response.headers.get("Retry-After", ""))
        return lost
    return InputError(f"{what}: refused with {status} ({said})")


def retry_after_s(header: str) -> float | None:
    """Seconds to wait as `Retry-After` says, a number or a date; None for anything that is no time to come."""
    try:
        seconds = float(header)
    except ValueError:
        try:
            date = email.utils.parsedate_to_datetime(header)
            # A date without a zone is in UTC, as HTTP has it.
            seconds = (date if date.tzinfo else date.replace(tzinfo=datetime.UTC)).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return seconds if math.isfinite(seconds) and seconds > 0 else None


def persist(act: Callable[[], T], happened: Callable[[], T | None]) -> T:
    """Do something once: after a lost answer look whether it `happened`, and try again only if it is known not to have.

    Raises:
        LostAnswerError: every attempt failed; or its outcome cannot be learned, and then it is left at that.
        LMRBenchError: whatever else `act` raises.
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
    raise LostAnswerError(
        f"{lost}; it may have happened all the same: the same command finds out before it tries again"
    )


def check_rights(api: "HfApi", repo_id: str, *, write: bool) -> str:
    """See that the token may do what is planned, before any work is done. Returns the user's name.

    Args:
        write: commit to the repository; otherwise open a pull request, which needs a token that may write, no more.

    Raises:
        InputError: it may not.
        LostAnswerError: see `hub_errors`.
    """
    with hub_errors("the Hub"):
        user = api.whoami()
    needed = f"{repo_id}: not allowed; the token needs the `write` role for this repository"
    # What a fine-grained token may do is only known when it does it.
    if user.get("auth", {}).get("accessToken", {}).get("role") == "read":
        raise InputError(f"{needed} (it may only read)")
    roles = {org["name"]: org.get("roleInOrg") for org in user.get("orgs", ())}
    namespace = repo_id.partition("/")[0]
    if (
        write
        and namespace != user["name"]
        and roles.get(namespace, "read" if namespace not in roles else None) == "read"
    ):
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
        operations: makes new ones for each attempt: the client marks them as used.
        title: of the commit or pull request. It must tell it from every other one, by a hash of its content, say:
            it is what is looked for after a lost answer, and before a pull request is opened.
        parent_commit: the commit of the branch that the changes are meant for.
        revision: the branch; main by default.

    Raises:
        ConflictError: the branch is not at `parent_commit` any more.
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
    return persist(act, find)


def additions(files: Mapping[str, bytes]) -> "list[CommitOperation]":
    """The operations that add or replace files, for one attempt to commit."""
    from huggingface_hub import CommitOperationAdd

    return [CommitOperationAdd(name, content) for name, content in sorted(files.items())]


def find_pull_request(api: "HfApi", repo_id: str, title: str, repo_type: str = "dataset") -> Committed | None:
    """This user's open or merged pull request of that title, if there is one.

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
    """Create a repository unless it is there; whether it was made now.

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

    return False if exists() else persist(act, lambda: exists() or None)


def tag_once(api: "HfApi", repo_id: str, tag: str, sha: str, *, repo_type: str = "dataset") -> None:
    """Give a commit a tag; one that names it already is fine, one that names another is refused.

    Raises:
        InputError: the tag names another commit.
        LostAnswerError: see `hub_errors`.
    """

    def act() -> bool:
        if placed():
            return True
        with hub_errors(f"{repo_id} tag {tag}"):
            api.create_tag(repo_id, tag=tag, revision=sha, repo_type=repo_type, exist_ok=False)
        return True

    def placed() -> bool | None:
        found = tags(api, repo_id, repo_type).get(tag)
        if found not in (None, sha):
            raise InputError(f"{repo_id}: tag {tag} names another commit ({found[:12]}); a tag never moves")
        return True if found else None

    persist(act, placed)


def tags(api: "HfApi", repo_id: str, repo_type: str = "dataset") -> dict[str, str]:
    """Tag → commit of a repository.

    Raises:
        InputError, LostAnswerError: see `hub_errors`.
    """
    with hub_errors(repo_id):
        return {ref.name: ref.target_commit for ref in api.list_repo_refs(repo_id, repo_type=repo_type).tags}
