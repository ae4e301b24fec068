"""Choices: decisions of a method, their options, and papers and references with other options.

A choice owns a region of paper.md and functions of one goal file. An option is a text for the
region and code for the functions; the published one stands in paper.md and in the repository.
Regions and functions of different choices are disjoint: any combination of options makes a paper
and a reference.
"""

import itertools
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..base.archive import matching
from ..base.errors import InputError
from ..base.source import SourceError
from ..base.splice import splice_functions
from ..loader import File

#: Folder of a task that holds the options.
FOLDER = "choices"
#: Smallest number of options of a choice, the published one included.
MIN_OPTIONS = 3
#: Smallest number of unpublished options in a counterfactual.
MIN_ALTERED = 2
_REGION = re.compile(
    r"^<!-- choice: ([a-z][a-z0-9-]*) -->\n(.*?)^<!-- /choice -->\n", re.DOTALL | re.MULTILINE
)
_MARK = re.compile(r"^<!-- /?choice\b", re.MULTILINE)


@dataclass(frozen=True)
class Choice:
    """A decision of a method."""

    name: str
    question: str
    """The decision, as a question in one line."""
    published: str
    """Name of the published option."""
    file: str
    functions: Sequence[str]
    open_text: str
    """The text of the region that leaves the decision open and names the family of options."""
    texts: Mapping[str, str]
    """Option → text of the region."""
    code: Mapping[str, str]
    """Option → source of the functions; none for the published option."""

    @property
    def options(self) -> tuple[str, ...]:
        """The names of all options, the published one first."""
        return (self.published, *self.code)

    def is_tested_by(self, case: Mapping[str, Any]) -> bool:
        """Return whether a case tests functions of this choice and nothing else."""
        return bool(case.get("goals")) and set(case["goals"]) <= set(self.functions)


def read_choices(
    folder: Path,
    stated: Mapping[str, Mapping[str, Any]],
    paper: str,
    goals: Mapping[str, Sequence[str]],
) -> tuple[Choice, ...]:
    """Read the choices of a task's folder.

    Args:
        stated: `choices` of method.yaml.
        paper: paper.md with the marks of the regions.
        goals: file → masked functions of the method.
    """
    regions = _regions(folder / "paper.md", paper, stated)
    owners: dict[tuple[str, str], str] = {}
    for name, facts in stated.items():
        for problem in _misplaced(name, facts, goals, owners):
            raise InputError(f"{folder / 'method.yaml'}: choices.{name}: {problem}")
    return tuple(_choice(folder, name, stated[name], regions[name]) for name in stated)


def _misplaced(
    name: str,
    facts: Mapping[str, Any],
    goals: Mapping[str, Sequence[str]],
    owners: dict[tuple[str, str], str],
) -> Iterator[str]:
    """Yield the functions of a choice that are not masked, or belong to another choice."""
    file = facts["file"]
    for function in facts["functions"]:
        if function not in goals.get(file, ()):
            yield f"{file}::{function} is not masked; add it to goals"
        owner = owners.setdefault((file, function), name)
        if owner != name:
            yield f"{function} already belongs to {owner}; a function belongs to one choice"


def _choice(folder: Path, name: str, facts: Mapping[str, Any], text: str) -> Choice:
    place = folder / FOLDER / name
    published = facts["published"]
    code = {path.stem: read_text(path) for path in matching(place, "*.py")}
    if published in code or len(code) + 1 < MIN_OPTIONS:
        raise InputError(
            f"{place}: add at least {MIN_OPTIONS - 1} options (NAME.md, NAME.py) "
            f"beside the published {published!r}"
        )
    texts = {option: read_text(place / f"{option}.md") for option in code}
    texts[published] = text
    return Choice(
        name=name,
        **facts,
        question=read_text(place / "question.md").strip(),
        open_text=read_text(place / "open.md"),
        texts=texts,
        code=code,
    )


def read_text(path: Path) -> str:
    """Read a text that a task must have."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: missing, or not UTF-8 ({type(error).__name__}); write it"
        ) from error
    if not text.strip():
        raise InputError(f"{path}: is empty; write it")
    return text if text.endswith("\n") else f"{text}\n"


def _regions(path: Path, paper: str, stated: Iterable[str]) -> dict[str, str]:
    """Return name → text of the regions, one for each stated choice."""
    pairs = _REGION.findall(paper)
    if len(_MARK.findall(paper)) != 2 * len(pairs):
        raise InputError(
            f"{path}: a region is not closed, or stands inside another; "
            "each mark needs its own line"
        )
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{path}: the choice {name!r} has two regions; join them")
    for name in sorted(set(names).symmetric_difference(stated)):
        raise InputError(
            f"{path}: the choice {name} needs its region there and facts in method.yaml"
        )
    return dict(pairs)


def render_paper(paper: str, texts: Mapping[str, str]) -> str:
    """Return paper.md without the marks of its regions.

    Args:
        texts: choice → text in place of the published one.
    """
    return _REGION.sub(lambda region: texts.get(region[1], region[2]), paper)


def draw(
    choices: Sequence[Choice],
    generator: random.Random,
    known: Sequence[Mapping[str, str]],
    *,
    at_least: int,
) -> list[dict[str, str]]:
    """Return the combinations of options in random order: choice → unpublished option.

    Args:
        known: combinations to leave out.
        at_least: smallest number of unpublished options.
    """
    combinations = []
    for options in itertools.product(*(choice.options for choice in choices)):
        chosen = {}
        for choice, option in zip(choices, options, strict=True):
            if option != choice.published:
                chosen[choice.name] = option
        if len(chosen) >= at_least and chosen not in known:
            combinations.append(chosen)
    return generator.sample(combinations, len(combinations))


def with_options(
    repo: Mapping[str, File], choices: Iterable[Choice], chosen: Mapping[str, str]
) -> dict[str, File]:
    """Return a reference repository with other options, by choice; the published ones are in it."""
    files = dict(repo)
    for choice in choices:
        option = chosen.get(choice.name, choice.published)
        if option != choice.published:
            files[choice.file] = _with_option(files[choice.file], choice, option)
    return files


def _with_option(file: File, choice: Choice, option: str) -> File:
    try:
        text = splice_functions(file.data.decode(), choice.functions, choice.code[option])
    except SourceError as error:
        raise InputError(f"{FOLDER}/{choice.name}/{option}.py: {error}") from error
    return file._replace(data=text.encode())
