"""Tasks: a paper, its reference repository and goal functions; the views of the repository with functions masked."""

import dataclasses
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
    """Wall time for all cases and seeds together, including the start of the interpreter."""
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
    """Passages of the repository that settle doubts, for people; rows have them because proofs hash whole rows."""
    equivalent_mutants: Mapping[str, str] = field(default_factory=dict)
    """Mutants that behave like the reference (`tests/mutants.py` lists them) → reason."""
    contract: str = ""
    """The conventions that paper and repository leave open; the contract track shows them."""
    shown_siblings: Mapping[str, str] = field(default_factory=dict)
    """Instances of the same paper whose goal functions this one calls → reason; all others are masked."""
    chosen: Mapping[str, str] = field(default_factory=dict)
    """Choice → option, for the choices that differ from the published method."""
    open: tuple[str, ...] = ()
    """The choices that the paper leaves open, or of which any may be a silent departure; `chosen` has those whose true
    option was not published."""
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
        """Return the published repository, whose goal functions are masked for a model."""
        return dict(task.repo)

    def instruction_with(self, choices: Sequence[Choice]) -> str:
        """Return the request that every track shows."""
        return self.instruction

    def columns(self, golden: Mapping[str, str]) -> dict[str, Any]:
        """Return the columns of the row that only some configurations have, from the reference's texts by file."""
        return {
            "goals": [
                {"file": name, "functions": list(functions)}
                for name, functions in self.goals.items()
            ],
            "golden_files": [{"path": name, "text": text} for name, text in golden.items()],
        }


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
        """Return it with siblings masked unless `shown_siblings` names them: none may show the answer to another."""
        repo = dict(task.repo)
        for other in task.siblings:
            if other.instance_id not in {self.instance_id, *self.shown_siblings}:
                repo = mask_files(repo, other.goals, other.removed, keep_imports=True)
        return repo

    def columns(self, golden: Mapping[str, str]) -> dict[str, Any]:
        """Return the columns on the one function."""
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
    """A method with options that were not published: a row of the configuration `counterfactual`."""

    configuration: ClassVar[Configuration] = CONFIGURATIONS[COUNTERFACTUAL]


class Underspecified(Altered):
    """A method whose true choices only numbers tell: a row of the configuration `underspecified`."""

    configuration: ClassVar[Configuration] = CONFIGURATIONS[UNDERSPECIFIED]

    def published_repo(self, task: "Task") -> dict[str, File]:
        """Return it with the experiments of its tables."""
        return {**task.repo, **experiment_files(task.folder / self.experiments)}

    def instruction_with(self, choices: Sequence[Choice]) -> str:
        """Return the request, which names the open decisions or the number of departures, and the budget."""
        if self.difficulty == SILENT:
            places = {"least": MIN_DEPARTURES, "most": len(self.open), "table": self.tables[0]}
            return f"{self.instruction}\n\n{DEPARTURES.format(**places, cpu_s=self.cpu_budget_s)}"
        questions = "".join(
            f"- {choice.question}\n" for choice in choices if choice.name in self.open
        )
        return f"{self.instruction}\n\n{OPEN.format(questions=questions, cpu_s=self.cpu_budget_s)}"

    def columns(self, golden: Mapping[str, str]) -> dict[str, Any]:
        """Return those of a method, and what an answer may spend."""
        return {
            **super().columns(golden),
            "cpu_budget_s": self.cpu_budget_s,
            "difficulty": self.difficulty,
        }


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
        return (
            *self.siblings,
            *([self.method] if self.method else []),
            *self.counterfactuals,
            *self.underspecified,
        )

    def instances_of(self, config: str) -> tuple[Instance, ...]:
        """Return the instances of one configuration."""
        return tuple(item for item in self.every_instance if item.config == config)

    @property
    def options(self) -> tuple[Altered, ...]:
        """Each option of each choice alone, the published ones included; recorded to recognise options by outputs."""
        if self.method is None:
            return ()
        facts = {
            item.name: getattr(self.method, item.name) for item in dataclasses.fields(self.method)
        }
        return tuple(
            Altered(
                **{
                    **facts,
                    "instance_id": self.option_id(choice, option),
                    "chosen": {choice.name: option} if option != choice.published else {},
                }
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
        return tuple(item for item in self.siblings if item in self.instances)

    @functools.cached_property
    def image_tag(self) -> str:
        """Tag of the image that runs the task's code; read once."""
        environment = load_environments(self.folder.parent).get(self.environment)
        if environment is None:
            path = self.folder / "task.yaml"
            raise InputError(
                f"{path}: environment: no folder environments/{self.environment}; name one that is there"
            )
        return environment.tag

    def golden_repo(self, instance: Instance) -> dict[str, File]:
        """Return the repository with the goal functions of an instance, those of choices by the instance's options.

        A method is everything that is masked anywhere, so its repository is whole.
        """
        return with_options(instance.published_repo(self), self.choices, instance.chosen)

    def golden_files(self, instance: Instance) -> dict[str, str]:
        """Return the reference's goal files, siblings masked as in `golden_repo`."""
        repo = self.golden_repo(instance)
        return {name: repo[name].data.decode("utf-8") for name in instance.goals}

    def masked_repo(self, instance: Instance) -> dict[str, File]:
        """Return the repository as a model sees it: goal functions masked, definitions in `removed` deleted.

        It is made of the published reference, so it is the same for a method and its counterfactuals.
        """
        repo, keep_imports = instance.published_repo(self), not instance.configuration.is_method
        return mask_files(repo, instance.goals, instance.removed, keep_imports=keep_imports)

    def paper_of(self, instance: Instance, tables: Tables | None = None) -> str:
        """Return the paper that a model sees; the tables are recorded results of an underspecified instance."""
        chosen, texts = instance.chosen, {}
        if instance.difficulty != SILENT:
            texts = {
                item.name: item.texts[chosen[item.name]]
                for item in self.choices
                if item.name in chosen
            }
            texts |= {
                item.name: item.open_text for item in self.choices if item.name in instance.open
            }
        return render_paper(self.paper_source, texts) + tables_section(tables or {})

    def instruction_of(self, instance: Instance) -> str:
        """Return the request that every track shows."""
        return instance.instruction_with(self.choices)

    def evidence(self, instance: Instance) -> list[str]:
        """Return `evidence`, and the files in `depends_on` that are not Python."""
        named = {re.split("[#:]", reference, maxsplit=1)[0] for reference in instance.evidence}
        others = [
            name for name in instance.depends_on if not name.endswith(".py") and name not in named
        ]
        return [*instance.evidence, *others]

    def cases(self, instance: Instance) -> bytes:
        """Return the source of the labelled inputs."""
        return (self.folder / instance.tests.file).read_bytes()

    def variants(self, instance: Instance, kind: str) -> list[Path]:
        """Return the sorted `valid`, `plain`, `careless` or `wrong` variants: files, or folders of a method's files."""
        if not has_variants(self.folder.parent):
            fix = "git clone https://github.com/lmr-bench/lmr-bench, and add --benchmark benchmark there"
            raise InputError(f"variants exist only in a checkout: {fix}")
        folder = self.folder / "variants" / instance.instance_id / kind
        return matching(folder, "*/" if instance.configuration.is_method else "*.py")
