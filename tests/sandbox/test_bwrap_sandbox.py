"""The bwrap sandbox: what tested code sees, and what the kernel refuses it, for root and for an ordinary user."""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import lmrbench
import lmrbench_data
import lmrbench_evaluate
from lmrbench_data.base.errors import InfraError
from lmrbench_data.base.paths import benchmark_folder
from lmrbench_data.tasks.environments import known_environments
from lmrbench_evaluate.sandbox import bwrap_view
from lmrbench_evaluate.sandbox.base import Limits, Sandbox
from lmrbench_evaluate.sandbox.bwrap import BwrapSandbox
from lmrbench_evaluate.verdict.decode import decode, read_frames
from lmrbench_evaluate.verdict.verdict import Verdict
from support.sandboxes import output_of, workspace_of

pytestmark = pytest.mark.bwrap


def _output(sandbox: Sandbox, image: str, body: str) -> Any:
    """Return what code returns inside."""
    return output_of(sandbox.run(image, workspace_of(body), Limits(60, 256)))


@pytest.fixture
def image(bwrap_sandbox: Sandbox, toy_row: dict[str, Any]) -> str:
    return bwrap_sandbox.prepare(toy_row["docker_image"])


def test_files_of_this_machine_are_hidden(bwrap_sandbox: Sandbox, image: str) -> None:
    """No homes, engines, this package or the benchmark, under any name."""
    packages = [Path(package.__file__).parent for package in (lmrbench, lmrbench_data, lmrbench_evaluate)]
    paths = [*packages, benchmark_folder(), Path(__file__), Path(sys.prefix, "pyvenv.cfg"), Path.home() / ".cache"]
    hidden = ["/run", "/var", "/home", "/etc/group", "/etc/shadow", "/usr/local/bin", *map(str, paths)]
    found = _output(
        bwrap_sandbox,
        image,
        f"""
        import importlib.util, os
        names = ("torch", "numpy", "pytest", "docker", "openai", "lmrbench", "lmrbench_data", "lmrbench_evaluate")
        visible = [path for path in {hidden!r} if os.path.exists(path)]
        return visible, [name for name in names if importlib.util.find_spec(name)]
        """,
    )
    assert found == ([], ["torch", "numpy"])


def test_loader_of_the_interpreter_is_among_the_files_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On ARM, it is outside the folder of libraries; without it, no program starts."""
    (tmp_path / "usr-lib").mkdir()
    (tmp_path / "lib").symlink_to("usr-lib")
    loader = tmp_path / "usr-lib" / "ld-linux-aarch64.so.1"
    loader.touch()
    monkeypatch.setattr(bwrap_view, "_LOADERS", tmp_path / "lib")
    assert f" --ro-bind {loader} {loader} " in " ".join(bwrap_view.system_mounts())


def test_kernel_refuses_leaks_between_runs(bwrap_sandbox: Sandbox) -> None:
    """And not only for lack of rights: keyrings, memory without an owner, a hypervisor, other namespaces."""
    found = _output(
        bwrap_sandbox,
        "",
        """
        import ctypes, mmap, os, socket
        libc = ctypes.CDLL(None, use_errno=True)
        def call(function):
            try:
                return function()
            except OSError as error:
                return error.errno
        def libcall(name, *arguments):
            return -ctypes.get_errno() if getattr(libc, name)(*arguments) < 0 else 0
        socket.socket(socket.AF_UNIX).close()
        refused = [
            call(lambda: os.memfd_create("x")),
            libcall("shmget", 0, 1 << 20, 0o600),
            libcall("unshare", 0x10000000),
            call(lambda: socket.socket(40, socket.SOCK_STREAM)),
            call(lambda: socket.socket(38, socket.SOCK_SEQPACKET)),
            call(lambda: socket.socket(socket.AF_INET)),
            call(lambda: socket.socketpair(40)),
            call(lambda: mmap.mmap(-1, 4096)),
            call(lambda: mmap.mmap(os.open("/dev/zero", os.O_RDWR), 4096)),
        ]
        mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
        numbers = {"x86_64": (250, 41, 56), "aarch64": (219, 198, 220)}
        if os.uname().machine in numbers:
            keyctl, open_socket, clone = numbers[os.uname().machine]
            refused.append(libcall("syscall", keyctl, 0, -3, 0))
            refused.append(libcall("syscall", open_socket, (1 << 32) | 40, 1, 0))  # the kernel reads half of the family
            refused.append(libcall("syscall", clone, 0x10000000 | 17, 0, 0, 0, 0))
        return [abs(error) for error in refused]
        """,
    )
    denied, unsupported = errno.EPERM, errno.EAFNOSUPPORT
    assert found[:7] == [denied, denied, denied, *[unsupported] * 4]
    # Shared memory without a file, whose pages stay when a process lets go of them.
    assert found[7:9] == [denied, errno.ENODEV]
    assert found[9:] in ([], [denied, unsupported, denied])


def test_memory_is_limited_over_all_processes(try_in_bwrap: Callable[..., Verdict]) -> None:
    """Each stays far below the limit; together they are far over it, and sleep."""
    hog = "for _ in range(7):\n        if os.fork() == 0: hog = b'x' * (1 << 26); time.sleep(60)\n"
    verdict = try_in_bwrap(f"import os, time\ndef scale(values, factor):\n    {hog}    time.sleep(60)\n")
    assert verdict.status == "oom", verdict.reason()
    assert verdict.duration_s < 20


def test_package_that_cannot_be_imported_inside_is_an_infra_error(
    bwrap_sandbox: Sandbox, toy_row: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """For example, a library in a directory that is not visible inside."""
    monkeypatch.setattr(bwrap_view, "_closure", lambda requirements: [metadata.distribution("numpy")])
    with BwrapSandbox() as sandbox:
        image = sandbox.prepare(toy_row["docker_image"])
        with pytest.raises(InfraError, match="cannot import torch: ModuleNotFoundError"):
            sandbox.run(image, workspace_of("return 1"), Limits(60, 256), ["torch"])


@pytest.mark.usefixtures("bwrap_sandbox")
def test_environment_without_packages_runs(toy_benchmark: Path) -> None:
    (toy_benchmark / "environments" / "torch-cpu" / "requirements.txt").write_text("# What tasks may import\n")
    [environment, *_] = known_environments(toy_benchmark)
    with BwrapSandbox(toy_benchmark) as sandbox:
        assert _output(sandbox, sandbox.prepare(environment.tag), "return 1 + 1") == 2


ORDINARY = """
import json, sys
sys.path[:0] = json.loads(sys.argv[1])
from lmrbench_evaluate.sandbox.base import Limits
from lmrbench_evaluate.sandbox.bwrap import BwrapSandbox
with BwrapSandbox() as sandbox:
    sys.stdout.buffer.write(sandbox.run("", sys.stdin.buffer.read(), Limits(10, 256)).stdout)
"""
LOOKS = """
import os
children = 0
try:
    while True:
        if os.fork() == 0:
            os.read(0, 1)
            import time; time.sleep(60)
        children += 1
except BlockingIOError:
    pass
maps = open("/proc/self/uid_map").read().split()
return os.getuid(), len([name for name in os.listdir("/proc") if name.isdigit()]), maps[2]
"""


EVERYBODY: dict[str, Any] = {"user": 65533, "group": 65533, "extra_groups": []}


def test_ordinary_user_has_a_namespace_of_its_own(bwrap_sandbox: Sandbox) -> None:
    """With a user namespace, in which the limit of processes counts only those of the run."""
    if os.getuid() != 0:
        pytest.skip("the other tests run as an ordinary user")
    command = [_python_of_everybody(), "-c", ORDINARY, json.dumps([path for path in sys.path if path])]
    done = subprocess.run(command, input=workspace_of(LOOKS), capture_output=True, cwd="/", **EVERYBODY)
    assert done.returncode == 0, done.stderr.decode()
    [frame] = read_frames(done.stdout)
    assert frame.kind == "output", frame.payload
    user, processes, mapped = decode(frame.payload)
    assert (user, mapped) == (65534, "1")
    assert processes == 256


def _python_of_everybody() -> str:
    """Return a Python that an ordinary user can start with this project's packages: root's own is often private."""
    code = f"import sys; sys.path[:0] = {[path for path in sys.path if path]!r}; import lmrbench_evaluate.sandbox.bwrap"
    for python in (sys.executable, "/usr/bin/python3"):
        try:
            done = subprocess.run([python, "-c", code], capture_output=True, cwd="/", **EVERYBODY)
        except OSError:
            continue
        if done.returncode == 0:
            return python
    pytest.skip("an ordinary user can start no Python with these packages")
