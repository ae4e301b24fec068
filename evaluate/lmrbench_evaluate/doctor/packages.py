"""The installation: versions, the packages of the `local` sandbox, the extras, and the sandbox that `auto` chooses."""

import contextlib
import logging
import platform
import shutil
from collections.abc import Iterator
from pathlib import Path

from lmrbench_data.base.errors import InfraError
from lmrbench_data.base.extras import EXTRAS, install_command, missing_modules
from lmrbench_data.base.version import __version__
from lmrbench_data.tasks.environments import known_environments
from lmrbench_data.tasks.manifest import load_benchmark

from ..sandbox import open_sandbox
from ..sandbox.bwrap import BwrapSandbox
from ..sandbox.local import LocalSandbox
from .engine import Engine
from .finding import Finding, note, ok, problem


def look_at_versions(benchmark: Path | None) -> Iterator[Finding]:
    """State the versions that a bug report needs."""
    manifest = load_benchmark(benchmark)
    system = f"Python {platform.python_version()}, {platform.system()}"
    yield ok("version", f"lmrbench {__version__}, {manifest.name} {manifest.version}, {system}")


def look_at_local_packages(engine: Engine) -> Iterator[Finding]:
    """Check that this Python has the libraries that tasks import; only sandboxes without an image need them."""
    for environment in known_environments(engine.benchmark):
        try:
            with LocalSandbox(engine.benchmark) as sandbox, captured_warnings() as warnings:
                found = sandbox.prepare(environment.tag)
        except InfraError as error:
            text = str(error).partition("; ")[0]
            if engine.answers:
                yield ok("packages", f"{text}; not needed beside an engine")
            else:
                yield note("packages", text, install_command("local"))
            continue
        if warnings:
            yield note("packages", "; ".join(warnings), install_command("local"))
        else:
            yield ok("packages", f"{environment.name}: {found.replace('; ', ', ')}")


def look_at_extras() -> Iterator[Finding]:
    """List the optional features that are installed."""
    lacks = {extra: missing_modules(extra) for extra in EXTRAS}
    missing = [extra for extra, modules in lacks.items() if modules]
    there = [extra for extra, modules in lacks.items() if not modules]
    text = f"installed: {', '.join(there) or 'none'}" + (f"; missing: {', '.join(missing)}" if missing else "")
    yield ok("extras", text, install_command(*missing) if missing else "")


def look_at_sandbox(engine: Engine) -> Iterator[Finding]:
    """Find out which sandbox `auto` chooses, and whether it can run tasks."""
    if engine.hangs:
        other = BwrapSandbox.name if shutil.which("bwrap") else LocalSandbox.name
        fix = f"restart the engine, or name another sandbox: --sandbox {other}"
        yield problem("sandbox", "evaluations wait for an engine that does not answer", fix)
        return
    try:
        with captured_warnings(), open_sandbox("auto", engine.benchmark) as sandbox:
            if not sandbox.official:  # an engine would pull or build its image
                for environment in known_environments(engine.benchmark):
                    sandbox.prepare(environment.tag)
    except InfraError as error:
        fix = f"start Docker or Podman, or {install_command('local')}"
        yield problem("sandbox", f"none works: {str(error).partition('; ')[0]}", fix)
        return
    if sandbox.official:
        yield ok("sandbox", f"evaluations use `{sandbox.name}`; results count for the leaderboard")
    else:
        weak = ", which does not isolate tested code" if sandbox.name == LocalSandbox.name else ""
        fix = "start Docker or Podman"
        yield note("sandbox", f"evaluations use `{sandbox.name}`{weak}; results do not count for the leaderboard", fix)


@contextlib.contextmanager
def captured_warnings() -> Iterator[list[str]]:
    """Collect the log messages of the sandboxes instead of showing them."""
    collected: list[str] = []
    logger, handler = logging.getLogger("lmrbench_evaluate.sandbox"), logging.Handler()
    handler.emit = lambda record: collected.append(record.getMessage())  # type: ignore[method-assign]
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield collected
    finally:
        logger.propagate = True
        logger.removeHandler(handler)
