"""The machine: disk, memory and cores against what an evaluation would use, and bubblewrap."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from lmrbench_data.base.errors import InfraError
from lmrbench_data.base.machine import Disk, available_memory, cores, disk_of
from lmrbench_data.base.text import counted

from ..runs.default_run_folder import RUNS
from ..sandbox.base import Limits
from ..sandbox.bwrap import BwrapSandbox
from .engine import Engine
from .finding import Finding, Status, gigabytes, note, ok, problem

#: The memory limit of every published instance.
MEMORY_MB = 2048
#: Space for a run folder of thousands of answers, and the margin beside new images.
ROOM_BYTES = 10**9
#: With less than this, nothing more can be written.
FULL_BYTES = 50 * 10**6
FULL_FILES = 1000


def look_at_disks(engine: Engine) -> Iterator[Finding]:
    """Compare free disk space with the needs of images, runs and temporary files."""
    places: dict[str, tuple[Path, int]] = {}
    if engine.is_here:
        missing = sum(environment.disk_mb for environment in engine.missing) * 10**6
        places["images"] = engine.storage, missing + ROOM_BYTES if missing else 0
    places["runs"] = Path(RUNS), ROOM_BYTES
    places["temporary files"] = Path(tempfile.gettempdir()), Limits(0, 0).disk_mb * 2**20
    disks: dict[int, list[tuple[str, Disk, int]]] = {}
    for name, (folder, needed) in places.items():
        disk = disk_of(folder)
        disks.setdefault(disk.device, []).append((f"{name} ({folder})", disk, needed))
    for found in disks.values():
        yield _disk(found)


def _disk(places: list[tuple[str, Disk, int]]) -> Finding:
    """Return the finding on one file system."""
    disk, needed = places[0][1], sum(place[2] for place in places)
    names = ", ".join(place[0] for place in places)
    found = f"{gigabytes(disk.free_bytes)} free for {names}"
    fix = f"free at least {gigabytes(needed)}; `docker system df` shows what images and containers take"
    if disk.free_files is not None and disk.free_files < FULL_FILES:
        return problem("disk", f"no more files can be created for {names}", "remove files, or use another disk")
    if disk.free_bytes < needed:
        return Finding("disk", Status.PROBLEM if disk.free_bytes < FULL_BYTES else Status.NOTE, found, fix)
    return ok("disk", found)


def look_at_runs() -> Iterator[Finding]:
    """Check that a run folder can be created here."""
    folder = Path(RUNS).absolute()
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if not os.access(existing, os.W_OK | os.X_OK):
        yield problem("runs", f"{existing} is not writable", "change to a folder of your own, or use --out DIR")
    else:
        yield ok("runs", f"{folder} is writable")


def look_at_memory(engine: Engine, workers: int) -> Iterator[Finding]:
    """Compare the available memory with the limits of all workers together."""
    found = [] if engine.answers and not engine.is_here else [available_memory()]
    known = [size for size in (*found, engine.info.get("MemTotal")) if size]
    if not known:
        yield note("memory", "unknown on this system")
        return
    available, each = min(known), MEMORY_MB * 2**20
    needs = f"{counted(workers, 'worker')} may use {gigabytes(workers * each)}"
    text = f"{gigabytes(available)} available; {needs}"
    fewer = max(1, available // each)
    yield ok("memory", text) if available >= workers * each else note("memory", text, f"use --workers {fewer}")


def look_at_cores(engine: Engine, workers: int) -> Iterator[Finding]:
    """Compare the cores with the workers, each of which keeps one busy."""
    there = int(engine.info.get("NCPU") or cores())
    number = min(there, cores()) if engine.is_here else there
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    text = f"{counted(number, 'core')}, load {load:.1f}; {counted(workers, 'worker')}"
    if workers > number:
        yield note("cores", text, f"use --workers {number}; more do not make it faster")
    elif load > number + workers:
        yield note("cores", f"{text}; overloaded", "wait until it is idle: answers take longer, verdicts do not change")
    else:
        yield ok("cores", text, f"--workers {number} uses all of them" if number > workers else "")


def look_for_bubblewrap(engine: Engine) -> Iterator[Finding]:
    """Try an isolated process without an engine."""
    program = shutil.which("bwrap")
    if program is None and engine.answers:
        yield ok("bubblewrap", "not installed; not needed beside an engine")
        return
    if program is None:
        fix = "apt-get install bubblewrap (or ask the administrator of the cluster)"
        yield note("bubblewrap", "not installed; it isolates tested code where there is no engine", fix)
        return
    try:
        with BwrapSandbox():
            yield ok("bubblewrap", f"{program} isolates processes")
    except InfraError as error:
        fix = "allow user namespaces: sysctl kernel.unprivileged_userns_clone=1 (Ubuntu: an AppArmor profile for bwrap)"
        if "source path" in str(error):
            fix = "correct LMRBENCH_BWRAP_FOLDERS"
        yield note("bubblewrap", str(error)[:200], fix)
