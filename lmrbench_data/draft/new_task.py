"""Draft a task folder from a paper's PDF and a repository: facts, files and a form to fill in; TODO marks the rest."""

import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmrbench_evaluate.checks.lint_code import contents, missing_imports

from ..base.definitions import CodeIndex
from ..base.errors import ArgumentError, InputError
from ..base.paths import benchmark_folder
from ..base.source import SourceError
from ..base.text import counted, one_line
from ..base.uses import reachable_files
from ..chat.client import RequestFailed
from ..chat.endpoint import Endpoint
from ..loader import write_files
from ..tasks.environments import Environment, load_environments
from ..tasks.masking import mask_function
from .calls import Call, calls_of
from .forms import GoalFunction, cases_py, paper_md, task_yaml
from .instruction import draft_instruction
from .paper_facts import PaperFacts, read_facts
from .source_repository import SourceRepository, read_repository

#: The environment of a new task, if the benchmark has it.
ENVIRONMENT = "torch-cpu"
KINDS = ("valid", "plain", "careless", "wrong")


@dataclass(frozen=True)
class Draft:
    """A task folder that was drafted."""

    folder: Path
    instance_id: str
    notes: Sequence[str]
    """Lines for the author: facts that were read, and warnings."""

    def as_row(self) -> dict[str, Any]:
        """For --json."""
        return {"folder": str(self.folder), "instance_id": self.instance_id, "notes": list(self.notes)}


def new_task(
    *,
    paper: Path,
    repo: Path,
    goal: str,
    benchmark: Path | None = None,
    slug: str = "",
    model: str = "",
    base_url: str | None = None,
) -> Draft:
    """Draft the next task folder of a benchmark.

    Args:
        paper: the PDF.
        repo: a folder with the repository; nothing in it is run or changed.
        goal: `FILE::FUNCTION`, FUNCTION may be `Class.method`.
        benchmark: a folder with benchmark.yaml; by default that of this checkout.
        slug: end of the folder's name; the repository's name by default.
        model, base_url: the model that drafts the instruction, and its server; without a model it is a template.

    Raises:
        ArgumentError, InputError: an argument is wrong, or the PDF cannot be read; nothing was written.
        InfraError: nothing answers at the model's address.
    """
    folder = _benchmark(benchmark)
    repository = read_repository(repo)
    target = _goal(repository, goal)
    try:
        facts = read_facts(paper)
    except InputError as error:
        raise ArgumentError("paper", str(error)) from error
    environments = load_environments(folder)
    if not environments:
        raise ArgumentError("benchmark", f"{folder / 'environments'} is empty; a task needs one to run in")
    environment = environments.get(ENVIRONMENT) or next(iter(environments.values()))
    name = _slug(slug or repository.name)
    # `FocalLoss.forward` is known as focal-loss.
    function = _slug(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", re.sub(r"\.(?:forward|__call__)$", "", target.name)))
    instance = function if function.startswith(f"{name}-") else f"{name}-{function}"
    calls = calls_of(CodeIndex(target.files), target.path, target.name)
    notes = [f"paper: {one_line(facts.title) or 'no title found'} ({facts.authors or 'authors not read'})"]
    instruction, note = _instruction(target, facts, model, base_url)
    notes.append(note)
    task = folder / f"{_next_number(folder):02d}-{name}"
    staging = Path(tempfile.mkdtemp(dir=folder, prefix=".new-task-"))
    try:
        write_files(repository.files, staging / "repo")
        texts = {
            "task.yaml": task_yaml(repository, facts, target, calls, instance, instruction, environment.name),
            "paper.md": paper_md(facts),
            "unit_test/cases.py": cases_py(target, instance),
        }
        for path, text in texts.items():
            (staging / path).parent.mkdir(exist_ok=True)
            (staging / path).write_text(text, encoding="utf-8")
        for kind in KINDS:
            (staging / "variants" / instance / kind).mkdir(parents=True)
        staging.chmod(0o755)
        os.rename(staging, task)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return Draft(task, instance, [*notes, *_notes(repository, target, calls, environment)])


def _benchmark(folder: Path | None) -> Path:
    if folder is None and (benchmark_folder().parent / "pyproject.toml").is_file():
        folder = benchmark_folder()  # a checkout
    if folder is None:
        raise ArgumentError("benchmark", "is missing; `lmrbench dataset init DIR` makes a folder for tasks of your own")
    if not (folder / "benchmark.yaml").is_file():
        raise ArgumentError("benchmark", f"{folder} has no benchmark.yaml; `lmrbench dataset init {folder}` makes one")
    return folder


def _goal(repository: SourceRepository, goal: str) -> GoalFunction:
    path, separator, name = goal.partition("::")
    path = path.removeprefix("./")
    if not (separator and path and name):
        raise ArgumentError("goal", f"{goal!r} is not of the form FILE::FUNCTION, such as losses.py::Focal.forward")
    if path not in repository.files:
        raise ArgumentError("goal", f"no file {path!r} among those read from the repository")
    try:
        source = repository.files[path].data.decode("utf-8")
        mask_function(source, name)
    except (SourceError, UnicodeDecodeError) as error:
        raise ArgumentError("goal", f"{path}: {error}") from error
    return GoalFunction(repository.files, path, name, source)


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "task"


def _next_number(folder: Path) -> int:
    numbers = [int(found[1]) for path in folder.iterdir() if (found := re.match(r"(\d+)-", path.name))]
    return max(numbers, default=0) + 1


def _instruction(goal: GoalFunction, facts: PaperFacts, model: str, base_url: str | None) -> tuple[str, str]:
    """Return (text for task.yaml, a note on its origin)."""
    template = (
        f"TODO: one to four sentences, about 50 words. Implement `{goal.name}` in `{goal.path}`: the ... of Section "
        "... (Eq. ...). ... is out of scope."
    )
    if not model:
        return template, "instruction: a template; --model lets a model draft it"
    masked = mask_function(goal.source, goal.name)
    try:
        text, problems = draft_instruction(
            Endpoint(model, base_url),
            goal_file=goal.path,
            goal_function=goal.name,
            masked=masked,
            paper=facts.text,
        )
    except RequestFailed as error:
        return template, f"instruction: a template; {model} gave none ({error})"
    wrong = f"; wrong in form: {'; '.join(problems)}" if problems else ""
    return f"TODO: {model} wrote this; read it against the paper, then delete this line.\n{text}", (
        f"instruction: drafted by {model}{wrong}"
    )


def _notes(
    repository: SourceRepository, goal: GoalFunction, calls: Sequence[Call], environment: Environment
) -> list[str]:
    copied = counted(len(repository.files), "file")
    notes = [f"repository: {copied} copied to repo/, which is the one to edit from now on"]
    foreign: dict[str, str] = {}
    for path, line, module in missing_imports(repository.files, environment):
        foreign.setdefault(module, f"{module} ({path}, line {line})")
    if foreign:
        notes.append(f"cannot be imported: {', '.join(foreign.values())}; {contents(environment)}")
    if repository.left_out:
        shown = ", ".join(repository.left_out[:8])
        more = len(repository.left_out) - 8
        notes.append(f"left out: {shown}{f' and {more} more' if more > 0 else ''}")
    tested = sum(call.is_in_tests for call in calls)
    notes.append(f"calls of {goal.name}: {len(calls) - tested} in the repository, {tested} in its tests")
    starts = [file.data for path, file in repository.files.items() if path.endswith(".py") and b"__main__" in file.data]
    tests = [file.data for path, file in repository.files.items() if path.startswith("tests/")]
    reachable = reachable_files(goal.files, [goal.path], [*starts, *tests])
    scripts = {path for path, file in goal.files.items() if b"__main__" in file.data}
    idle = [
        path
        for path in goal.files
        if path.endswith(".py") and path not in reachable | scripts and not path.startswith("tests/")
    ]
    if idle:
        notes.append(f"imported by nothing that runs: {', '.join(idle[:8])}; a compact repository reads better")
    return notes
