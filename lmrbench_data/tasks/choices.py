"""Choices: decisions of a method, the options for each of them, and papers and references with other options.

A choice owns a region of paper.md and functions of one goal file. An option is a text for the region and code for the
functions; the published one stands in paper.md and in the repository. Regions and functions of different choices are
disjoint, so that any combination of options makes a paper and a reference.
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
from ..base.source import MalformedAnswerError, SourceError
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
    functions: tuple[str, ...]
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
    regions = dict(_regions(folder / "paper.md", paper))
    if stray := regions.keys() ^ stated.keys():
        name = min(stray)
        raise InputError(
            f"{folder / 'paper.md'}: the choice {name} needs its region there and facts in method.yaml"
        )
    choices = tuple(
        _choice(folder, name, facts, regions[name], goals) for name, facts in stated.items()
    )
    owners: dict[tuple[str, str], str] = {}
    for choice in choices:
        for function in choice.functions:
            first = owners.setdefault((choice.file, function), choice.name)
            if first != choice.name:
                where = f"{folder / 'method.yaml'}: choices.{choice.name}"
                raise InputError(
                    f"{where}: {function} already belongs to {first}; a function belongs to one choice"
                )
    return choices


def _choice(
    folder: Path, name: str, facts: Mapping[str, Any], text: str, goals: Mapping[str, Sequence[str]]
) -> Choice:
    place, file, functions = folder / FOLDER / name, facts["file"], tuple(facts["functions"])
    if unknown := [function for function in functions if function not in goals.get(file, ())]:
        raise InputError(
            f"{folder / 'method.yaml'}: choices.{name}: {file}::{unknown[0]} is not masked; add it to goals"
        )
    code = {path.stem: read_text(path) for path in matching(place, "*.py")}
    texts = {option: read_text(place / f"{option}.md") for option in code}
    if facts["published"] in code or len(code) + 1 < MIN_OPTIONS:
        fix = f"add at least {MIN_OPTIONS - 1} options (NAME.md, NAME.py) beside the published {facts['published']!r}"
        raise InputError(f"{place}: {fix}")
    return Choice(
        name=name,
        question=read_text(place / "question.md").strip(),
        published=facts["published"],
        file=file,
        functions=functions,
        open_text=read_text(place / "open.md"),
        texts={facts["published"]: text, **texts},
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


def _regions(path: Path, paper: str) -> Iterator[tuple[str, str]]:
    """Yield name and text of each region."""
    found = list(_REGION.finditer(paper))
    if len(_MARK.findall(paper)) != 2 * len(found):
        raise InputError(
            f"{path}: a region is not closed, or stands inside another; each mark needs its own line"
        )
    names = [region[1] for region in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"{path}: the choice {twice[0]!r} has two regions; join them")
    yield from ((region[1], region[2]) for region in found)


def render_paper(paper: str, texts: Mapping[str, str] | None = None) -> str:
    """Return paper.md without the marks of its regions, with the published text or another one (by choice) in each."""
    return _REGION.sub(lambda region: (texts or {}).get(region[1], region[2]), paper)


def draw(
    choices: Sequence[Choice],
    numbers: random.Random,
    known: Iterable[Mapping[str, str]],
    *,
    at_least: int,
) -> list[dict[str, str]]:
    """Return all combinations of at least so many unpublished options in random order, without the known ones."""
    seen = [dict(chosen) for chosen in known]
    every = itertools.product(*(choice.options for choice in choices))
    named = [
        dict(zip((choice.name for choice in choices), options, strict=True)) for options in every
    ]
    published = {choice.name: choice.published for choice in choices}
    altered = [
        {name: option for name, option in chosen.items() if option != published[name]}
        for chosen in named
    ]
    left = [chosen for chosen in altered if len(chosen) >= at_least and chosen not in seen]
    return numbers.sample(left, len(left))


def with_options(
    repo: Mapping[str, File], choices: Iterable[Choice], chosen: Mapping[str, str]
) -> dict[str, File]:
    """Return a reference repository with other options, by choice; the published ones are in it."""
    files = dict(repo)
    for choice in choices:
        option = chosen.get(choice.name, choice.published)
        if option != choice.published:
            before = files[choice.file].data.decode("utf-8")
            try:
                text = splice_functions(before, choice.functions, choice.code[option])
            except (SourceError, MalformedAnswerError) as error:
                raise InputError(f"{FOLDER}/{choice.name}/{option}.py: {error}") from error
            files[choice.file] = files[choice.file]._replace(data=text.encode("utf-8"))
    return files
