"""Draft a task folder from a paper's PDF and a repository: facts, files, skeletons; TODO marks what is left to say."""

import json
import os
import re
import shutil
import tempfile
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..chat.client import Endpoint, RequestFailed
from ..environments import Environment, load_environments
from ..errors import ArgumentError, InputError
from ..evaluate.judge.definitions import used_definitions
from ..evaluate.judge.reach import reached_files
from ..evaluate.tasks.lint_code import contents, missing_imports
from ..loader import write_files
from ..masking import mask_function
from ..paths import benchmark_folder
from ..source import SourceError
from ..text import counted, one_line
from .calls import Call, Goal, calls_of, cases_source
from .facts import Facts, read_facts
from .instruction import draft_instruction
from .repository import Repository, read_repository

#: Files of a prompt beside the goal file.
MAX_CONTEXT = 6
#: Of a new task, where the benchmark has it.
ENVIRONMENT = "torch-cpu"
KINDS = ("valid", "plain", "careless", "wrong")
_CHECK = "  # TODO: check what was read, then delete this comment"


@dataclass(frozen=True)
class Draft:
    """A task folder that was drafted."""

    folder: Path
    instance_id: str
    notes: Sequence[str]
    """What was found, and what a person should know."""

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
        benchmark: a folder with benchmark.yaml; that of this checkout if None.
        slug: of the folder's name; the repository's name by default.
        model, base_url: who drafts the instruction, and where; without a model it is a template.

    Raises:
        ArgumentError, InputError: an argument is wrong, or the PDF cannot be read; nothing was written.
        InfraError: nothing answers where the model should be.
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
    calls = calls_of(target)
    notes = [f"paper: {one_line(facts.title) or 'no title found'} ({facts.authors or 'authors not read'})"]
    instruction, note = _instruction(target, facts, model, base_url)
    notes.append(note)
    task = folder / f"{_next_number(folder):02d}-{name}"
    staging = Path(tempfile.mkdtemp(dir=folder, prefix=".new-task-"))
    try:
        write_files(repository.files, staging / "repo")
        texts = {
            "task.yaml": _task_yaml(repository, facts, target, calls, instance, instruction, environment.name),
            "paper.md": _paper(facts),
            "unit_test/cases.py": cases_source(target, instance, calls),
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


def _goal(repository: Repository, goal: str) -> Goal:
    path, separator, name = goal.partition("::")
    path = path.removeprefix("./")
    if not (separator and path and name):
        raise ArgumentError("goal", f"{goal!r} is not of the form FILE::FUNCTION, such as losses.py::Focal.forward")
    if path not in repository.files:
        raise ArgumentError("goal", f"no file {path!r} among those that were read of the repository")
    target = Goal(repository.files, path, name)
    try:
        mask_function(target.source, name)
    except (SourceError, UnicodeDecodeError) as error:
        raise ArgumentError("goal", f"{path}: {error}") from error
    return target


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "task"


def _next_number(folder: Path) -> int:
    numbers = [int(found[1]) for path in folder.iterdir() if (found := re.match(r"(\d+)-", path.name))]
    return max(numbers, default=0) + 1


def _instruction(goal: Goal, facts: Facts, model: str, base_url: str | None) -> tuple[str, str]:
    """(text for task.yaml, a note on where it comes from)."""
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


def _context(goal: Goal, calls: Sequence[Call]) -> tuple[list[str], list[str]]:
    """(files that the goal function uses, those and the files that show how it is used)."""
    found = used_definitions(goal.files, goal.path, goal.name, [goal.source], budget=100_000)
    used = list(dict.fromkeys(definition.path for definition in found))
    callers = [call.path for call in calls if not call.path.startswith("tests/") and call.path != goal.path]
    code = "\n".join([goal.source, *(goal.files[path].data.decode("utf-8") for path in callers)])
    settings = [
        path for path in goal.files if path.endswith((".toml", ".yaml", ".yml", ".json")) and Path(path).name in code
    ]
    return used, list(dict.fromkeys([*used, *callers, *settings]))[:MAX_CONTEXT]


def _task_yaml(
    repository: Repository,
    facts: Facts,
    goal: Goal,
    calls: Sequence[Call],
    instance: str,
    instruction: str,
    environment: str,
) -> str:
    def text(value: str) -> str:
        return json.dumps(one_line(value), ensure_ascii=False) if value else "TODO"

    used, context = _context(goal, calls)
    paths = {key: json.dumps(value, ensure_ascii=False) for key, value in (("used", used), ("context", context))}
    arxiv = json.dumps(facts.arxiv_id) if facts.arxiv_id else "null"
    upstream = text(repository.upstream or "")
    lines = [
        f"paper:{_CHECK}",
        f"  title: {text(facts.title)}",
        f"  authors: {text(facts.authors)}",
        f"  url: {text(facts.url)}",
        f"  arxiv_id: {arxiv}",
        f"  venue: {text(facts.venue)}",
        f"  year: {facts.year or 'TODO'}",
        f"upstream_repo: {upstream}" + ("" if repository.upstream else " where the authors' code lives"),
        f"repo_name: {text(repository.name)}",
        f"license: {repository.license or 'TODO of repo/, such as mit'}",
        f"environment: {environment}",
        f"demo_command: {text(repository.demo_command() or 'python TODO.py')}",
        "implementations:",
        f"  - instance_id: {text(instance)}",
        "    category: TODO  # `lmrbench tasks lint` says which there are",
        f"    goal_file: {text(goal.path)}",
        f"    goal_function: {text(goal.name)}",
        f"    context_files: {paths['context']}",
        f"    depends_on: {paths['used']}",
        "    remove: []",
        "    instruction: |",
        *_block(instruction),
        "    contract: |",
        *_block(
            "TODO: every convention that paper and repository leave open and the cases test: shapes and dtypes, empty "
            "and extreme input, errors, gradients, what stays unchanged. Never the answer."
        ),
        "    tests: {file: unit_test/cases.py, seeds: [0, 1, 2], timeout_s: 60, memory_mb: 2048}",
    ]
    return "\n".join(lines) + "\n"


def _block(text: str) -> list[str]:
    return [f"      {line}" for part in text.splitlines() for line in textwrap.wrap(part, 112)]


def _paper(facts: Facts) -> str:
    headings = "".join(f"- {one_line(heading)}\n" for heading in facts.headings)
    return (
        f"# {one_line(facts.title) or 'TODO: the title'}\n\n"
        "TODO: what the paper says, in your own words, one to two pages. No sentence is copied, and nothing is said\n"
        "about our repository. Name the section or equation behind each statement.\n\n"
        + (f"TODO: the PDF's headings, to find your way; delete this list.\n\n{headings}\n" if headings else "")
        + "## Problem\n\nTODO\n\n"
        "## Notation\n\nTODO\n\n"
        "## Method\n\nTODO: equations as LaTeX in `$$`, the algorithm\n\n"
        "## Settings\n\nTODO: values that the paper uses, and where it gives them\n"
    )


def _notes(repository: Repository, goal: Goal, calls: Sequence[Call], environment: Environment) -> list[str]:
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
    outside = [call for call in calls if not call.path.startswith("tests/")]
    notes.append(f"calls of {goal.name}: {len(outside)} in the repository, {len(calls) - len(outside)} in its tests")
    starts = [file.data for path, file in repository.files.items() if path.endswith(".py") and b"__main__" in file.data]
    tests = [file.data for path, file in repository.files.items() if path.startswith("tests/")]
    reached = reached_files(goal.files, goal.path, [*starts, *tests])
    scripts = {path for path, file in goal.files.items() if b"__main__" in file.data}
    idle = [
        path
        for path in goal.files
        if path.endswith(".py") and path not in reached | scripts and not path.startswith("tests/")
    ]
    if idle:
        notes.append(f"imported by nothing that runs: {', '.join(idle[:8])}; a compact repository reads better")
    return notes
