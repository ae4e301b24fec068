"""Run tested code: `docker` is the official boundary, `bwrap` a wall without an engine.

The third, `local`, isolates nothing.
"""

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
#: Why a leaderboard does not accept the results of some.
_WARNINGS = {
    "bwrap": "results of the `bwrap` sandbox are not for a leaderboard",
    "local": "the `local` sandbox does not isolate tested code from this machine; "
    "not for a leaderboard",
}
_PARTS = ("prepare", "run", "close", "name", "official", "isolation")
_log = logging.getLogger(__name__)


def open_sandbox(
    kind: str, benchmark: Path | None = None, isolation: Isolation = SHARED
) -> Sandbox:
    """Return a sandbox of this kind; use it as a context manager.

    Args:
        kind: `docker`; `bwrap`; `local`; `auto`, which is the first of these that works here; or
            the import path `package.module:name` of a callable that takes no arguments and returns
            a `Sandbox`.
        benchmark: a folder of tasks whose environments are known in addition to the installed ones.
        isolation: `shared`, or `container` (see `zygotes.py`); a sandbox by import path has its
            own.

    Raises:
        InfraError: Docker was requested and no daemon answers, or `bwrap` and it does not work on
            this machine.
        InputError: the kind or the isolation is unknown, or the path names no callable that returns
            a sandbox.
    """
    if isolation not in ISOLATIONS:
        expected = ", ".join(ISOLATIONS)
        raise ArgumentError("isolation", f"{isolation!r} is unknown; one of: {expected}")
    if kind not in KINDS:
        return _open_path(kind)
    if kind != "auto":
        return _open(kind, benchmark, isolation)
    for name in ("docker", "bwrap"):
        try:
            return _open(name, benchmark, isolation)
        except InfraError as error:
            _log.warning("%s", error)
    return _open("local", benchmark, isolation)


def _open(kind: str, benchmark: Path | None, isolation: Isolation) -> Sandbox:
    from .bwrap import BwrapSandbox
    from .docker import DockerSandbox
    from .local import LocalSandbox

    sandbox: Sandbox
    if kind == "docker":
        sandbox = DockerSandbox(benchmark, isolation)
    elif kind == "bwrap":
        sandbox = BwrapSandbox(benchmark, isolation)
    else:
        sandbox = LocalSandbox(benchmark, isolation)
    if kind in _WARNINGS:
        _log.warning(_WARNINGS[kind])
    return sandbox


def _open_path(path: str) -> Sandbox:
    """Return a sandbox by import path."""
    where = f"sandbox {path!r}"
    if not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", path):
        expected = ", ".join(KINDS)
        raise InputError(f"{where}: expected {expected}, or an import path `package.module:name`")
    module, _, name = path.partition(":")
    try:
        sandbox: Sandbox = getattr(importlib.import_module(module), name)()
    except LMRBenchError:
        raise
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {one_line(error)[:300]}"
        raise InputError(
            f"{where}: must be a callable that returns a Sandbox ({reason})"
        ) from error
    missing = [part for part in _PARTS if not hasattr(sandbox, part)]
    if missing:
        kind = type(sandbox).__name__
        raise InputError(
            f"{where}: returns {kind}, which is not a Sandbox: it lacks {', '.join(missing)}"
        )
    if sandbox.official:
        raise InputError(
            f"{where}: claims to be official, but only `docker` is; set `official = False`"
        )
    return sandbox
