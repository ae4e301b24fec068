"""The files of this machine that code in the `bwrap` sandbox sees, all of them read-only.

They are the programs and libraries of the system, this Python's standard library, and the packages that an environment
names together with those that they need, in a virtual environment of their own. Everything else is left out: /etc,
/home, /run, other packages, and with them this package, which contains the benchmark.
"""

import os
import struct
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from lmrbench_data.base import paths
from lmrbench_data.base.errors import InfraError

#: More folders to show, separated by colons, for a Python whose libraries are in unusual places.
FOLDERS_VARIABLE = "LMRBENCH_BWRAP_FOLDERS"
#: The virtual environment, as tested code sees it.
_HOME = "/python"
PYTHON = f"{_HOME}/bin/python"
CONFIGURATION = f"{_HOME}/pyvenv.cfg"
_OTHER_FILES = ("/etc/ld.so.cache", "/usr/share/zoneinfo", "/sys/devices/system/cpu")


def system_mounts(own: Path | None = None) -> list[str]:
    """Return bwrap's options for the system and the standard library, without a folder of `own` tasks."""
    python = Path(os.path.realpath(_interpreter()))
    folders = [Path(name) for name in _system_folders()]
    folders += [Path(part) for part in os.environ.get(FOLDERS_VARIABLE, "").split(":") if part]
    for path in (*_standard_library(), python, *_loader(python)):
        if not any(path.is_relative_to(folder) for folder in folders):
            folders.append(path)
    words = [word for folder in folders for word in _shown(folder)]
    for name in ("bin", "lib", "lib32", "lib64"):
        path = Path("/", name)
        if path.is_symlink():
            words += _link(path, os.readlink(path))
        elif path.is_dir():
            words += _shown(path)
    for name in _OTHER_FILES:
        if os.path.exists(name):
            words += _shown(Path(name))
    hidden_ones = set(_hidden(folders, own))
    for hidden in sorted(path for path in hidden_ones if not hidden_ones & set(path.parents)):
        words += ["--tmpfs", str(hidden), "--remount-ro", str(hidden)]
    return [*words, *_link(Path(PYTHON), str(python)), *_link(Path(f"{PYTHON}3"), "python")]


def package_mounts(requirements: Iterable[str]) -> list[str]:
    """Return bwrap's options for these packages and all that they need; InfraError if files of one are unknown."""
    folder = Path(
        _HOME, "lib", f"python{sys.version_info.major}.{sys.version_info.minor}", "site-packages"
    )
    sources: dict[str, Path] = {}
    for distribution in _closure(requirements):
        for name in top_level(distribution):
            sources.setdefault(name, Path(str(distribution.locate_file(name))).resolve())
    return [word for name in sorted(sources) for word in _shown(sources[name], folder / name)]


def configuration() -> bytes:
    """Return the pyvenv.cfg of the virtual environment."""
    home = os.path.dirname(os.path.realpath(_interpreter()))
    return f"home = {home}\ninclude-system-site-packages = false\n".encode()


def top_level(distribution: metadata.Distribution) -> list[str]:
    """Return the files and folders of a package in site-packages; InfraError if it does not list them."""
    if distribution.files is None:
        raise InfraError(f"the files of {distribution.name} are unknown; install it with pip")
    names = {path.parts[0] for path in distribution.files}
    return sorted(names - {"..", "__pycache__", "/"})


def import_names(requirements: Iterable[str]) -> list[str]:
    """Return the names by which code imports these packages."""
    found: list[str] = []
    for requirement in requirements:
        distribution = metadata.distribution(Requirement(requirement).name)
        text = distribution.read_text("top_level.txt")
        names = text.split() if text else top_level(distribution)
        folders = [Path(str(distribution.locate_file(name))) for name in names]
        found += [folder.name for folder in folders if (folder / "__init__.py").is_file()]
    return found


def _shown(path: Path, where: Path | None = None) -> list[str]:
    """Return the options that show a file or folder, at its own path unless `where` is given."""
    return [*_parents(where or path), "--ro-bind", str(path), str(where or path)]


def _link(path: Path, target: str) -> list[str]:
    return [*_parents(path), "--symlink", target, str(path)]


def _parents(path: Path) -> list[str]:
    """Return the options that create the folders above a path, open to all users, unlike bwrap's default."""
    parents = reversed(path.parents[:-1])
    return [word for parent in parents for word in ("--perms", "0755", "--dir", str(parent))]


def _interpreter() -> str:
    """Return the interpreter that a virtual environment was made from."""
    return str(getattr(sys, "_base_executable", sys.executable))


def _system_folders() -> list[str]:
    """Return the folders of programs and shared libraries; of /usr/lib only the part for this architecture, if any."""
    libraries = [f"/usr/lib/{sysconfig.get_config_var('MULTIARCH')}", "/usr/lib64"]
    libraries = [
        path for path in libraries if os.path.isdir(path) and not os.path.islink(path)
    ] or ["/usr/lib"]
    return ["/usr/bin", *libraries]


def _standard_library() -> list[Path]:
    """Return the folders of Python itself; below a prefix of its own, also its shared libraries."""
    bases = {"installed_base": sys.base_prefix, "installed_platbase": sys.base_exec_prefix}
    bases |= {"base": sys.base_prefix, "platbase": sys.base_exec_prefix}
    folders = [Path(sysconfig.get_path(name, vars=bases)) for name in ("stdlib", "platstdlib")]
    return folders if sys.base_prefix == "/usr" else [Path(sys.base_prefix, "lib"), *folders]


def _loader(program: Path) -> list[Path]:
    """Return the loader that a 64-bit ELF program names (PT_INTERP); on ARM, it is outside the folder of libraries."""
    content = program.read_bytes()
    if not content.startswith(b"\x7fELF\x02\x01"):
        return []
    [table] = struct.unpack_from("<Q", content, 32)
    [count] = struct.unpack_from("<H", content, 56)
    for kind, _, offset, _, _, length in struct.iter_unpack(
        "<2I4Q16x", content[table : table + 56 * count]
    ):
        if kind == 3:
            path = Path(os.fsdecode(content[offset : offset + length].rstrip(b"\0")))
            return [path.parent.resolve() / path.name]
    return []


def _hidden(folders: Iterable[Path], own: Path | None) -> Iterator[Path]:
    """Yield the parts of these folders to hide: packages that no environment names, and the benchmark."""
    packages = (
        Path(__file__).parents[1],
        Path(paths.__file__).parents[1],
        Path(paths.__file__).parents[2] / "lmrbench",
    )
    secrets = [path.resolve() for path in (*packages, paths.benchmark_folder(), own) if path]
    for folder in folders:
        yield from folder.glob("python3*/*-packages")
        yield from folder.glob("*-packages")
        yield from (secret for secret in secrets if secret.is_relative_to(folder))


def _closure(requirements: Iterable[str]) -> Iterator[metadata.Distribution]:
    """Yield these packages and all that they need, as far as they are installed."""
    waiting, seen = [Requirement(requirement).name for requirement in requirements], set[str]()
    while waiting:
        name = waiting.pop().lower().replace("_", "-").replace(".", "-")
        if name in seen:
            continue
        seen.add(name)
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        yield distribution
        for needed in map(Requirement, distribution.requires or ()):
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                waiting.append(needed.name)
