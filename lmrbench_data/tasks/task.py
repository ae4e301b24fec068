"""Tasks: a paper, its reference repository and goal functions; the views of the repository with functions masked."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..base.errors import InputError
from ..base.passages import path_of
from ..base.paths import has_variants
from ..loader import File
from .environments import load_environments
from .masking import mask_function, remove_definition

#: Folder of a task that holds the recorded outputs of its references.
RECORDED = "recorded"


@dataclass(frozen=True)
class Tests:
    """Cases, seeds and limits of an instance."""

    file: str
    seeds: tuple[int, ...]
    timeout_s: int
    """Wall time for all cases and seeds together, including the start of the interpreter."""
    memory_mb: int


@dataclass(frozen=True)
class Implementation:
    """One goal function of a task: one row of the dataset."""

    instance_id: str
    category: str
    goal_file: str
    goal_function: str
    context_files: tuple[str, ...]
    instruction: str
    """The request of a paper's author to a colleague; every track shows it."""
    contract: str
    """The conventions that paper and repository leave open; the contract track shows them."""
    tests: Tests
    depends_on: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    """Passages of the repository that settle a judge's doubts, as references for `passages.read_passage`."""
    remove: tuple[str, ...] = ()
    equivalent_mutants: Mapping[str, str] = field(default_factory=dict)
    """Mutants that behave like the reference (`dataset check --mutants` lists them) → reason."""
    shown_siblings: Mapping[str, str] = field(default_factory=dict)
    """Instances of the same paper whose goal functions this one calls → reason; all others are masked."""


@dataclass(frozen=True)
class Task:
    """A paper with its reference repository and one or more goal functions."""

    folder: Path
    paper: Mapping[str, Any]
    upstream_repo: str
    repo_name: str
    license: str
    environment: str
    demo_command: str
    implementations: tuple[Implementation, ...]
    """The selected implementations."""
    siblings: tuple[Implementation, ...] = field(repr=False)
    """All implementations of the paper."""
    paper_text: str = field(repr=False)
    repo: Mapping[str, File] = field(repr=False)

    @property
    def name(self) -> str:
        """The folder's name, `NN-slug`."""
        return self.folder.name

    @functools.cached_property
    def image_tag(self) -> str:
        """Tag of the image that runs the task's code; read once.

        Raises:
            InputError: the task names no known environment.
        """
        environment = load_environments(self.folder.parent).get(self.environment)
        if environment is None:
            path = self.folder / "task.yaml"
            raise InputError(f"{path}: environment: no folder environments/{self.environment}; name one that is there")
        return environment.tag

    def golden_repo(self, implementation: Implementation) -> dict[str, File]:
        """Return the repository with its goal function; siblings are masked unless `shown_siblings` names them.

        No instance may show the answer to another.
        """
        repo = dict(self.repo)
        for other in self.siblings:
            if other.instance_id not in {implementation.instance_id, *implementation.shown_siblings}:
                _mask(repo, other)
        return repo

    def golden_file(self, implementation: Implementation) -> str:
        """Return the reference's goal file, siblings masked as in `golden_repo`."""
        return self.golden_repo(implementation)[implementation.goal_file].data.decode("utf-8")

    def masked_repo(self, implementation: Implementation) -> dict[str, File]:
        """Return the repository as a model sees it: goal functions masked, helpers in `remove` deleted."""
        repo = self.golden_repo(implementation)
        _mask(repo, implementation)
        return repo

    def evidence(self, implementation: Implementation) -> list[str]:
        """Return the references for the judge: `evidence`, and the files in `depends_on` that are not Python."""
        named = set(map(path_of, implementation.evidence))
        others = [name for name in implementation.depends_on if not name.endswith(".py") and name not in named]
        return [*implementation.evidence, *others]

    def cases(self, implementation: Implementation) -> bytes:
        """Return the source of the labelled inputs."""
        return (self.folder / implementation.tests.file).read_bytes()

    def variants(self, implementation: Implementation, kind: str) -> list[Path]:
        """Return the sorted files of `valid`, `plain`, `careless` or `wrong` variants.

        Raises:
            InputError: the task comes from a wheel, which has no variants.
        """
        if not has_variants(self.folder.parent):
            raise InputError("variants exist only in a checkout: git clone https://github.com/lmr-bench/lmr-bench")
        return sorted((self.folder / "variants" / implementation.instance_id / kind).glob("*.py"))


def _mask(repo: dict[str, File], implementation: Implementation) -> None:
    """Mask an implementation's goal function in `repo` and remove its helpers."""
    goal = repo[implementation.goal_file]
    masked = mask_function(goal.data.decode("utf-8"), implementation.goal_function)
    for name in implementation.remove:
        masked = remove_definition(masked, name)
    repo[implementation.goal_file] = goal._replace(data=masked.encode("utf-8"))
