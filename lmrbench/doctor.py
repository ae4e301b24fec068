"""Check engine, images, sandbox, disk, memory, token and model server; each finding has its fix."""

import contextlib
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import pydantic

from lmrbench_data.base.errors import ArgumentError, InfraError, InputError, LMRBenchError
from lmrbench_data.base.hub_client import hub_errors, open_hub
from lmrbench_data.base.settings import Settings, option
from lmrbench_data.base.text import error_line, one_line, plural
from lmrbench_data.base.version import __version__
from lmrbench_data.chat.endpoint import BaseUrl, Endpoint
from lmrbench_data.tasks.environments import Environment, known_environments, registry_tag
from lmrbench_data.tasks.manifest import load_benchmark
from lmrbench_evaluate.runs.settings import WORKERS
from lmrbench_evaluate.sandbox import open_sandbox
from lmrbench_evaluate.sandbox.docker_client import connect, engine_errors
from lmrbench_evaluate.sandbox.images import image_id

from .generation.agents.agent_image import PINNED, agent_image

#: Seconds for one request to the engine; the first takes several on a busy machine.
_ENGINE_S = 8
#: Seconds for a model's reply.
_REPLY_S = 20.0
#: The memory limit of every published instance.
MEMORY_MB = 2048
#: Agents of others change each week; older ones say little about today's.
_OLD_DAYS = 90
#: Space for a run folder of thousands of answers.
_RUN_BYTES = 10**9
#: With less space than this, nothing more can be written.
_FULL_BYTES = 50 * 10**6


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
    """note: evaluation works, but something else fails or works less well. problem: evaluation, or
    the given model, cannot work."""
    text: str
    fix: str = ""
    """A command, or a short sentence; empty if there is nothing to fix."""


Findings = Iterator[Finding]


def examine(settings: DoctorSettings) -> Findings:
    """Make all checks; one that fails is a finding, too."""
    yield from _guarded("version", _versions(settings))
    engine = list(_guarded("engine", _engine(settings)))
    yield from engine
    if "timed out" not in engine[0].text:  # the sandbox would wait for it much longer
        yield from _guarded("sandbox", _sandbox(settings))
    yield from _guarded("disk", _disk())
    yield from _guarded("memory", _memory(settings.workers))
    yield from _guarded("token", _token())
    if settings.model:
        endpoint = Endpoint(model=settings.model, base_url=settings.base_url)
        yield from _guarded("model", _model(endpoint))


def _guarded(check: str, findings: Findings) -> Findings:
    try:
        yield from findings
    except (LMRBenchError, OSError) as error:
        text, _, fix = error_line(error).partition("; ")
        yield Finding(check, "problem", one_line(text), fix)


def _versions(settings: DoctorSettings) -> Findings:
    benchmark = load_benchmark(settings.benchmark)
    python = f"Python {platform.python_version()}, {platform.system()}"
    text = f"lmrbench {__version__}, {benchmark.name} {benchmark.version}, {python}"
    yield Finding("version", "ok", text)


def _engine(settings: DoctorSettings) -> Findings:
    """Connect to the engine that `docker` would use, and look for images."""
    try:
        api = connect(_ENGINE_S)
        with engine_errors("the engine fails"):
            version = api.version()
            storage = api.info()["Driver"]
    except InfraError as error:
        yield _no_engine(str(error))
        return
    name = "Podman" if "odman" in str(version.get("Components")) else "Docker"
    yield Finding("engine", "ok", f"{name} {version['Version']}, storage {storage}")
    yield from _images(api, settings.benchmark)


def _no_engine(error: str) -> Finding:
    if "timed out" in error:
        text = "the engine does not answer (timed out)"
        return Finding("engine", "problem", text, "restart the engine")
    fix = "start Docker, or name its socket in DOCKER_HOST"
    if "ermission denied" in error:
        fix = "sudo usermod -aG docker $USER, then log in again"
    return Finding("engine", "note", error.replace(" (start one, or set DOCKER_HOST)", ""), fix)


def _images(api: Any, benchmark: Path | None) -> Findings:
    for environment in known_environments(benchmark):
        identity = image_id(api, environment.tag)
        if identity:
            yield Finding("image", "ok", f"{environment.tag} is here ({identity[:19]})")
            yield from _agents(api, environment.tag)
        else:
            yield _missing_image(environment, benchmark)


def _agents(api: Any, base: str) -> Findings:
    """State the age of the agents whose images have been built on an image."""
    for agent, pinned in PINNED.items():
        if not image_id(api, agent_image(agent, base).tag):
            continue
        days = max(0, (date.today() - pinned.since).days)
        text = f"{agent} {pinned.version}, pinned {plural(days, 'day')} ago"
        if days <= _OLD_DAYS:
            yield Finding("agent", "ok", text)
        else:
            fix = f"install a newer lmrbench, then `lmrbench images build --agent {agent}`"
            yield Finding("agent", "note", text, fix)


def _missing_image(environment: Environment, benchmark: Path | None) -> Finding:
    pulled = registry_tag(environment.tag)
    if pulled != environment.tag:
        verb, fix = "pulls", f"docker pull {pulled}"
    else:
        verb, fix = "builds", f"lmrbench images build {environment.name}"
        if benchmark and environment.folder.is_relative_to(benchmark):
            fix += f" --benchmark {benchmark}"
    size = f"{environment.disk_mb / 1000:.1f} GB"
    text = f"{environment.tag} is missing; the first evaluation {verb} it ({size})"
    return Finding("image", "note", text, fix)


def _sandbox(settings: DoctorSettings) -> Findings:
    """Find out which sandbox `auto` chooses, and whether it can run tasks."""
    with open_sandbox("auto", settings.benchmark) as sandbox:
        text = f"evaluations use `{sandbox.name}`; results"
        if sandbox.official:  # its image may still be missing
            yield Finding("sandbox", "ok", f"{text} count for the leaderboard")
            return
        for environment in known_environments(settings.benchmark):
            sandbox.prepare(environment.tag)
    yield Finding("sandbox", "note", f"{text} do not count for the leaderboard", "start Docker")


def _disk() -> Findings:
    """Check that runs and temporary files can be written, and have space."""
    from lmrbench_evaluate.runs.folder import RUNS

    yield _space("runs", Path(RUNS).absolute())
    yield _space("temporary files", Path(tempfile.gettempdir()))


def _space(name: str, folder: Path) -> Finding:
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if not os.access(existing, os.W_OK | os.X_OK):
        fix = "change to a folder of your own, or use --out DIR"
        return Finding("disk", "problem", f"{existing} is not writable", fix)
    free = shutil.disk_usage(existing).free
    text = f"{free / 1e9:.1f} GB free for {name} ({folder})"
    if free >= _RUN_BYTES:
        return Finding("disk", "ok", text)
    fix = f"free {_RUN_BYTES / 1e9:.0f} GB; see `docker system df` for images and containers"
    return Finding("disk", "problem" if free < _FULL_BYTES else "note", text, fix)


def _memory(workers: int) -> Findings:
    """Compare the available memory with the limits of all workers together."""
    available = available_memory()
    each = MEMORY_MB * 2**20
    used = f"{plural(workers, 'worker')} may use {workers * each / 1e9:.1f} GB"
    text = f"{available / 1e9:.1f} GB available; {used}"
    if available >= workers * each:
        yield Finding("memory", "ok", text)
    else:
        yield Finding("memory", "note", text, f"use --workers {max(1, available // each)}")


def available_memory() -> int:
    """Return the bytes that new processes may take, within the limits of a batch system."""
    import psutil

    sizes = [int(psutil.virtual_memory().available)]
    with contextlib.suppress(OSError):
        root = Path("/sys/fs/cgroup")
        name = Path("/proc/self/cgroup").read_text(encoding="utf-8").rpartition("::/")[2].strip()
        for folder in (root / name, *(root / name).parents):
            # Without a limit the file is missing, as in the root, or says `max`.
            with contextlib.suppress(OSError, ValueError):
                sizes.append(_left_in(folder))
    return min(sizes)


def _left_in(group: Path) -> int:
    """Return the bytes that a cgroup may still take; it gives up its cache on demand."""
    limit = int((group / "memory.max").read_text("ascii"))
    used = int((group / "memory.current").read_text("ascii"))
    statistics = (group / "memory.stat").read_text("ascii").splitlines()
    cache = int(dict(line.split() for line in statistics)["inactive_file"])
    return max(0, limit - used + cache)


def _token() -> Findings:
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


def _model(endpoint: Endpoint) -> Findings:
    """Ask a model for one token, which proves address, key and name."""
    import asyncio

    from lmrbench_data.chat.client import ChatClient

    limits = {"retries": 0, "max_tokens": 1, "timeout_s": _REPLY_S}

    async def ask() -> None:
        async with ChatClient(endpoint.model_copy(update=limits)) as client:
            await client.complete([{"role": "user", "content": "Say ok."}])

    asyncio.run(ask())
    yield Finding("model", "ok", f"{endpoint.model} answers")
