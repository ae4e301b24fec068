"""Check that this Python has the packages of an environment; for sandboxes that use no image."""

import logging
import platform
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from lmrbench_data.base.errors import InfraError
from lmrbench_data.tasks.environments import Environment, known_environments

_log = logging.getLogger(__name__)


def find_environment(tag: str, benchmark: Path | None = None) -> Environment:
    """Return the environment with this image tag or, if its content has changed, the one with its name.

    Args:
        benchmark: a folder of tasks whose environments are known in addition to the installed ones.

    Raises:
        InfraError: this installation does not have the environment.
    """
    name = tag.partition("/")[2].partition(":")[0]
    known = known_environments(benchmark)
    environment = next((item for item in known if tag == item.tag), None)
    environment = environment or next((item for item in known if name == item.name), None)
    if environment is None:
        raise InfraError(f"environment {name!r} is not in this installation; use the docker sandbox, or upgrade")
    return environment


def check_packages(requirements: Iterable[str], sandbox: str) -> str:
    """Return the versions of Python and of these packages, as the identity of the environment.

    Args:
        requirements: `name==version` each. Another version is logged.
        sandbox: its name, for the error message.

    Raises:
        InfraError: a package is not installed.
    """
    found, missing, other = [f"python {platform.python_version()}"], [], []
    for requirement in requirements:
        package, _, version = requirement.partition("==")
        try:
            installed = metadata.version(package).partition("+")[0]
        except metadata.PackageNotFoundError:
            missing.append(requirement)
            continue
        found.append(f"{package} {installed}")
        if installed != version:
            other.append(f"{package} {installed} instead of {version}")
    if missing:
        raise InfraError(
            f"the {sandbox} sandbox lacks {', '.join(missing)}; "
            "run `pip install 'lmrbench-data[local]'` or start Docker"
        )
    if other:
        _log.warning("this Python has %s; results may differ from those in the image", ", ".join(other))
    return "; ".join(found)
