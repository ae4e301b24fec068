"""Run tested code: `docker` is the official boundary, `bwrap` a wall without an engine; `local` isolates nothing."""

import importlib
import logging
import re
from pathlib import Path
from typing import Literal, get_args

from lmrbench_data.base.errors import ArgumentError, InfraError, InputError, LMRBenchError
from lmrbench_data.base.text import one_line

from .base import Sandbox
from .zygotes import ISOLATIONS, SHARED, Isolation

Kind = Literal["auto", "docker", "bwrap", "local"]
KINDS = get_args(Kind)
_log = logging.getLogger(__name__)


def open_sandbox(
    kind: str, benchmark: Path | None = None, isolation: Isolation = SHARED
) -> Sandbox:
    """Return a sandbox of this kind; use it as a context manager.

    Args:
        kind: `docker`; `bwrap`; `local`; `auto`, which is the first of these that works here, with a warning if it is
            not Docker; or the import path `package.module:name` of a callable that takes no arguments and returns a
            `Sandbox`.
        benchmark: a folder of tasks whose environments are known in addition to the installed ones.
        isolation: `shared`, or `container` (see `zygotes.py`); a sandbox by import path has its own.

    Raises:
        InfraError: Docker was requested and no daemon answers, or `bwrap` and it does not work on this machine.
        InputError: the kind or the isolation is unknown, or the path names no callable that returns a sandbox.
    """
    if isolation not in ISOLATIONS:
        raise ArgumentError(
            "isolation", f"{isolation!r} is unknown; one of: {', '.join(ISOLATIONS)}"
        )
    if kind not in KINDS:
        return _open_path(kind)
    from .bwrap import BwrapSandbox
    from .docker import DockerSandbox
    from .local import LocalSandbox

    walls: dict[str, type[DockerSandbox | BwrapSandbox]] = {
        "docker": DockerSandbox,
        "bwrap": BwrapSandbox,
    }
    for name, wall in walls.items():
        if kind in ("auto", name):
            try:
                sandbox = wall(benchmark, isolation)
            except InfraError as error:
                if kind == name:
                    raise
                _log.warning("%s", error)
                continue
            if not sandbox.official:
                _log.warning("results of the `%s` sandbox are not for a leaderboard", name)
            return sandbox
    _log.warning(
        "the `local` sandbox does not isolate tested code from this machine; not for a leaderboard"
    )
    return LocalSandbox(benchmark, isolation)


def _open_path(path: str) -> Sandbox:
    """Return a sandbox by import path."""
    if not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", path):
        raise InputError(
            f"sandbox {path!r}: expected {', '.join(KINDS)}, or an import path `package.module:name`"
        )
    module, _, name = path.partition(":")
    try:
        sandbox: Sandbox = getattr(importlib.import_module(module), name)()
    except LMRBenchError:
        raise
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {one_line(error)[:300]}"
        raise InputError(
            f"sandbox {path!r}: must be a callable that returns a Sandbox ({reason})"
        ) from error
    parts = ("prepare", "run", "close", "name", "official", "isolation")
    if missing := [part for part in parts if not hasattr(sandbox, part)]:
        kind = type(sandbox).__name__
        raise InputError(
            f"sandbox {path!r}: returns {kind}, which is not a Sandbox: it lacks {', '.join(missing)}"
        )
    if sandbox.official:
        raise InputError(
            f"sandbox {path!r}: claims to be official, but only `docker` is; set `official = False`"
        )
    return sandbox
