"""Refuses to build from a checkout whose symbolic links came out as text files; all else is in pyproject.toml."""

import sys
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).resolve().parent
# In an sdist these are files and folders of their own; without support for links, git writes the target's name.
LINKS = ("lmrbench_data/loader.py", "lmrbench_data/evaluate", "cards/space/names.py", "cards/space/untrusted.py")
for name in LINKS:
    path = ROOT / name
    if path.is_file() and not path.is_symlink() and path.stat().st_size < 100:
        sys.exit(
            f"{name} is no symbolic link: run `git config core.symlinks true` and `git checkout -f` "
            "(on Windows with developer mode on), then try again"
        )
setup()
