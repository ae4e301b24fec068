"""Tasks: a paper, its reference repository and goal functions; the views of the repository with functions masked."""

import dataclasses
import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from ..base.errors import InputError
from ..base.paths import has_variants
from ..loader import COUNTERFACTUAL, FUNCTION, METHOD, UNDERSPECIFIED, File
from .choices import Choice, render_paper, with_options
from .environments import load_environments
from .experiments import EASY, OPEN, Tables, experiment_files, tables_section
from .masking import mask_files

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


@dataclass(frozen=True, kw_only=True)
class Instance:
    """Masked functions of a repository, and how an answer is tested: one row of the dataset."""

    config: ClassVar[str] = FUNCTION
    """The configuration of the dataset that the row belongs to."""
    instance_id: str
    category: str
    goals: Mapping[str, Sequence[str]]
    """File → qualified names of the functions to write."""
    removed: Mapping[str, Sequence[str]]
    """File → names of the definitions that only the reference needs."""
    context_files: tuple[str, ...]
    instruction: str
    """The request of a paper's author to a colleague; every track shows it."""
    tests: Tests
    depends_on: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    """Passages of the repository that settle doubts, for people; rows have them because proofs hash whole rows."""
    equivalent_mutants: Mapping[str, str] = field(default_factory=dict)
    """Mutants that behave like the reference (`dataset check --mutants` lists them) → reason."""


@dataclass(frozen=True, kw_only=True)
class Implementation(Instance):
    """One goal function of a task: a row of the configuration `function`."""

    contract: str
    """The conventions that paper and repository leave open; the contract track shows them."""
    shown_siblings: Mapping[str, str] = field(default_factory=dict)
    """Instances of the same paper whose goal functions this one calls → reason; all others are masked."""

    @property
    def goal_file(self) -> str:
        """The file of the goal function."""
        return next(iter(self.goals))

    @property
    def goal_function(self) -> str:
        """The qualified name of the goal function."""
        return self.goals[self.goal_file][0]


class Method(Instance):
    """All functions of a paper's contribution: a row of the configuration `method`."""

    config: ClassVar[str] = METHOD


@dataclass(frozen=True, kw_only=True)
class Altered(Method):
    """A method with options that were not published: a row of the configuration `counterfactual`."""

    chosen: Mapping[str, str]
    """Choice → option, for the choices that differ from the published method."""

    config: ClassVar[str] = COUNTERFACTUAL

    def option_of(self, choice: Choice) -> str:
        """Return the option that the instance's reference implements."""
        return self.chosen.get(choice.name, choice.published)


@dataclass(frozen=True, kw_only=True)
class Underspecified(Altered):
    """A method whose paper leaves choices open: a row of the configuration `underspecified`."""

    open: tuple[str, ...]
    """The open choices; `chosen` has those whose true option was not published."""
    tables: tuple[str, ...]
    """Tables of experiments.py whose numbers under the true options the paper reports."""
    cpu_budget_s: int
    """CPU seconds that experiments may take."""
    difficulty: str = EASY
    """One of DIFFICULTIES."""
    equal_outsiders: Mapping[str, str] = field(default_factory=dict)
    """Outsiders of `dataset check` that may give the same tables, `<choice> <change>` → reason."""

    config: ClassVar[str] = UNDERSPECIFIED


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
    instances: tuple[Instance, ...]
    """The selected instances, all of one configuration."""
    siblings: tuple[Implementation, ...] = field(repr=False)
    """All implementations of the paper."""
    method: Method | None = field(repr=False)
    paper_source: str = field(repr=False)
    """paper.md, with marks around the regions of choices."""
    repo: Mapping[str, File] = field(repr=False)
    choices: tuple[Choice, ...] = field(default=(), repr=False)
    """The decisions of the method that have options."""
    counterfactuals: tuple[Altered, ...] = field(default=(), repr=False)
    underspecified: tuple[Underspecified, ...] = field(default=(), repr=False)

    @property
    def every_instance(self) -> tuple[Instance, ...]:
        """The instances of all configurations."""
        return (*self.siblings, *([self.method] if self.method else []), *self.counterfactuals, *self.underspecified)

    def instances_of(self, config: str) -> tuple[Instance, ...]:
        """Return the instances of one configuration."""
        return {
            FUNCTION: self.siblings,
            METHOD: (self.method,) if self.method else (),
            COUNTERFACTUAL: self.counterfactuals,
            UNDERSPECIFIED: self.underspecified,
        }[config]

    @property
    def options(self) -> tuple[Altered, ...]:
        """Each option of each choice alone, the published ones included; recorded to recognise options by outputs."""
        if self.method is None:
            return ()
        facts = {item.name: getattr(self.method, item.name) for item in dataclasses.fields(self.method)}
        return tuple(
            Altered(
                **{**facts, "instance_id": self.option_id(choice, option)},
                chosen={choice.name: option} if option != choice.published else {},
            )
            for choice in self.choices
            for option in choice.options
        )

    def option_id(self, choice: Choice, option: str) -> str:
        """Return the name of an option's recording."""
        assert self.method is not None
        return f"{self.method.instance_id.removesuffix(METHOD)}option-{choice.name}-{option}"

    @property
    def paper_text(self) -> str:
        """The paper as published."""
        return render_paper(self.paper_source)

    @property
    def name(self) -> str:
        """The folder's name, `NN-slug`."""
        return self.folder.name

    @property
    def implementations(self) -> tuple[Implementation, ...]:
        """The selected instances that are implementations."""
        return tuple(item for item in self.instances if isinstance(item, Implementation))

    @functools.cached_property
    def image_tag(self) -> str:
        """Tag of the image that runs the task's code; read once."""
        environment = load_environments(self.folder.parent).get(self.environment)
        if environment is None:
            path = self.folder / "task.yaml"
            raise InputError(f"{path}: environment: no folder environments/{self.environment}; name one that is there")
        return environment.tag

    def golden_repo(self, instance: Instance) -> dict[str, File]:
        """Return the repository with the goal functions of an instance.

        For an implementation, siblings are masked unless `shown_siblings` names them: no instance may show the answer
        to another. A method is everything that is masked anywhere, so its repository is whole. The functions of choices
        are those of the instance's options, and an underspecified instance has the experiments of its tables.
        """
        repo = self._shown_repo(instance)
        if isinstance(instance, Altered):
            repo = with_options(repo, self.choices, instance.chosen)
        if isinstance(instance, Implementation):
            for other in self.siblings:
                if other.instance_id not in {instance.instance_id, *instance.shown_siblings}:
                    repo = mask_files(repo, other.goals, other.removed, keep_imports=True)
        return repo

    def golden_files(self, instance: Instance) -> dict[str, str]:
        """Return the reference's goal files, siblings masked as in `golden_repo`."""
        repo = self.golden_repo(instance)
        return {name: repo[name].data.decode("utf-8") for name in instance.goals}

    def masked_repo(self, instance: Instance) -> dict[str, File]:
        """Return the repository as a model sees it: goal functions masked, definitions in `removed` deleted.

        It is made of the published reference, so it is the same for a method and its counterfactuals.
        """
        repo = self.golden_repo(instance) if isinstance(instance, Implementation) else self._shown_repo(instance)
        keep_imports = isinstance(instance, Implementation)
        return mask_files(repo, instance.goals, instance.removed, keep_imports=keep_imports)

    def _shown_repo(self, instance: Instance) -> dict[str, File]:
        """Return the published repository, with the experiments of an underspecified instance."""
        experiments = experiment_files(self.folder) if isinstance(instance, Underspecified) else {}
        return {**self.repo, **experiments}

    def paper_of(self, instance: Instance, tables: Tables | None = None) -> str:
        """Return the paper that a model sees; the tables are recorded results of an underspecified instance."""
        chosen = instance.chosen if isinstance(instance, Altered) else {}
        texts = {item.name: item.texts[chosen[item.name]] for item in self.choices if item.name in chosen}
        if isinstance(instance, Underspecified):
            texts |= {item.name: item.open_text for item in self.choices if item.name in instance.open}
        return render_paper(self.paper_source, texts) + tables_section(tables or {})

    def instruction_of(self, instance: Instance) -> str:
        """Return the request that every track shows; an underspecified one names the open decisions and the budget."""
        if not isinstance(instance, Underspecified):
            return instance.instruction
        questions = "".join(f"- {choice.question}\n" for choice in self.choices if choice.name in instance.open)
        return f"{instance.instruction}\n\n{OPEN.format(questions=questions, cpu_s=instance.cpu_budget_s)}"

    def evidence(self, instance: Instance) -> list[str]:
        """Return `evidence`, and the files in `depends_on` that are not Python."""
        named = {re.split("[#:]", reference, maxsplit=1)[0] for reference in instance.evidence}
        others = [name for name in instance.depends_on if not name.endswith(".py") and name not in named]
        return [*instance.evidence, *others]

    def cases(self, instance: Instance) -> bytes:
        """Return the source of the labelled inputs."""
        return (self.folder / instance.tests.file).read_bytes()

    def variants(self, instance: Instance, kind: str) -> list[Path]:
        """Return the sorted `valid`, `plain`, `careless` or `wrong` variants: files, or folders of a method's files."""
        if not has_variants(self.folder.parent):
            raise InputError("variants exist only in a checkout: git clone https://github.com/lmr-bench/lmr-bench")
        folder = self.folder / "variants" / instance.instance_id / kind
        return sorted(folder.glob("*.py" if isinstance(instance, Implementation) else "*/"))
