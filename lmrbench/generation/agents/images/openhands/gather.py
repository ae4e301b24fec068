"""Copy the Python that runs this, with all that it loads: `python gather.py FOLDER [PROGRAM...]`.

Runs while the image is built. The folder has the C library and its loader too, so it works on an
image of an older or a newer Debian. FOLDER/bin/python starts it; pip has filled FOLDER/packages.
"""

import compileall
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

#: Of the standard library, what no program needs.
_LEFT_OUT = (
    "site-packages",
    "dist-packages",
    "test",
    "idlelib",
    "tkinter",
    "ensurepip",
    "turtledemo",
    "config-*",
)


def main(home: Path, tools: list[str]) -> None:
    """Fill the folder; FOLDER/tools gets other programs, by their names."""
    copy_library(home)
    (home / "bin").mkdir()
    programs = {home / "bin" / "python": Path(sys.executable).resolve()}
    for name in tools:
        programs[home / "tools" / name] = which(name)
    loader = ""
    for binary in [*programs.values(), *home.rglob("*.so"), *home.rglob("*.so.*")]:
        loader = copy_loaded(binary, home) or loader
    for start, program in programs.items():
        copy = shutil.copy2(program, home / "bin" / f"{program.name}.elf")
        command = f'{home}/lib/{loader} --library-path {home}/lib --argv0 "$0" {copy}'
        write_start(start, command)


def write_start(path: Path, command: str) -> None:
    """Write a script that runs a command with its own arguments."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
    path.chmod(0o755)


def copy_library(home: Path) -> None:
    """Copy and compile the standard library."""
    standard = Path(sysconfig.get_path("stdlib"))
    library = home / "lib" / standard.name
    shutil.copytree(standard, library, ignore=shutil.ignore_patterns(*_LEFT_OUT))
    compileall.compile_dir(library, quiet=2)


def copy_loaded(binary: Path, home: Path) -> str:
    """Copy the libraries that a binary loads; return the name of its loader, if any."""
    loader = ""
    for path in loaded_by(binary):
        if path.is_relative_to(home):  # a wheel's library, which finds it there
            continue
        if path.name.startswith("ld-"):
            loader = path.name
        shutil.copy2(path, home / "lib")
    return loader


def which(name: str) -> Path:
    """Where a program is."""
    path = shutil.which(name)
    if path is None:
        sys.exit(f"{name}: no such program")
    return Path(path).resolve()


def loaded_by(binary: Path) -> list[Path]:
    """The shared libraries that a binary needs, and the loader."""
    command = ["ldd", str(binary)]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return [Path(path) for path in re.findall(r"^\s(?:\S+ => )?(/\S+) \(0x", listed, re.MULTILINE)]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
