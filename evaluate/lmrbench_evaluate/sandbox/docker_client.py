"""Connect to the Docker engine, and turn the errors of its client into one line."""

import contextlib
import re
from collections.abc import Iterator
from typing import Any

from lmrbench_data.base.errors import InfraError

#: Timeout of one request. A daemon that is gone refuses at once; one on a busy machine takes its time.
API_TIMEOUT_S = 180


def connect(timeout_s: int = API_TIMEOUT_S) -> Any:
    """Return a low-level client of the daemon that the environment names.

    Args:
        timeout_s: limit of each request, including this first one.

    Raises:
        InfraError: no daemon answers.
    """
    import docker
    from docker.utils import kwargs_from_env

    with engine_errors("no Docker daemon answers (start one, or set DOCKER_HOST)"):
        # Asking for the version is the ping.
        return docker.APIClient(**kwargs_from_env(), version="auto", timeout=timeout_s)


@contextlib.contextmanager
def engine_errors(action: str) -> Iterator[None]:
    """Turn every error of the client and of the system into InfraError: none of them is the tested code's doing."""
    try:
        yield
    except InfraError:
        raise
    except Exception as error:
        is_client_error = type(error).__module__.startswith(("docker.", "requests.", "urllib3."))
        if not is_client_error and not isinstance(error, OSError):
            raise
        # The daemon's own words, where there are any.
        text = " ".join(str(getattr(error, "explanation", "") or error).split()) or type(error).__name__
        # The client wraps the message of the operating system in two or three layers of its own.
        system = re.search(r"\w+Error\(\d+, '([^']+)'\)|\[Errno \d+\] ([^\"')]+)", text)
        raise InfraError(f"{action}: {system[1] or system[2] if system else text[:300]}") from error
