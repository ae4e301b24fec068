"""Run a test script inside the sandbox and stream what it printed and logged to stdout; it stands in runner.py's place.

Nothing here is proof against tested code: it shares the script's process and can write any log. That is the protocol of
the tasks that are tested so, and why their results are never official.

Layout of the work folder: `harness/` (this file as runner.py, and plan.json), `repo/` with the test script and its data
in place. On stdout: the line `ready`, then one frame: a line of JSON {"case", "seed", "kind", "size"} and a JSON object
{"exit", "signal", "oom", "printed", "errors", "logs": {name: text}}: what the script wrote to stdout, to stderr and to
`.log` files.
"""

from __future__ import annotations  # images of others may have an older Python

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading

WORK = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
REPO = os.path.join(WORK, "repo")
#: Bytes of what is printed, and of each log, that are kept: the start, where a log says what it tests, and the end.
KEPT = 128 * 1024
MAX_LOGS = 20


def main() -> None:
    with open(os.path.join(WORK, "harness", "plan.json"), encoding="utf-8") as file:
        plan = json.load(file)
    stream = os.fdopen(os.dup(1), "wb")
    # Where the original's scripts log. An answer may have put a file there: the script will say so.
    with contextlib.suppress(OSError):
        os.makedirs(os.path.join(REPO, os.path.dirname(plan["script"]), "logs"), exist_ok=True)
    before = {path: os.stat(path).st_mtime_ns for path in log_files()}
    kills = oom_kills()
    stream.write(b"ready\n")
    stream.flush()
    # As the original runs them: from the repository's root, which is on the path.
    environment = {**os.environ, "PYTHONPATH": REPO, "PYTHONDONTWRITEBYTECODE": "1"}
    environment.update(dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))
    child = subprocess.Popen(
        [sys.executable, "-u", plan["script"]],
        cwd=REPO,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=prefer_for_oom,
    )
    printed, errors = bytearray(), bytearray()
    pipes = (child.stdout, printed), (child.stderr, errors)
    readers = [threading.Thread(target=drain, args=pipe, daemon=True) for pipe in pipes]
    for reader in readers:
        reader.start()
    status = wait(child, plan["limit_s"])
    for reader in readers:
        reader.join(5)
    logs = {}
    for path in log_files()[:MAX_LOGS]:
        if before.get(path) != os.stat(path).st_mtime_ns:
            with open(path, "rb") as file:
                kept = bytearray()
                drain(file, kept)
            logs[os.path.relpath(path, REPO)] = text(kept)
    facts = {
        "exit": status if status is not None and status >= 0 else None,
        "signal": -status if status is not None and status < 0 else None,
        "oom": oom_kills() > kills,
        "printed": text(printed),
        "errors": text(errors),
        "logs": logs,
    }
    payload = json.dumps(facts).encode("ascii")
    header = {"case": "script", "seed": 0, "kind": "output", "size": len(payload)}
    stream.write(json.dumps(header).encode("ascii") + b"\n" + payload)
    stream.flush()
    os.write(2, bytes(printed + errors))


def wait(child: subprocess.Popen[bytes], limit_s: float) -> int | None:
    """The script's exit status; it and what it left running are killed. None if it had to be stopped."""
    try:
        return child.wait(limit_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        alone = os.getpid() == 1  # in a container: nothing else runs there
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(-1 if alone else -child.pid, signal.SIGKILL)
        child.wait()


def prefer_for_oom() -> None:
    """When memory runs out, let the kernel end the script before this process, which has to tell what happened."""
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")
    except OSError:
        pass  # not Linux, or not allowed


def drain(source: object, kept: bytearray) -> None:
    """Read to the end; keep the first and the last bytes."""
    while chunk := source.read1(65536):  # type: ignore[attr-defined]
        kept += chunk
        if len(kept) > 2 * KEPT:
            del kept[KEPT : len(kept) - KEPT]


def text(data: bytearray) -> str:
    return data.decode("utf-8", "replace")


def log_files() -> list[str]:
    found = [
        os.path.join(folder, name)
        for folder, _, names in os.walk(REPO)
        for name in names
        if name.endswith(".log") and os.path.isfile(os.path.join(folder, name))
    ]
    return sorted(path for path in found if not os.path.islink(path))


def oom_kills() -> int:
    """How many processes of this container the kernel killed for want of memory (cgroup v1 or v2), 0 if not told."""
    for path in ("/sys/fs/cgroup/memory/memory.oom_control", "/sys/fs/cgroup/memory.events"):
        try:
            with open(path, encoding="ascii") as file:
                for line in file:
                    if line.startswith("oom_kill "):
                        return int(line.split()[1])
        except OSError:
            continue
    return 0


if __name__ == "__main__":
    main()
