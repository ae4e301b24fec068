"""Copies the Python that runs this, with all that it loads, into a folder: `python gather.py FOLDER [PROGRAM...]`.

Runs while the image is built. The folder has the C library and its loader too, so it works on an image of an older or a
newer Debian. FOLDER/bin/python starts it; pip has filled FOLDER/packages.
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
    standard, program = Path(sysconfig.get_path("stdlib")), Path(sys.executable).resolve()
    shutil.copytree(
        standard, home / "lib" / standard.name, ignore=shutil.ignore_patterns(*_LEFT_OUT)
    )
    compileall.compile_dir(home / "lib" / standard.name, quiet=2)
    programs = {
        home / "bin" / "python": program,
        **{home / "tools" / name: which(name) for name in tools},
    }
    loader = ""
    for binary in [*programs.values(), *home.rglob("*.so"), *home.rglob("*.so.*")]:
        for path in loaded_by(binary):
            if path.is_relative_to(home):  # a wheel's own, which finds it there
                continue
            loader = path.name if path.name.startswith("ld-") else loader
            shutil.copy2(path, home / "lib")
    for start, program in programs.items():
        start.parent.mkdir(exist_ok=True)
        copy = shutil.copy2(program, home / "bin" / f"{program.name}.elf")
        loaded = f'{home}/lib/{loader} --library-path {home}/lib --argv0 "$0" {copy}'
        start.write_text(f'#!/bin/sh\nexec {loaded} "$@"\n', encoding="utf-8")
        start.chmod(0o755)


def which(name: str) -> Path:
    """Where a program is."""
    path = shutil.which(name)
    if path is None:
        sys.exit(f"{name}: no such program")
    return Path(path).resolve()


def loaded_by(binary: Path) -> list[Path]:
    """The shared libraries that a binary needs, and the loader."""
    listed = subprocess.run(
        ["ldd", str(binary)], capture_output=True, text=True, check=False
    ).stdout
    return [Path(path) for path in re.findall(r"^\s(?:\S+ => )?(/\S+) \(0x", listed, re.MULTILINE)]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
