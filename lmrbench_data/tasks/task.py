"""Tasks: a paper, its reference repository and goal functions; views with functions masked."""

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from ..base.archive import matching
from ..base.configurations import CONFIGURATIONS, Configuration
from ..base.errors import InputError
from ..base.paths import has_variants
from ..loader import COUNTERFACTUAL, FUNCTION, METHOD, UNDERSPECIFIED, File
from .choices import Choice, render_paper, with_options
from .environments import load_environments
from .experiments import (
    DEPARTURES,
    FILE,
    MIN_DEPARTURES,
    OPEN,
    SILENT,
    Tables,
    experiment_files,
    tables_section,
)
from .masking import mask_files

#: Folder of a task that holds the recorded outputs of its references.
RECORDED = "recorded"


@dataclass(frozen=True)
class Tests:
    """Cases, seeds and limits of an instance."""

    file: str
    seeds: tuple[int, ...]
    timeout_s: int
    """CPU time for all cases and seeds together."""
    memory_mb: int


@dataclass(frozen=True, kw_only=True)
class Instance:
    """Masked functions of a repository, and how an answer is tested: one row of the dataset."""

    configuration: ClassVar[Configuration]
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
    """Passages of the repository that settle doubts, for people."""
    equivalent_mutants: Mapping[str, str] = field(default_factory=dict)
    """Mutants that behave like the reference (`tests/mutants.py` lists them) → reason."""
    contract: str = ""
    """The conventions that paper and repository leave open; the contract track shows them."""
    shown_siblings: Mapping[str, str] = field(default_factory=dict)
    """Instances of the paper whose goal functions this one calls → reason; others are masked."""
    chosen: Mapping[str, str] = field(default_factory=dict)
    """Choice → option, for the choices that differ from the published method."""
    open: tuple[str, ...] = ()
    """The choices that the paper leaves open, or of which any may be a silent departure; `chosen`
    has those whose true option was not published."""
    tables: tuple[str, ...] = ()
    """Tables of experiments.py whose numbers under the true options the paper reports."""
    experiments: str = FILE
    """File of the task whose text is the repository's experiments.py."""
    equal_outsiders: Mapping[str, str] = field(default_factory=dict)
    """Outsiders of `dataset check` that may give the same tables, `<choice> <change>` → reason."""
    cpu_budget_s: int = 0
    """CPU seconds that experiments may take."""
    difficulty: str = ""
    """One of DIFFICULTIES; empty without experiments."""

    @property
    def config(self) -> str:
        """Name of the configuration."""
        return self.configuration.name

    def option_of(self, choice: Choice) -> str:
        """Return the option that the instance's reference implements."""
        return self.chosen.get(choice.name, choice.published)

    def published_repo(self, task: "Task") -> dict[str, File]:
        """Return the repository of the published reference; `masked_repo` masks it for a model."""
        return dict(task.repo)

    def instruction_for(self, choices: Sequence[Choice]) -> str:
        """Return the request that every track shows, given the choices of the task."""
        return self.instruction

    def columns(self, golden: Mapping[str, str]) -> dict[str, Any]:
        """Return the columns that only some configurations have.

        Args:
            golden: file → text of the reference.
        """
        goals = [{"file": file, "functions": list(names)} for file, names in self.goals.items()]
        golden_files = [{"path": path, "text": text} for path, text in golden.items()]
        return {"goals": goals, "golden_files": golden_files}


class Implementation(Instance):
    """One goal function of a task: a row of the configuration `function`."""

    configuration: ClassVar[Configuration] = CONFIGURATIONS[FUNCTION]

    @property
    def goal_file(self) -> str:
        """The file of the goal function."""
        return next(iter(self.goals))

    @property
    def goal_function(self) -> str:
        """The qualified name of the goal function."""
        return self.goals[self.goal_file][0]

    def published_repo(self, task: "Task") -> dict[str, File]:
        """Return it with siblings masked, which show answers; `shown_siblings` stay."""
        repo = dict(task.repo)
        shown = {self.instance_id, *self.shown_siblings}
        for other in task.siblings:
            if other.instance_id not in shown:
                repo = mask_files(repo, other.goals, other.removed, keep_imports=True)
        return repo

    def columns(self, golden: Mapping[str, str]) -> dict[str, Any]:
        """Return the columns of a single goal function."""
        return {
            "contract": self.contract,
            "goal_file": self.goal_file,
            "goal_function": self.goal_function,
            "class_name": self.goal_function.rpartition(".")[0],
            "golden_file": golden[self.goal_file],
        }


class Method(Instance):
    """All functions of a paper's contribution: a row of the configuration `method`."""

    configuration: ClassVar[Configuration] = CONFIGURATIONS[METHOD]


class Altered(Method):
    """A method with unpublished options: a row of the configuration `counterfactual`."""

    configuration: ClassVar[Configuration] = CONFIGURATIONS[COUNTERFACTUAL]


class Underspecified(Altered):
    """A method with choices that only numbers show: a row of the configuration `underspecified`."""

    configuration: ClassVar[Configuration] = CONFIGURATIONS[UNDERSPECIFIED]

    def published_repo(self, task: "Task") -> dict[str, File]:
        """Return it with the experiments that print its tables."""
        return {**task.repo, **experiment_files(task.folder / self.experiments)}

    def instruction_for(self, choices: Sequence[Choice]) -> str:
        """Return the request with the budget and the open decisions or the number of departures."""
        questions = [f"- {item.question}\n" for item in choices if item.name in self.open]
        file = DEPARTURES if self.difficulty == SILENT else OPEN
        part = file.read_text(encoding="utf-8").format(
            questions="".join(questions),
            least=MIN_DEPARTURES,
            most=len(self.open),
            table=self.tables[0],
            cpu_s=self.cpu_budget_s,
        )
        return f"{self.instruction}\n\n{part.rstrip()}"

    def columns(self, golden: Mapping[str, str]) -> dict[str, Any]:
        """Return the columns of a method, the budget of experiments and the difficulty."""
        columns = super().columns(golden)
        columns["cpu_budget_s"] = self.cpu_budget_s
        columns["difficulty"] = self.difficulty
        return columns


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
        methods = [self.method] if self.method else []
        return (*self.siblings, *methods, *self.counterfactuals, *self.underspecified)

    def instances_of(self, config: str) -> tuple[Instance, ...]:
        """Return the instances of one configuration."""
        return tuple(item for item in self.every_instance if item.config == config)

    @property
    def options(self) -> tuple[Altered, ...]:
        """Each option of each choice alone, recorded to recognise options by outputs."""
        options = []
        for choice in self.choices:
            for option in choice.options:
                fields = dict(vars(self.method))
                fields["instance_id"] = self.option_id(choice, option)
                fields["chosen"] = {choice.name: option} if option != choice.published else {}
                options.append(Altered(**fields))
        return tuple(options)

    def option_id(self, choice: Choice, option: str) -> str:
        """Return the name of an option's recording."""
        assert self.method is not None
        return f"{self.method.instance_id.removesuffix(METHOD)}option-{choice.name}-{option}"

    @property
    def paper_text(self) -> str:
        """The paper as published."""
        return render_paper(self.paper_source, {})

    @property
    def name(self) -> str:
        """The folder's name, `NN-slug`."""
        return self.folder.name

    @property
    def names(self) -> set[str]:
        """The names by which a user selects the task or one of its selected instances."""
        return {self.name, *(item.instance_id for item in self.instances)}

    @property
    def ids(self) -> set[str]:
        """The instance ids of all configurations."""
        return {item.instance_id for item in self.every_instance}

    @property
    def implementations(self) -> tuple[Implementation, ...]:
        """The selected instances that are implementations."""
        return tuple(item for item in self.siblings if item in self.instances)

    @functools.cached_property
    def image_tag(self) -> str:
        """Tag of the image that runs the task's code; read once."""
        environment = load_environments(self.folder.parent).get(self.environment)
        if environment is None:
            raise InputError(
                f"{self.folder / 'task.yaml'}: environment: no folder "
                f"environments/{self.environment}; name one that is there"
            )
        return environment.tag

    def golden_repo(self, instance: Instance) -> dict[str, File]:
        """Return the repository with the goal functions and the options of an instance.

        A goal function's siblings may be masked in it; the repository of a method is whole.
        """
        return with_options(instance.published_repo(self), self.choices, instance.chosen)

    def golden_files(self, instance: Instance) -> dict[str, str]:
        """Return the reference's goal files, siblings masked as in `golden_repo`."""
        repo = self.golden_repo(instance)
        return {name: repo[name].data.decode("utf-8") for name in instance.goals}

    def masked_repo(self, instance: Instance) -> dict[str, File]:
        """Return the repository as a model sees it: without goal functions and `removed`.

        Its source is the published reference, so a method and its counterfactuals share one.
        """
        repo = instance.published_repo(self)
        keep_imports = not instance.configuration.is_method
        return mask_files(repo, instance.goals, instance.removed, keep_imports=keep_imports)

    def paper_of(self, instance: Instance, tables: Tables | None = None) -> str:
        """Return the paper that a model sees, with the recorded tables of the instance."""
        texts: dict[str, str] = {}
        if instance.difficulty != SILENT:
            for choice in self.choices:
                if choice.name in instance.open:
                    texts[choice.name] = choice.open_text
                elif choice.name in instance.chosen:
                    texts[choice.name] = choice.texts[instance.chosen[choice.name]]
        return render_paper(self.paper_source, texts) + tables_section(tables or {})

    def evidence(self, instance: Instance) -> list[str]:
        """Return `evidence`, and the files in `depends_on` that are not Python."""
        passages = list(instance.evidence)
        named = {re.split("[#:]", passage, maxsplit=1)[0] for passage in passages}
        for name in instance.depends_on:
            if not name.endswith(".py") and name not in named:
                passages.append(name)
        return passages

    def cases(self, instance: Instance) -> bytes:
        """Return the source of the labelled inputs."""
        return (self.folder / instance.tests.file).read_bytes()

    def variants(self, instance: Instance, kind: str) -> list[Path]:
        """Return the sorted variants of a kind: files, or folders of a method's files."""
        if not has_variants(self.folder.parent):
            clone = "git clone https://github.com/lmr-bench/lmr-bench"
            raise InputError(
                f"variants exist only in a checkout: {clone}, and add --benchmark benchmark there"
            )
        folder = self.folder / "variants" / instance.instance_id / kind
        return matching(folder, "*/" if instance.configuration.is_method else "*.py")
