"""Check engine, images, sandbox, disk, memory, token and model server; each finding comes with its fix."""

import contextlib
import logging
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple, Self

import pydantic

from lmrbench_data.base.errors import ArgumentError, InfraError, InputError, LMRBenchError
from lmrbench_data.base.hub_client import hub_errors, open_hub
from lmrbench_data.base.settings import Settings, option
from lmrbench_data.base.text import error_line, one_line, plural
from lmrbench_data.base.version import __version__
from lmrbench_data.chat.endpoint import BaseUrl, Endpoint
from lmrbench_data.tasks.environments import known_environments, registry_tag
from lmrbench_data.tasks.manifest import load_benchmark
from lmrbench_evaluate.runs.settings import WORKERS
from lmrbench_evaluate.sandbox import open_sandbox
from lmrbench_evaluate.sandbox.docker_client import connect, engine_errors
from lmrbench_evaluate.sandbox.images import image_id

#: Seconds for one request to the engine; the first takes several on a busy machine.
_ENGINE_S = 8
#: Seconds for a model's reply.
_REPLY_S = 20.0
#: The memory limit of every published instance.
MEMORY_MB = 2048
#: Space for a run folder of thousands of answers; with less than the second, nothing more can be written.
_RUN_BYTES, _FULL_BYTES = 10**9, 50 * 10**6


class DoctorSettings(Settings):
    """Services to examine beyond the machine itself."""

    model: str | None = option(None, "Model to ask for one token.", "--model", "-m")
    base_url: BaseUrl = None
    workers: int = option(
        WORKERS,
        "Number of parallel sandboxes to check memory for.",
        "--workers",
        "-w",
        ge=1,
        le=256,
    )
    benchmark: Path | None = option(None, "Folder of tasks whose environments are checked, too.")

    @pydantic.model_validator(mode="after")
    def _check_model(self) -> Self:
        if self.base_url and not self.model:
            raise ArgumentError("base_url", "needs the name of a model; add --model")
        return self


class Finding(NamedTuple):
    """The result of a check."""

    check: str
    severity: Literal["ok", "note", "problem"]
    """note: evaluation works; something else does not, or works less well. problem: evaluation, or the model that was
    named, cannot work."""
    text: str
    fix: str = ""
    """A command, or a short sentence; empty if there is nothing to fix."""


def examine(settings: DoctorSettings) -> Iterator[Finding]:
    """Make all checks; one that fails is a finding, too."""
    engine: list[Finding] = []
    yield from _guarded("version", _versions(settings))
    for finding in _guarded("engine", _engine(settings)):
        engine.append(finding)
        yield finding
    if "timed out" not in engine[0].text:  # the sandbox would wait for it much longer
        yield from _guarded("sandbox", _sandbox(settings))
    yield from _guarded("disk", _disk())
    yield from _guarded("memory", _memory(settings.workers))
    yield from _guarded("token", _token())
    if settings.model:
        yield from _guarded(
            "model", _model(Endpoint(model=settings.model, base_url=settings.base_url))
        )


def _guarded(check: str, findings: Iterator[Finding]) -> Iterator[Finding]:
    try:
        yield from findings
    except (LMRBenchError, OSError) as error:
        text, _, fix = error_line(error).partition("; ")
        yield Finding(check, "problem", one_line(text), fix)


def _versions(settings: DoctorSettings) -> Iterator[Finding]:
    benchmark, python = (
        load_benchmark(settings.benchmark),
        f"Python {platform.python_version()}, {platform.system()}",
    )
    yield Finding(
        "version", "ok", f"lmrbench {__version__}, {benchmark.name} {benchmark.version}, {python}"
    )


def _engine(settings: DoctorSettings) -> Iterator[Finding]:
    """Connect to the engine that `docker` would use, and look for the image of each environment."""
    try:
        api = connect(_ENGINE_S)
        with engine_errors("the engine fails"):
            version, facts = api.version(), api.info()
    except InfraError as error:
        fix = "start Docker, or name its socket in DOCKER_HOST"
        if "timed out" in str(error):
            yield Finding(
                "engine", "problem", "the engine does not answer (timed out)", "restart the engine"
            )
            return
        if "ermission denied" in str(error):
            fix = "sudo usermod -aG docker $USER, then log in again"
        yield Finding(
            "engine", "note", str(error).replace(" (start one, or set DOCKER_HOST)", ""), fix
        )
        return
    components = str(version.get("Components"))
    name = "Podman" if "odman" in components else "Docker"
    yield Finding(
        "engine", "ok", f"{name} {version.get('Version', '?')}, storage {facts.get('Driver')}"
    )
    for environment in known_environments(settings.benchmark):
        if identity := image_id(api, environment.tag):
            yield Finding("image", "ok", f"{environment.tag} is here ({identity[:19]})")
            continue
        size, pulled = f"{environment.disk_mb / 1000:.1f} GB", registry_tag(environment.tag)
        if pulled != environment.tag:
            text, fix = f"the first evaluation pulls it ({size})", f"docker pull {pulled}"
        else:
            own = settings.benchmark and environment.folder.is_relative_to(settings.benchmark)
            fix = f"lmrbench images build {environment.name}" + (
                f" --benchmark {settings.benchmark}" if own else ""
            )
            text = f"the first evaluation builds it ({size})"
        yield Finding("image", "note", f"{environment.tag} is missing; {text}", fix)


def _sandbox(settings: DoctorSettings) -> Iterator[Finding]:
    """Find out which sandbox `auto` chooses, and whether it can run tasks."""
    with _quiet_log(), open_sandbox("auto", settings.benchmark) as sandbox:
        if sandbox.official:  # its image may still be missing
            yield Finding(
                "sandbox",
                "ok",
                f"evaluations use `{sandbox.name}`; results count for the leaderboard",
            )
            return
        for environment in known_environments(settings.benchmark):
            sandbox.prepare(environment.tag)
    text = f"evaluations use `{sandbox.name}`; results do not count for the leaderboard"
    yield Finding("sandbox", "note", text, "start Docker")


@contextlib.contextmanager
def _quiet_log() -> Iterator[None]:
    """Hide the warnings of the sandboxes, which the findings repeat."""
    logger = logging.getLogger("lmrbench_evaluate.sandbox")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _disk() -> Iterator[Finding]:
    """Check that runs and temporary files can be written, and have space."""
    from lmrbench_evaluate.runs.folder import RUNS

    for name, folder in {
        "runs": Path(RUNS).absolute(),
        "temporary files": Path(tempfile.gettempdir()),
    }.items():
        existing = next(path for path in (folder, *folder.parents) if path.exists())
        free = shutil.disk_usage(existing).free
        text = f"{free / 1e9:.1f} GB free for {name} ({folder})"
        fix = f"free at least {_RUN_BYTES / 1e9:.0f} GB; `docker system df` shows what images and containers take"
        if not os.access(existing, os.W_OK | os.X_OK):
            fix = "change to a folder of your own, or use --out DIR"
            yield Finding("disk", "problem", f"{existing} is not writable", fix)
        elif free < _RUN_BYTES:
            yield Finding("disk", "problem" if free < _FULL_BYTES else "note", text, fix)
        else:
            yield Finding("disk", "ok", text)


def _memory(workers: int) -> Iterator[Finding]:
    """Compare the available memory with the limits of all workers together."""
    available, each = available_memory(), MEMORY_MB * 2**20
    if available is None:
        yield Finding("memory", "note", "unknown on this system")
        return
    text = f"{available / 1e9:.1f} GB available; {plural(workers, 'worker')} may use {workers * each / 1e9:.1f} GB"
    if available >= workers * each:
        yield Finding("memory", "ok", text)
    else:
        yield Finding("memory", "note", text, f"use --workers {max(1, available // each)}")


def available_memory() -> int | None:
    """Return the bytes of memory that new processes may take, within the limits of a batch system; None if unknown."""
    sizes = []
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        sizes.append(
            int(next(line for line in lines if line.startswith("MemAvailable:")).split()[1]) * 1024
        )
    with contextlib.suppress(OSError):
        root, own = (
            Path("/sys/fs/cgroup"),
            Path("/proc/self/cgroup").read_text(encoding="utf-8").rpartition("::/")[2],
        )
        for folder in ((root / own.strip()), *(root / own.strip()).parents):
            with contextlib.suppress(
                OSError, ValueError
            ):  # the root has no limit, and `max` is not a number
                limit, used = (
                    int((folder / f"memory.{name}").read_text("ascii"))
                    for name in ("max", "current")
                )
                facts = dict(
                    line.split()
                    for line in (folder / "memory.stat").read_text("ascii").splitlines()
                )
                sizes.append(
                    max(0, limit - used + int(facts["inactive_file"]))
                )  # given up on demand
    return min(sizes, default=None)


def _token() -> Iterator[Finding]:
    """Ask the Hub who the token belongs to."""
    from huggingface_hub import constants, get_token

    if constants.HF_HUB_OFFLINE:
        yield Finding("token", "note", "HF_HUB_OFFLINE is set; only cached datasets can be read")
    elif not get_token():
        text = "no token; public datasets can be read, nothing can be submitted"
        yield Finding("token", "note", text, "hf auth login")
    else:
        try:
            with hub_errors(constants.ENDPOINT):
                user = open_hub().whoami()["name"]
            yield Finding("token", "ok", f"{user} at {constants.ENDPOINT}")
        except (InputError, InfraError) as error:
            yield Finding("token", "note", one_line(error), "hf auth login, or check the network")


def _model(endpoint: Endpoint) -> Iterator[Finding]:
    """Ask a model for one token, which proves address, key and name."""
    import asyncio

    from lmrbench_data.chat.client import ChatClient

    limits = {"retries": 0, "max_tokens": 1, "timeout_s": _REPLY_S}

    async def ask() -> None:
        async with ChatClient(endpoint.model_copy(update=limits)) as client:
            await client.complete([{"role": "user", "content": "Say ok."}])

    asyncio.run(ask())
    yield Finding("model", "ok", f"{endpoint.model} answers")
