"""Report from inside a container which limits hold; sent to the sandbox in place of the runner.

Standard library only, and nothing of this project.
"""

import json
import os

CGROUPS = "/sys/fs/cgroup"


def text_of(path: str) -> str:
    """Return the content of a file; empty if it cannot be read."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""


def limit(*paths: str) -> int | None:
    """Return the number in the first of these files that has one; None without a limit."""
    return next((int(found) for found in map(text_of, paths) if found.isdecimal()), None)


def main() -> None:
    """Print the runner's first line, then the report."""
    status = dict(line.split(":", 1) for line in text_of("/proc/self/status").splitlines())
    routes = text_of("/proc/net/route").splitlines()[1:]
    routes += [line for line in text_of("/proc/net/ipv6_route").splitlines() if line.split()[-1] != "lo"]
    report = {
        "unprivileged": os.getuid() != 0,
        "read_only_root": bool(os.statvfs("/").f_flag & os.ST_RDONLY),
        "no_network": not routes,
        "no_capabilities": int(status.get("CapEff", "1"), 16) == 0,
        "memory": limit(f"{CGROUPS}/memory.max", f"{CGROUPS}/memory/memory.limit_in_bytes"),
        "processes": limit(f"{CGROUPS}/pids.max", f"{CGROUPS}/pids/pids.max"),
    }
    print("ready", flush=True)
    print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
