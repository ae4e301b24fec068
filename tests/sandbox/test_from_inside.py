"""Walls as tested code sees them: no rights, no network, no files of this machine, small folders, limits."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lmrbench_evaluate.sandbox.base import Sandbox
from lmrbench_evaluate.verdict.verdict import Verdict

LOOK = """
import json, os, resource, subprocess, sys

def text(path):
    try:
        return open(path).read()
    except OSError:
        return ""

def status(process):
    return dict(line.split(":\\t", 1) for line in text(f"/proc/{process}/status").splitlines() if ":\\t" in line)

def writable(path):
    try:
        open(os.path.join(path, "probe"), "w").close()
    except OSError:
        return False
    return True

def size_mb(path):
    facts = os.statvfs(path)
    return facts.f_frsize * facts.f_blocks // 2**20

seen = {
    "status": [status("self"), status(os.getppid())],
    "parent": os.getppid(),
    "groups": os.getgroups(),
    "files_of_root": sorted(os.listdir("/")),
    "interfaces": [line.split(":")[0].strip() for line in text("/proc/net/dev").splitlines() if ":" in line],
    "routes": text("/proc/net/route").splitlines()[1:],
    "writable": [path for path in ("/", "/usr", "/etc", "/root", "/home", "/dev", "/dev/shm", "/var/tmp", "/run",
                                   "/sys", "/proc", "/opt", "/usr/local/lib", "/tmp", "/work") if writable(path)],
    "mounts": {line.split()[4]: line.split()[5].split(",") for line in text("/proc/self/mountinfo").splitlines()},
    "size_mb": {path: size_mb(path) for path in ("/tmp", "/work")},
    "memory": text("/sys/fs/cgroup/memory/memory.limit_in_bytes") or text("/sys/fs/cgroup/memory.max"),
    "pids": text("/sys/fs/cgroup/pids/pids.max") or text("/sys/fs/cgroup/pids.max"),
    "cpu": text("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") + text("/sys/fs/cgroup/cpu/cpu.cfs_period_us")
           or text("/sys/fs/cgroup/cpu.max"),
    "processes": resource.getrlimit(resource.RLIMIT_NPROC),
    "core": resource.getrlimit(resource.RLIMIT_CORE),
    "files": resource.getrlimit(resource.RLIMIT_NOFILE),
    "environment": dict(os.environ),
    # Of this process, and of one that it starts.
    "hashes": [hash("text"), int(subprocess.check_output([sys.executable, "-c", "print(hash('text'))"]))],
}
if not os.path.exists("/tmp/seen"):
    open("/tmp/seen", "w").close()
    print("SEEN", json.dumps(seen))

def scale(values, factor): ...
"""


@pytest.fixture(scope="session")
def seen(try_behind_wall: Callable[..., Verdict]) -> dict[str, Any]:
    """Return the things that an answer sees behind each wall."""
    log = try_behind_wall(LOOK, memory_mb=300).log
    [line] = [line for line in log.splitlines() if line.startswith("SEEN ")]
    return dict(json.loads(line.removeprefix("SEEN ")))


def test_user_has_no_rights(seen: dict[str, Any]) -> None:
    for status in seen["status"]:
        [user] = set(status["Uid"].split())
        assert int(user) not in (0, os.getuid())
        assert set(status["Gid"].split()) == {user}
        for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            assert int(status[name], 16) == 0, name
        assert status["NoNewPrivs"] == "1"
        assert status["Seccomp"] == "2"
    assert not set(seen["groups"]) & {0, 27, 999}
    assert seen["parent"] == 1  # so that signals from inside do not end the runner


def test_network_is_empty(seen: dict[str, Any]) -> None:
    assert (seen["interfaces"], seen["routes"]) == (["lo"], [])


def test_only_two_small_folders_are_writable(seen: dict[str, Any]) -> None:
    assert set(seen["writable"]) == {"/tmp", "/work"}
    assert seen["size_mb"] == {"/tmp": 256, "/work": 256}
    assert "ro" in seen["mounts"]["/"]
    for folder in ("/tmp", "/work"):
        assert {"nosuid", "nodev"} <= set(seen["mounts"][folder])


def test_no_folder_of_the_host_is_visible(seen: dict[str, Any], walled_sandbox: Sandbox) -> None:
    if walled_sandbox.name == "docker":
        own = ("/proc", "/dev", "/sys", "/etc/resolv.conf", "/etc/hostname", "/etc/hosts", "/tmp", "/work")
        for path in seen["mounts"]:
            assert path == "/" or any(path == place or path.startswith(f"{place}/") for place in own), path
    else:
        assert all("nosuid" in options for options in seen["mounts"].values())
        writable = {path for path, options in seen["mounts"].items() if "rw" in options}
        assert {path for path in writable if not path.startswith("/dev/")} == {"/proc", "/tmp", "/work"}
        top = {name for name in seen["files_of_root"] if f"/{name}" not in ("/lib32", "/lib64", "/libx32")}
        prefix = Path(sys.base_prefix).parts[1]
        assert top == {"bin", "dev", "etc", "lib", "proc", "python", "sys", "tmp", "usr", "work", prefix}


def test_limits(seen: dict[str, Any], walled_sandbox: Sandbox) -> None:
    assert (seen["core"], seen["files"]) == ([0, 0], [1024, 1024])
    if walled_sandbox.isolation == "shared":
        assert (seen["memory"], seen["pids"], seen["cpu"]) == ("", "", "")  # no counters of the zygote's container
    elif walled_sandbox.name == "docker":
        assert (int(seen["memory"]), int(seen["pids"])) == (300 * 2**20, 256)
        quota, period = (int(part) for part in seen["cpu"].split())
        assert quota == period  # one processor
    if walled_sandbox.name == "bwrap":  # Docker's containers limit them
        assert seen["processes"] == [256, 256]


def test_environment_reveals_nothing_of_the_harness(seen: dict[str, Any]) -> None:
    allowed = {"PATH", "PWD", "HOSTNAME", "HOME", "LANG", "LOGNAME", "USER", "TMPDIR", "GPG_KEY", "PYTHONHASHSEED"}
    names = {name for name in seen["environment"] if not name.startswith(("PYTHON_", "OMP_", "MKL_", "OPENBLAS_"))}
    assert names <= allowed
    assert "/work" in seen["environment"]["HOME"]


def test_hashes_are_those_of_seed_0(seen: dict[str, Any]) -> None:
    """Verdicts on answers that iterate over sets hung on chance."""
    code = [sys.executable, "-c", "print(hash('text'))"]
    assert seen["hashes"] == [int(subprocess.check_output(code, env={"PYTHONHASHSEED": "0"}))] * 2
