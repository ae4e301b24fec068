"""Environments: folders that Docker images are built from, and the images' content-hashed tags."""

import functools
import hashlib
import itertools
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..base.archive import matching, read_tree, tar_bytes
from ..base.errors import InputError
from ..base.paths import benchmark_folder
from ..base.strict_yaml import check, read_yaml

#: Registry to pull images from and push them to, for example `ghcr.io/org`; without it tags have no prefix.
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
        """`lmrbench/<name>:<12 hex>`, which changes with any byte of the folder, so an image is never stale."""
        return f"lmrbench/{self.name}:{hashlib.sha256(self.context()).hexdigest()[:12]}"

    def packages(self) -> list[str]:
        """Return the requirements (`name==version`) that tasks may import: the first block of requirements.txt."""
        lines = (self.folder / "requirements.txt").read_text(encoding="utf-8").splitlines()
        block = itertools.takewhile(lambda line: not line.startswith("#"), lines[1:])
        return [line.strip() for line in block if line.strip()]

    def libraries(self) -> list[str]:
        """Return the names of all requirements, also of those that tasks may not import."""
        text = (self.folder / "requirements.txt").read_text(encoding="utf-8")
        return re.findall(r"^([\w.-]+)==", text, re.MULTILINE)

    def versions(self) -> str:
        """Return the versions of Python, as its Dockerfile names it, and of these packages, in words."""
        dockerfile = (self.folder / "Dockerfile").read_text(encoding="utf-8")
        python = re.findall(r"^FROM (?:\S+/)?python:(\d[\d.]*)", dockerfile, re.MULTILINE)[-1:]
        return ", ".join([*(f"Python {version}" for version in python), *self.packages()]).replace(
            "==", " "
        )

    def context(self) -> bytes:
        """Return the build context, a reproducible tar."""
        return tar_bytes(read_tree(self.folder))


def registry_tag(tag: str) -> str:
    """Return the image's name in the registry: the tag after the configured prefix."""
    prefix = os.environ.get(REGISTRY_VARIABLE, "").rstrip("/")
    return f"{prefix}/{tag}" if prefix else tag


def known_environments(benchmark: Path | None = None) -> list[Environment]:
    """Return the environments of the user's own benchmark, if given, followed by the installed ones."""
    own = load_environments(benchmark).values() if benchmark else ()
    return [*own, *load_environments().values()]


@functools.cache
def versions_in(tag: str) -> str:
    """Return the versions in an image, in words; empty if this installation does not have exactly its environment."""
    return next(
        (environment.versions() for environment in known_environments() if environment.tag == tag),
        "",
    )


def choose_environments(names: Sequence[str], benchmark: Path | None = None) -> list[Environment]:
    """Return the environments of these names, or all."""
    known = load_environments(benchmark)
    if unknown := set(names) - known.keys():
        raise InputError(
            f"unknown environment {', '.join(sorted(unknown))}; known: {', '.join(known)}"
        )
    return [known[name] for name in names or known]


def load_environments(benchmark: Path | None = None) -> dict[str, Environment]:
    """Return all environments by name."""
    parent = (benchmark or benchmark_folder()) / "environments"
    if not parent.is_dir():
        raise InputError(f"{parent}: missing; create it with a folder for each image")
    found = {}
    for folder in filter(Path.is_dir, matching(parent, "*")):
        for name in ("Dockerfile", "requirements.txt", "environment.yaml"):
            if not (folder / name).is_file():
                raise InputError(f"{folder / name}: missing; add it to the environment")
        path = folder / "environment.yaml"
        facts = read_yaml(path)
        check(facts, "environment.schema.json", path)
        found[folder.name] = Environment(folder, facts["description"], facts["disk_mb"])
    return found
