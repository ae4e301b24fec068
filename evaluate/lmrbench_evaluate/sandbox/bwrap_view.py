"""The files of this machine that code in the `bwrap` sandbox sees, all of them read-only.

They are the programs and libraries of the system, this Python's standard library, and the packages
that an environment names together with those that they need, in a virtual environment. Everything
else is left out: /etc, /home, /run, other packages, and with them this package, which contains the
benchmark.
"""

import contextlib
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from lmrbench_data.base import paths
from lmrbench_data.base.errors import InfraError

#: More folders to show, separated by colons, for a Python whose libraries are in unusual places.
FOLDERS_VARIABLE = "LMRBENCH_BWRAP_FOLDERS"
#: The virtual environment, as tested code sees it.
_HOME = "/python"
PYTHON = f"{_HOME}/bin/python"
CONFIGURATION = f"{_HOME}/pyvenv.cfg"
#: Folders of /usr that older systems also have in the root, as folders or as links.
_ROOT_FOLDERS = ("/bin", "/lib", "/lib32", "/lib64")
_OTHER_FILES = ("/etc/ld.so.cache", "/usr/share/zoneinfo", "/sys/devices/system/cpu")
#: Where programs for ARM look for the loader of shared libraries; those for x86-64 look in /lib64.
_LOADERS = Path("/lib")


def system_mounts(own: Path | None = None) -> list[str]:
    """Return bwrap's options for the system and Python, without a folder of `own` tasks."""
    python = Path(os.path.realpath(_interpreter()))
    folders = _visible_folders(python)
    options = []
    for path in folders:
        options += _show(path)
    for path in map(Path, _ROOT_FOLDERS):
        if path.is_symlink():
            options += _link(path, os.readlink(path))
        elif path.exists():
            options += _show(path)
    for path in map(Path, _OTHER_FILES):
        if path.exists():
            options += _show(path)
    for path in _hidden(folders, own):
        options += ["--tmpfs", str(path), "--remount-ro", str(path)]
    return [*options, *_link(Path(PYTHON), str(python)), *_link(Path(f"{PYTHON}3"), "python")]


def package_mounts(requirements: Iterable[str]) -> list[str]:
    """Return bwrap's options for these packages and all that they need.

    Raises:
        InfraError: the files of a package are unknown.
    """
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    folder = Path(_HOME, "lib", version, "site-packages")
    sources: dict[str, Path] = {}
    for distribution in _closure(requirements):
        for name in top_level(distribution):
            sources.setdefault(name, Path(str(distribution.locate_file(name))).resolve())
    options = []
    for name in sorted(sources):
        options += _show(sources[name], folder / name)
    return options


def configuration() -> bytes:
    """Return the pyvenv.cfg of the virtual environment."""
    home = os.path.dirname(os.path.realpath(_interpreter()))
    return f"home = {home}\ninclude-system-site-packages = false\n".encode()


def top_level(distribution: metadata.Distribution) -> list[str]:
    """Return the files and folders of a package in site-packages.

    Raises:
        InfraError: the package does not list them.
    """
    if distribution.files is None:
        raise InfraError(f"the files of {distribution.name} are unknown; install it with pip")
    names = {path.parts[0] for path in distribution.files}
    return sorted(names - {"..", "__pycache__", "/"})


def import_names(requirements: Iterable[str]) -> list[str]:
    """Return the names by which code imports these packages."""
    imported = []
    for requirement in requirements:
        distribution = metadata.distribution(Requirement(requirement).name)
        text = distribution.read_text("top_level.txt")
        for name in text.split() if text else top_level(distribution):
            folder = Path(str(distribution.locate_file(name)))
            if (folder / "__init__.py").is_file():
                imported.append(folder.name)
    return imported


def _show(path: Path, where: Path | None = None) -> list[str]:
    """Return the options that show a file or folder, at its own path unless `where` is given."""
    return [*_parents(where or path), "--ro-bind", str(path), str(where or path)]


def _link(path: Path, target: str) -> list[str]:
    return [*_parents(path), "--symlink", target, str(path)]


def _parents(path: Path) -> list[str]:
    """Return the options that create the folders above a path, open to all users."""
    options = []
    for parent in reversed(path.parents[:-1]):
        options += ["--perms", "0755", "--dir", str(parent)]
    return options


def _interpreter() -> str:
    """Return the interpreter that a virtual environment was made from."""
    return str(getattr(sys, "_base_executable", sys.executable))


def _visible_folders(python: Path) -> list[Path]:
    """Return the folders of the system and of Python, none of them within another."""
    folders = _system_folders()
    folders += [Path(name) for name in os.environ.get(FOLDERS_VARIABLE, "").split(":") if name]
    loaders = [path.parent.resolve() / path.name for path in sorted(_LOADERS.glob("ld-*.so.*"))]
    for path in (*_standard_library(), python, *loaders):
        if not any(path.is_relative_to(folder) for folder in folders):
            folders.append(path)
    return folders


def _system_folders() -> list[Path]:
    """Return the folders of programs and shared libraries.

    Of /usr/lib, it is only the part for this architecture, if the system separates them.
    """
    libraries = []
    for name in (f"/usr/lib/{sysconfig.get_config_var('MULTIARCH')}", "/usr/lib64"):
        if os.path.isdir(name) and not os.path.islink(name):
            libraries.append(Path(name))
    return [Path("/usr/bin"), *(libraries or [Path("/usr/lib")])]


def _standard_library() -> list[Path]:
    """Return the folders of Python itself; outside /usr, also of its shared libraries."""
    outside = {"base": sys.base_prefix, "platbase": sys.base_exec_prefix}
    folders = [Path(sysconfig.get_path(name, vars=outside)) for name in ("stdlib", "platstdlib")]
    return folders if sys.base_prefix == "/usr" else [Path(sys.base_prefix, "lib"), *folders]


def _hidden(folders: Iterable[Path], own: Path | None) -> list[Path]:
    """Return the parts of these folders to hide: other packages, this one and the benchmark."""
    secrets = _secret_folders(own)
    hidden: set[Path] = set()
    for folder in folders:
        hidden.update(folder.glob("python3*/*-packages"), folder.glob("*-packages"))
        hidden.update(path for path in secrets if path.is_relative_to(folder))
    return sorted(path for path in hidden if hidden.isdisjoint(path.parents))


def _secret_folders(own: Path | None) -> list[Path]:
    """Return the folders of our three packages and of all tasks."""
    data = Path(paths.__file__).parents[1]
    packages = (data, data.with_name("lmrbench"), Path(__file__).parents[1])
    return [path.resolve() for path in (*packages, paths.benchmark_folder(), own) if path]


def _closure(requirements: Iterable[str]) -> Iterator[metadata.Distribution]:
    """Yield these packages and all that they need, as far as they are installed."""
    waiting = [Requirement(requirement).name for requirement in requirements]
    seen = set()
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in seen:
            continue
        seen.add(name)
        with contextlib.suppress(metadata.PackageNotFoundError):
            distribution = metadata.distribution(name)
            yield distribution
            waiting += _needed(distribution)


def _needed(distribution: metadata.Distribution) -> list[str]:
    """Return the names of the packages that a package needs here, without its extras."""
    names = []
    for requirement in map(Requirement, distribution.requires or ()):
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            names.append(requirement.name)
    return names
