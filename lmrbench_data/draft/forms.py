"""The texts of a drafted task: task.yaml, paper.md and cases.py, with TODO for the parts that its author writes."""

import json
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ..base.definitions import CodeIndex
from ..base.text import one_line
from ..base.uses import SourceFunction, used_definitions
from ..loader import File
from .calls import Call
from .paper_facts import PaperFacts
from .source_repository import SourceRepository

#: Files of a prompt beside the goal file.
MAX_CONTEXT = 6
_CHECK = "  # TODO: check what was read, then delete this comment"


class GoalFunction(NamedTuple):
    """The goal function in its repository."""

    files: Mapping[str, File]
    path: str
    name: str
    source: str
    """The goal file."""


def _context(goal: GoalFunction, calls: Sequence[Call]) -> tuple[list[str], list[str]]:
    """Return (files that the goal function uses, those and the files that show how it is used)."""
    others = CodeIndex(goal.files, without=[goal.path])
    found = used_definitions(others, [SourceFunction(goal.path, goal.name, goal.source)], budget=100_000)
    used = list(dict.fromkeys(definition.path for definition in found))
    callers = [call.path for call in calls if not call.is_in_tests and call.path != goal.path]
    code = "\n".join([goal.source, *(goal.files[path].data.decode("utf-8") for path in callers)])
    settings = [
        path for path in goal.files if path.endswith((".toml", ".yaml", ".yml", ".json")) and Path(path).name in code
    ]
    return used, list(dict.fromkeys([*used, *callers, *settings]))[:MAX_CONTEXT]


def task_yaml(
    repository: SourceRepository,
    facts: PaperFacts,
    goal: GoalFunction,
    calls: Sequence[Call],
    instance: str,
    instruction: str,
    environment: str,
) -> str:
    """The draft of task.yaml."""

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


def paper_md(facts: PaperFacts) -> str:
    """The draft of paper.md."""
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


def cases_py(goal: GoalFunction, instance: str) -> str:
    """The draft of unit_test/cases.py: an empty case of each kind."""
    module = goal.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return f'''"""Labelled inputs for {instance}."""

from lmrbench_cases import core
from {module} import {goal.name.partition(".")[0]}  # TODO: as the repository imports it


# TODO: a core case for each step and equation of the method. Make inputs from the seed and return what comes out.
@core
def case_method(seed):
    raise NotImplementedError  # TODO


# TODO: cases of the contract, without the mark: half precision, empty batches, errors for bad input, inputs that stay
# as they are.
def case_contract(seed):
    raise NotImplementedError  # TODO
'''
