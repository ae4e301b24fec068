"""The original's papers and functions: from info.json where the clone has it, else from the facts that we bundle."""

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..base.errors import InputError
from ..base.paths import benchmark_folder
from ..base.problems import Problem
from ..base.strict_yaml import read_yaml
from .clone import Clone, UnreadableFile, clone_error, clone_warning, number_of, subject_of
from .facts import labels, structures

#: Category of a function without one.
UNSTATED = "unstated"


@dataclass(frozen=True)
class Function:
    """One task of the original: a function of a paper's repository."""

    paper: int
    name: str
    """Name of the paper's folder, without its number."""
    index: int
    """Position among the implementations of info.json, from 0."""
    instance_id: str
    category: str

    @property
    def subject(self) -> str:
        """Its folder, as problems name it."""
        return subject_of(self.paper, self.name)


@dataclass(frozen=True)
class Info:
    """An info.json that can be read: the paper's facts and its implementations, unchanged."""

    folder: Path
    paper: int
    name: str
    facts: Mapping[str, Any]
    implementations: tuple[Mapping[str, Any], ...]

    @property
    def subject(self) -> str:
        """Its folder, as problems name it."""
        return subject_of(self.paper, self.name)


@dataclass(frozen=True)
class Catalogue:
    """All functions that are known, by paper and index."""

    functions: Mapping[tuple[int, int], Function]
    expected: frozenset[tuple[int, int]]
    """Functions that a results file should cover: those of the 28 in the clone's tree, or all 28 if it has none."""
    infos: tuple[Info, ...]

    def of_paper(self, paper: int) -> list[Function]:
        """The functions of one paper, in order."""
        return [function for (number, _), function in sorted(self.functions.items()) if number == paper]

    def subject(self, paper: int, name: str) -> str:
        """A paper's folder as problems name it: by its name in the tree if there is one."""
        return next((function.subject for function in self.of_paper(paper)), subject_of(paper, name))


def read_catalogue(clone: Clone, problems: list[Problem]) -> Catalogue:
    """The functions of the clone's tasks, and those of the 28 that the original published results of."""
    infos: list[Info] = []
    for folder in clone.task_folders:
        paper, name = number_of(folder.name) or (0, folder.name)
        if earlier := next((info for info in infos if info.paper == paper), None):
            message = f"the same number as {earlier.folder.name}; left out"
            problems.append(clone_error(folder.name, clone.place(folder), message))
        elif info := _read_info(clone, folder, paper, name, problems):
            infos.append(info)
    categories, names = _own_categories(), _folder_names()
    functions = {}
    for label in labels():
        category = categories.get(label.instance_id, UNSTATED)
        key = label.paper, label.function_index
        functions[key] = Function(label.paper, names[label.paper], label.function_index, label.instance_id, category)
    expected = {key for key in functions if not infos or key[0] in {info.paper for info in infos}}
    for info in infos:
        for index, item in enumerate(info.implementations):
            known = functions.get((info.paper, index))
            instance_id = known.instance_id if known else _instance_id(info.paper, info.name, index)
            category = text_of(item, "category") or (known.category if known else UNSTATED)
            functions[info.paper, index] = Function(info.paper, info.name, index, instance_id, category)
    return Catalogue(functions, frozenset(expected), tuple(infos))


def _read_info(clone: Clone, folder: Path, paper: int, name: str, problems: list[Problem]) -> Info | None:
    path = folder / "info.json"

    try:
        facts = clone.read_json(path)
    except UnreadableFile as error:
        problems.append(clone_error(folder.name, clone.place(path), f"{error}; the task is left out"))
        return None
    items = facts.get("implementations") if isinstance(facts, dict) else None
    if not isinstance(items, list) or not items or not all(isinstance(item, dict) for item in items):
        message = "no list of implementations; the task is left out"
        problems.append(clone_error(folder.name, clone.place(path), message))
        return None
    for position, item in enumerate(items, start=1):
        if item.get("index") not in (position, str(position)):
            message = f"implementation {position} says index {item.get('index')!r}; its position counts"
            problems.append(clone_warning(folder.name, clone.place(path), message))
    if text_of(facts, "folder_name") not in (folder.name, ""):
        message = f"folder_name is {text_of(facts, 'folder_name')!r}; the folder's own name counts"
        problems.append(clone_warning(folder.name, clone.place(path), message))
    return Info(folder, paper, name, facts, tuple(items))


def _folder_names() -> dict[int, str]:
    """Name of each paper's folder in the original's tree, without its number."""
    numbers = (number_of(item.folder) for item in structures())
    return dict(number for number in numbers if number)


def _instance_id(paper: int, name: str, index: int) -> str:
    """Return a plain name for a function that is not one of the 28."""
    return f"{paper:02d}-{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-') or 'paper'}-{index + 1}"


@functools.cache
def _own_categories() -> dict[str, str]:
    """Category of each of our own instances: the 28 are the same functions of the same papers."""
    found: dict[str, str] = {}
    for path in benchmark_folder().glob("*/task.yaml"):
        try:
            items = read_yaml(path).get("implementations", [])
        except InputError:
            continue
        found |= {str(item["instance_id"]): str(item["category"]) for item in items}
    return found


def text_of(facts: Mapping[str, Any], name: str) -> str:
    """A text of info.json, empty if there is none of that name."""
    value = facts.get(name)
    return value.strip() if isinstance(value, str) else ""
