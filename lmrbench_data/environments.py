"""Environments: the folders from which images are built, and the content-hashed tags that name them."""

import hashlib
import itertools
import os
from dataclasses import dataclass
from pathlib import Path

from lmrbench_data.archive import read_tree, tar_bytes
from lmrbench_data.errors import InputError
from lmrbench_data.paths import benchmark_folder

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


def load_environments(benchmark: Path | None = None) -> dict[str, Environment]:
    """All environments by name.

    Raises:
        InputError: an environment lacks its Dockerfile or its description.
    """
    import yaml

    found = {}
    for folder in sorted(((benchmark or benchmark_folder()) / "environments").iterdir()):
        if not folder.is_dir():
            continue
        for name in ("Dockerfile", "environment.yaml"):
            if not (folder / name).is_file():
                raise InputError(f"{folder / name}: missing; every environment has one")
        try:
            facts = yaml.safe_load((folder / "environment.yaml").read_text(encoding="utf-8"))
            found[folder.name] = Environment(folder, str(facts["description"]), int(facts["disk_mb"]))
        except (yaml.YAMLError, TypeError, KeyError, ValueError) as error:
            raise InputError(f"{folder / 'environment.yaml'}: needs description and disk_mb ({error})") from error
    return found
