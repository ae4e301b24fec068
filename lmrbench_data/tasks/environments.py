"""Environments: folders that Docker images are built from, and the images' content-hashed tags."""

import functools
import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..base.archive import matching, read_tree, tar_bytes
from ..base.errors import InputError
from ..base.paths import benchmark_folder
from ..base.strict_yaml import check, read_yaml

#: Registry to pull images from and push them to, for example `ghcr.io/org`.
REGISTRY_VARIABLE = "LMRBENCH_REGISTRY"


@dataclass(frozen=True)
class Environment:
    """A folder with a Dockerfile, pinned requirements and an `environment.yaml`."""

    folder: Path
    description: str
    disk_mb: int

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.name

    @property
    def tag(self) -> str:
        """`lmrbench/<name>:<12 hex>`, which changes with any byte of the folder."""
        return f"lmrbench/{self.name}:{hashlib.sha256(self.context()).hexdigest()[:12]}"

    def packages(self) -> list[str]:
        """Return the requirements (`name==version`) that tasks may import: the first block."""
        block, _, _ = self._read("requirements.txt").partition("\n#")
        return [line for line in block.splitlines() if line.strip() and not line.startswith("#")]

    def libraries(self) -> list[str]:
        """Return the names of all requirements, also of those that tasks may not import."""
        return re.findall(r"^([\w.-]+)==", self._read("requirements.txt"), re.MULTILINE)

    def versions(self) -> str:
        """Return the versions of Python, as its Dockerfile names it, and of packages, in words."""
        images = r"^FROM (?:\S+/)?python:(\d[\d.]*)"
        python = re.findall(images, self._read("Dockerfile"), re.MULTILINE)[-1:]
        names = [*(f"Python {version}" for version in python), *self.packages()]
        return ", ".join(names).replace("==", " ")

    def _read(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")

    def context(self) -> bytes:
        """Return the build context, a reproducible tar."""
        return tar_bytes(read_tree(self.folder))


def registry_tag(tag: str) -> str:
    """Return the image's name in the registry: the tag after the configured prefix."""
    prefix = os.environ.get(REGISTRY_VARIABLE, "").rstrip("/")
    return f"{prefix}/{tag}" if prefix else tag


def known_environments(benchmark: Path | None = None) -> list[Environment]:
    """Return the environments of the user's own benchmark, if given, and the installed ones."""
    own = load_environments(benchmark).values() if benchmark else ()
    return [*own, *load_environments().values()]


@functools.cache
def versions_in(tag: str) -> str:
    """Return the versions in an image, in words; empty if its environment is not installed."""
    for environment in known_environments():
        if environment.tag == tag:
            return environment.versions()
    return ""


def choose_environments(names: Sequence[str], benchmark: Path | None) -> list[Environment]:
    """Return the environments of these names, or all."""
    known = load_environments(benchmark)
    for name in names:
        if name not in known:
            raise InputError(f"unknown environment {name}; known: {', '.join(known)}")
    return [known[name] for name in names or known]


def load_environments(benchmark: Path | None = None) -> dict[str, Environment]:
    """Return all environments by name."""
    parent = (benchmark or benchmark_folder()) / "environments"
    if not parent.is_dir():
        raise InputError(f"{parent}: missing; create it with a folder for each image")
    folders = filter(Path.is_dir, matching(parent, "*"))
    return {folder.name: _load_environment(folder) for folder in folders}


def _load_environment(folder: Path) -> Environment:
    path = folder / "environment.yaml"
    for file in (folder / "Dockerfile", folder / "requirements.txt", path):
        if not file.is_file():
            raise InputError(f"{file}: missing; add it to the environment")
    facts = read_yaml(path)
    check(facts, "environment.schema.json", path)
    return Environment(folder, **facts)
