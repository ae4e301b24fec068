"""Copies the Python that runs this, with all that it loads, into a folder: `python gather.py FOLDER`, in a build.

The folder has the C library and its loader too, so it works on an image of an older or a newer Debian. Beside it,
`packages/` has been filled by pip; FOLDER/bin/python starts it.
"""

import compileall
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

#: Of the standard library, what no program needs.
_LEFT_OUT = ("site-packages", "dist-packages", "test", "idlelib", "tkinter", "ensurepip", "turtledemo", "config-*")


def main(home: Path) -> None:
    """Fill the folder."""
    standard, program = Path(sysconfig.get_path("stdlib")), Path(sys.executable).resolve()
    libraries, programs = home / "lib", home / "bin"
    shutil.copytree(standard, libraries / standard.name, ignore=shutil.ignore_patterns(*_LEFT_OUT))
    compileall.compile_dir(libraries / standard.name, quiet=2)
    programs.mkdir()
    shutil.copy2(program, programs)
    loader = ""
    for binary in [program, *home.rglob("*.so"), *home.rglob("*.so.*")]:
        for path in loaded_by(binary):
            if path.is_relative_to(home):  # a wheel's own, which finds it there
                continue
            loader = path.name if path.name.startswith("ld-") else loader
            shutil.copy2(path, libraries)
    start = f'exec {libraries}/{loader} --library-path {libraries} --argv0 "$0" {programs}/{program.name} "$@"'
    (programs / "python").write_text(f"#!/bin/sh\n{start}\n", encoding="utf-8")
    (programs / "python").chmod(0o755)


def loaded_by(binary: Path) -> list[Path]:
    """The shared libraries that a binary needs, and the loader."""
    listed = subprocess.run(["ldd", str(binary)], capture_output=True, text=True, check=False).stdout
    return [Path(path) for path in re.findall(r"^\s(?:\S+ => )?(/\S+) \(0x", listed, re.MULTILINE)]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
