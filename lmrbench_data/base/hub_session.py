"""Open the Hub's client, which has to answer soon, and turn its exceptions into one-line errors."""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..loader import reach_hub
from .errors import InfraError, InputError
from .retry_after import retry_after_s
from .text import error_line

if TYPE_CHECKING:
    from huggingface_hub import HfApi


class ConflictError(InputError):
    """Somebody else changed the repository after it was read."""


class LostAnswerError(InfraError):
    """The connection broke or the server failed, and the write may have arrived."""

    retry_after_s: float | None = None


def open_hub(token: str | None = None) -> "HfApi":
    """Return the Hub's client, configured by the user's environment (HF_ENDPOINT, HF_TOKEN, `hf auth login`).

    Raises:
        InputError, LostAnswerError: see `hub_errors`; the Hub has to answer soon (`loader.reach_hub`).
    """
    from huggingface_hub import HfApi
    from huggingface_hub.utils.tqdm import disable_progress_bars

    disable_progress_bars()
    api = HfApi(token=token, library_name="lmrbench")
    with hub_errors(api.endpoint):
        reach_hub()
    return api


@contextlib.contextmanager
def hub_errors(what: str) -> Iterator[None]:
    """Turn the client's exceptions into one-line errors that start with `what`.

    Raises:
        ConflictError: 409 or 412, somebody else was faster.
        LostAnswerError: network failure, server error or rate limit.
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
    except (http_error, OSError) as error:
        reason = f"{type(error).__name__}: {error_line(error)}"
        raise LostAnswerError(f"{what}: the Hub does not answer ({reason})") from error


def _explain(what: str, error: Any) -> Exception:
    from huggingface_hub import errors

    status = error.response.status_code if error.response is not None else 0
    said = error.server_message or error_line(error)
    if status == 401:
        # The Hub also answers 401 for a missing repository, unless the token may see it.
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
        return ConflictError(f"{what}: the repository has changed in the meantime ({said}); try again")
    if status == 429 or status >= 500:
        reason = "too many requests" if status == 429 else f"the Hub failed with {status}"
        lost = LostAnswerError(f"{what}: {reason}; try again later")
        lost.retry_after_s = retry_after_s(error.response.headers.get("Retry-After", ""))
        return lost
    return InputError(f"{what}: refused with {status} ({said})")
