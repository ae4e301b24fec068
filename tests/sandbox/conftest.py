"""The sandbox as tested code sees it."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from lmrbench_evaluate.verdict.verdict import Verdict

LOOK = """
import json, os, resource

def text(path):
    try:
        return open(path).read()
    except OSError:
        return ""

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
    "status": dict(line.split(":\\t", 1) for line in text("/proc/self/status").splitlines() if ":\\t" in line),
    "runner": dict(
        line.split(":\\t", 1) for line in text(f"/proc/{os.getppid()}/status").splitlines() if ":\\t" in line
    ),
    "parent": os.getppid(),
    "groups": os.getgroups(),
    "files_of_root": sorted(os.listdir("/")),
    "interfaces": [line.split(":")[0].strip() for line in text("/proc/net/dev").splitlines() if ":" in line],
    "routes": text("/proc/net/route").splitlines()[1:],
    "writable": [path for path in ("/", "/usr", "/etc", "/root", "/home", "/dev", "/dev/shm", "/var/tmp", "/run",
                                   "/sys", "/proc", "/opt", "/usr/local/lib", "/tmp", "/work") if writable(path)],
    "mounts": [line.split()[4] + " " + line.split()[5] for line in text("/proc/self/mountinfo").splitlines()],
    "size_mb": {path: size_mb(path) for path in ("/tmp", "/work")},
    "memory": text("/sys/fs/cgroup/memory/memory.limit_in_bytes") or text("/sys/fs/cgroup/memory.max"),
    "pids": text("/sys/fs/cgroup/pids/pids.max") or text("/sys/fs/cgroup/pids.max"),
    "cpu": text("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") + text("/sys/fs/cgroup/cpu/cpu.cfs_period_us")
           or text("/sys/fs/cgroup/cpu.max"),
    "processes": resource.getrlimit(resource.RLIMIT_NPROC),
    "core": resource.getrlimit(resource.RLIMIT_CORE),
    "files": resource.getrlimit(resource.RLIMIT_NOFILE),
    "environment": dict(os.environ),
}
if not os.path.exists("/tmp/seen"):
    open("/tmp/seen", "w").close()
    print("SEEN", json.dumps(seen))

def scale(values, factor): ...
"""


@pytest.fixture
def look_around() -> Callable[[Callable[..., Verdict]], dict[str, Any]]:
    """Given a function that tries an answer, return what that answer sees."""

    def look(attempt: Callable[..., Verdict]) -> dict[str, Any]:
        log = attempt(LOOK, memory_mb=300).log
        [line] = [line for line in log.splitlines() if line.startswith("SEEN ")]
        return dict(json.loads(line.removeprefix("SEEN ")))

    return look
