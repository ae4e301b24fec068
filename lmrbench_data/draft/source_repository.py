"""Read a repository for a draft: its text files without history, caches, weights and data that are too large.

Nothing in it runs. Each file that is left out is listed with the reason.
"""

import os
import re
import shlex
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from ..base.archive import IGNORED_PARTS
from ..base.errors import ArgumentError, LoadError
from ..base.files import read_regular
from ..loader import File, check_path

#: Largest file that is copied; text for a model is smaller.
MAX_FILE_BYTES = 200_000
#: Maximum number of files of a repository; a larger folder is probably a home directory.
MAX_FILES = 5_000
_LEFT_OUT = IGNORED_PARTS | {".venv", "venv", "env", "node_modules", ".ipynb_checkpoints", ".idea", ".vscode", "wandb"}
_BINARY = {".pt", ".pth", ".ckpt", ".bin", ".safetensors", ".h5", ".npz", ".npy", ".pkl", ".onnx", ".zip", ".gz", ".so"}
#: Names of files that hold keys and passwords.
_SECRET = re.compile(r"\.env(?:\..*)?|\.netrc|\.npmrc|\.pypirc|id_(?:rsa|dsa|ecdsa|ed25519)|.*\.(?:pem|key|p12)")
_LICENCES = (
    ("mit", "Permission is hereby granted, free of charge"),
    ("apache-2.0", "Apache License"),
    ("gpl-3.0", "GNU GENERAL PUBLIC LICENSE"),
    ("bsd-3-clause", "Neither the name of"),
    ("bsd-2-clause", "Redistributions in binary form"),
)
_COMMAND = re.compile(r"^[ \t]*(?:\$ )?`?python3? ((?:-m )?[\w./-]+[^`\n#|]*)`?", re.MULTILINE)


@dataclass(frozen=True)
class SourceRepository:
    """The files of a repository and facts about it."""

    name: str
    files: Mapping[str, File] = field(repr=False)
    left_out: tuple[str, ...]
    """Files that were not copied, each with the reason."""
    upstream: str
    """The address of git's remote; empty without one."""
    license: str
    """SPDX identifier of the licence file; empty if none is known."""

    def demo_command(self) -> str:
        """The first command of the README that runs a file of the repository; empty if there is none."""
        readme = next((file for name, file in self.files.items() if name.casefold() == "readme.md"), File(b""))
        for found in _COMMAND.finditer(readme.data.decode("utf-8", "replace")):
            try:
                words = shlex.split(found[1])
            except ValueError:
                continue
            script = f"{words[1].replace('.', '/')}.py" if words[0] == "-m" and len(words) > 1 else words[0]
            if script.removeprefix("./") in self.files and script != "setup.py":
                return f"python {found[1].strip()}"
        return ""


def read_repository(folder: Path) -> SourceRepository:
    """Return the files of a folder that belong in a task.

    Raises:
        ArgumentError: no folder, no Python in it, or far too many files for a repository.
    """
    if not folder.is_dir():
        raise ArgumentError("repo", f"{folder} is not a directory")
    folder = folder.resolve()
    files: dict[str, File] = {}
    left_out: list[str] = []
    for place, folders, names in os.walk(folder):
        for name in sorted(folders):
            if name in _LEFT_OUT or name.endswith(".egg-info"):
                folders.remove(name)
        folders.sort()
        for name in sorted(names):
            path = Path(place, name)
            relative = path.relative_to(folder).as_posix()
            if reason := _reason_against(path, relative):
                left_out += [f"{relative} ({reason})"] if reason != "cache" else []
                continue
            files[relative] = File(path.read_bytes(), bool(path.stat().st_mode & stat.S_IXUSR))
            if len(files) > MAX_FILES:
                raise ArgumentError(
                    "repo", f"{folder} has more than {MAX_FILES} files; name the repository's own folder"
                )
    if not any(name.endswith(".py") for name in files):
        raise ArgumentError("repo", f"{folder} has no Python files")
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", folder.name).strip("-._") or "repo"
    return SourceRepository(name, files, tuple(left_out), _upstream(folder), _licence(files))


def _reason_against(path: Path, relative: str) -> str:
    """Return the reason why a file is left out; empty if it is not."""
    facts = path.lstat()
    if path.suffix == ".pyc" or path.name in IGNORED_PARTS:
        return "cache"
    if not stat.S_ISREG(facts.st_mode):
        return "not a regular file"
    if _SECRET.fullmatch(path.name):
        return "may hold a secret"
    if path.suffix in _BINARY:
        return "weights or data"
    if facts.st_size > MAX_FILE_BYTES:
        return f"{facts.st_size / 1000:.0f} kB"
    try:
        check_path(relative)
    except LoadError:
        return "unsafe name"
    return ""


def _upstream(folder: Path) -> str:
    """The https address of git's remote `origin`, without a name or password in it."""
    try:
        config = read_regular(folder / ".git" / "config", MAX_FILE_BYTES).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
    section = re.search(r'\[remote "origin"\](.*?)(?=\n\[|\Z)', config, re.DOTALL)
    found = section and re.search(r"^\s*url\s*=\s*(\S+)", section[1], re.MULTILINE)
    if not found:
        return ""
    url = re.sub(r"^(?:ssh://)?git@([^:/]+)[:/]", r"https://\1/", found[1])
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return ""
    return f"https://{host}{parts.path.removesuffix('.git')}" if parts.scheme in ("http", "https") and host else ""


def _licence(files: Mapping[str, File]) -> str:
    for name in sorted(files):
        if re.fullmatch(r"(?:LICEN[SC]E|COPYING)(?:\.\w+)?", name, re.IGNORECASE):
            text = " ".join(files[name].data.decode("utf-8", "replace").split())
            return next((spdx for spdx, words in _LICENCES if words in text), "")
    return ""
