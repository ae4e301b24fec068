"""Environments: the folders from which images are built, and the content-hashed tags that name them."""

import hashlib
import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..base.archive import read_tree, tar_bytes
from ..base.errors import InputError
from ..base.paths import benchmark_folder
from ..base.strict_yaml import read_yaml

#: Where images are pulled from and pushed to, for example `ghcr.io/org`; tags carry no prefix without it.
REGISTRY_VARIABLE = "LMRBENCH_REGISTRY"


@dataclass(frozen=True)
class Environment:
    """A folder with a Dockerfile, pinned requirements and `environment.yaml`."""

    folder: Path
    description: str
    disk_mb: int

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.name

    @property
    def tag(self) -> str:
        """`lmrbench/<name>:<12 hex>`: changes with any byte of the folder, so an image never goes stale."""
        return f"lmrbench/{self.name}:{hashlib.sha256(self.context()).hexdigest()[:12]}"

    def packages(self) -> list[str]:
        """The requirements (`name==version`) that tasks may import: the first block of requirements.txt."""
        lines = (self.folder / "requirements.txt").read_text(encoding="utf-8").splitlines()
        block = itertools.takewhile(lambda line: not line.startswith("#"), lines[1:])
        return [line.strip() for line in block if line.strip()]

    def context(self) -> bytes:
        """The build context, a reproducible tar."""
        return tar_bytes(read_tree(self.folder))


def registry_tag(tag: str) -> str:
    """The name under which a registry has the image: the tag behind the configured prefix."""
    prefix = os.environ.get(REGISTRY_VARIABLE, "").rstrip("/")
    return f"{prefix}/{tag}" if prefix else tag


def known_environments(benchmark: Path | None = None) -> list[Environment]:
    """The installed environments and, before them, those of a benchmark of one's own.

    Raises:
        InputError: see `load_environments`.
    """
    own = load_environments(benchmark).values() if benchmark else ()
    return [*own, *load_environments().values()]


def choose_environments(names: Sequence[str], benchmark: Path | None = None) -> list[Environment]:
    """The environments of these names, or all.

    Raises:
        InputError: a name is unknown, or see `load_environments`.
    """
    known = load_environments(benchmark)
    if unknown := set(names) - known.keys():
        raise InputError(f"unknown environment {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    return [known[name] for name in names or known]


def load_environments(benchmark: Path | None = None) -> dict[str, Environment]:
    """All environments by name.

    Raises:
        InputError: an environment lacks one of its files, or its description.
    """
    parent = (benchmark or benchmark_folder()) / "environments"
    if not parent.is_dir():
        raise InputError(f"{parent}: missing; it holds one folder for each image")
    found = {}
    for folder in sorted(filter(Path.is_dir, parent.iterdir())):
        for name in ("Dockerfile", "requirements.txt", "environment.yaml"):
            if not (folder / name).is_file():
                raise InputError(f"{folder / name}: missing; every environment has one")
        path = folder / "environment.yaml"
        facts = read_yaml(path)
        if not isinstance(facts.get("description"), str) or type(facts.get("disk_mb")) is not int or len(facts) != 2:
            raise InputError(f"{path}: needs description (text) and disk_mb (a whole number), and nothing else")
        found[folder.name] = Environment(folder, facts["description"], facts["disk_mb"])
    return found
