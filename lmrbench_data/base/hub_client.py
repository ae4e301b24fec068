"""Talk to the Hub: one-line errors, and writes that are safe to repeat.

A response may be lost although the write arrived. A repeated command then finds its pull request by
the title, and the client does not commit files that are there already.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..loader import hub_timeout
from .errors import InfraError, InputError
from .text import error_line

if TYPE_CHECKING:
    from huggingface_hub import CommitOperation, HfApi

_NOT_ALLOWED = "not allowed; the token needs the `write` role for this repository"


class ConflictError(InputError):
    """Somebody else changed the repository after it was read."""


def open_hub() -> "HfApi":
    """Return the Hub's client as the environment configures it (HF_ENDPOINT, HF_TOKEN, login).

    Raises:
        InputError, InfraError: see `hub_errors`; also if the Hub does not answer at once.
    """
    from huggingface_hub import HfApi, get_session
    from huggingface_hub.utils.tqdm import disable_progress_bars

    disable_progress_bars()
    api = HfApi(library_name="lmrbench")
    with hub_errors(api.endpoint):
        get_session().head(api.endpoint, timeout=hub_timeout()).close()
    return api


@contextlib.contextmanager
def hub_errors(what: str) -> Iterator[None]:
    """Turn the client's exceptions into one-line errors that start with `what`.

    Raises:
        ConflictError: 409 or 412, somebody else was faster.
        InfraError: network failure, server error or rate limit.
        InputError: token, rights or names are wrong.
    """
    from huggingface_hub import errors

    # A dropped connection raises the HTTP library's own error.
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
    except (http_error, OSError, RuntimeError) as error:  # uploads and Xet raise RuntimeError
        if isinstance(error.__cause__, errors.HfHubHTTPError):
            raise _explain(what, error.__cause__) from error
        reason = f"{type(error).__name__}: {error_line(error)}"
        raise InfraError(
            f"{what}: the Hub does not answer ({reason}); run the command again"
        ) from error


def _explain(what: str, error: Any) -> Exception:
    from huggingface_hub import errors

    status = error.response.status_code if error.response is not None else 0
    message = error.server_message or error_line(error)
    if isinstance(error, errors.GatedRepoError):
        return InputError(
            f"{what}: gated ({message}); run `hf auth login`, and ask for access on its page"
        )
    if status == 401:
        # The Hub also answers 401 for a missing repository, unless the token may see it.
        reason = "no such repository, or the token is missing or expired"
        return InputError(f"{what}: {reason} ({message}); run `hf auth login`")
    if isinstance(error, errors.DisabledRepoError):
        return InputError(f"{what}: disabled ({message})")
    for kind, reason in (
        (errors.RepositoryNotFoundError, "no such repository, or this token may not see it"),
        (errors.RevisionNotFoundError, "no such revision"),
        (errors.EntryNotFoundError, "no such file"),
    ):
        if isinstance(error, kind):
            return InputError(f"{what}: {reason}")
    if status == 403:
        return InputError(f"{what}: {_NOT_ALLOWED} ({message})")
    if status in (409, 412):
        return ConflictError(
            f"{what}: the repository has changed in the meantime ({message}); try again"
        )
    if status == 429 or status >= 500:
        reason = "too many requests" if status == 429 else f"the Hub failed with {status}"
        return InfraError(f"{what}: {reason}; try again later")
    return InputError(f"{what}: refused with {status} ({message})")


def check_rights(api: "HfApi", repo_id: str, *, write: bool) -> str:
    """Check the token's rights before any work is done; return the user's name.

    Args:
        write: to commit to the repository; to open a pull request, the `write` role is enough.

    Raises:
        InputError, InfraError: the rights are missing; or see `hub_errors`.
    """
    with hub_errors("the Hub"):
        user = api.whoami()
    # The rights of a fine-grained token show only in use.
    if user.get("auth", {}).get("accessToken", {}).get("role") == "read":
        raise InputError(f"{repo_id}: {_NOT_ALLOWED} (it may only read)")
    roles = {org["name"]: org.get("roleInOrg") for org in user.get("orgs", ())}
    namespace = repo_id.partition("/")[0]
    if write and namespace != user["name"] and roles.get(namespace, "read") == "read":
        problem = f"{user['name']} may not write in {namespace}"
        raise InputError(f"{repo_id}: {_NOT_ALLOWED} ({problem})")
    return str(user["name"])


def commit(
    api: "HfApi",
    repo_id: str,
    operations: "Sequence[CommitOperation]",
    *,
    title: str,
    parent_commit: str,
) -> str:
    """Commit to main of a dataset repository if its head is `parent_commit`; return the commit."""
    with hub_errors(repo_id):
        info = api.create_commit(
            repo_id,
            operations,
            commit_message=title,
            parent_commit=parent_commit,
            repo_type="dataset",
        )
    return str(info.oid)


def open_pull_request(
    api: "HfApi",
    repo_id: str,
    files: Mapping[str, bytes],
    *,
    title: str,
    older: str,
    description: str,
) -> tuple[str, bool]:
    """Open a pull request that adds files to a dataset repository, or find the open one by title.

    Args:
        title: unique, for example by a hash of the content.
        older: a part of the title of pull requests with an older state of the files, which has to
            be closed first.

    Returns:
        Its address, and whether it was open already.
    """
    with hub_errors(repo_id):
        place: Any = {
            "repo_type": "dataset",
            "discussion_type": "pull_request",
            "discussion_status": "open",
        }
        opened = list(api.get_repo_discussions(repo_id, author=api.whoami()["name"], **place))
    for item in opened:
        if item.title == title:
            return item.url, True
        if older in item.title:
            raise InputError(
                f"{repo_id}: PR {item.num} has an older state of the same files; close it first"
            )
    with hub_errors(repo_id):
        info = api.create_commit(
            repo_id,
            additions(files),
            commit_message=title,
            commit_description=description,
            create_pr=True,
            repo_type="dataset",
        )
    return str(info.pr_url), False


def additions(files: Mapping[str, bytes]) -> "list[CommitOperation]":
    """Return the operations that add or replace files."""
    from huggingface_hub import CommitOperationAdd

    return [CommitOperationAdd(name, content) for name, content in sorted(files.items())]


def tags(api: "HfApi", repo_id: str) -> dict[str, str]:
    """Return the tags of a dataset repository: tag → commit."""
    with hub_errors(repo_id):
        return {
            ref.name: ref.target_commit
            for ref in api.list_repo_refs(repo_id, repo_type="dataset").tags
        }
