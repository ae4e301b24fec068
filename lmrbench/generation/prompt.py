"""Build the prompt for one instance: messages from a template, in one of the paper's settings.

Order and content follow the LMR-Bench paper (Section 4.1, Appendix D): the goal file, the paper,
the instruction, and related code with its paths. The ablations of Section 5.2 leave parts out. The
words are ours.

A prompt that does not fit into a model's context is cut by one rule: related code goes first, its
last file first; then the paper loses its end, a tenth at a time. The request, the contract and the
goal file are never cut.
"""

import contextlib
import functools
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from lmrbench_data.base.configurations import CONFIGURATIONS, configuration_of
from lmrbench_data.base.errors import ArgumentError, InputError
from lmrbench_data.base.proportions import CONTRACT
from lmrbench_data.base.templates import environment
from lmrbench_data.base.text import fenced
from lmrbench_data.chat.client import CHARACTERS_PER_TOKEN, Message
from lmrbench_data.dataset.rows import DatasetRow, contract_of, goals_of
from lmrbench_data.loader import FUNCTION, read_archive
from lmrbench_data.tasks.environments import versions_in

from .workspace import missing_parts

_HERE = Path(__file__).resolve().parent
RELATED = "Related code of the repository"
REST = "The rest of the repository"


class Setting(NamedTuple):
    """The parts of the repository that a prompt shows."""

    goal_files: bool
    other_code: str = ""
    """The heading of the other code, `RELATED` or `REST`; empty if none is shown."""


SETTINGS = {
    "standard": Setting(True, RELATED),
    "paper-only": Setting(False),
    "paper+goal-file": Setting(True),
    "full-repo": Setting(True, REST),
}
Texts = tuple[tuple[str, str], ...]
"""Path and text of files."""


@dataclass(frozen=True)
class Parts:
    """The parts of a prompt; empty ones are left out."""

    goals: Texts
    """The goal files."""
    paper: str
    code: Texts
    cut: tuple[str, ...] = ()
    """The parts left out to make it fit, in words."""


@dataclass(frozen=True)
class Prompt:
    """The messages for one instance."""

    messages: tuple[Message, ...]
    cut: tuple[str, ...]
    can_be_cut: bool = False
    """Whether there is more to leave out."""

    @functools.cached_property
    def sha256(self) -> str:
        """Identity of the prompt."""
        return hashlib.sha256(json.dumps(self.messages).encode("ascii")).hexdigest()

    @property
    def tokens(self) -> int:
        """The estimated number of tokens."""
        characters = sum(len(message["content"]) for message in self.messages)
        return round(characters / CHARACTERS_PER_TOKEN)


@functools.cache
def prompt_version(config: str = FUNCTION) -> str:
    """Return the version of a configuration's prompt: `v1-` and a hash of its template."""
    template = CONFIGURATIONS[config].prompt
    version = template.rpartition("_")[2].removesuffix(".md")
    return f"{version}-{hashlib.sha256(_read(template).encode()).hexdigest()[:8]}"


def _read(template: str) -> str:
    return (_HERE / template).read_text(encoding="utf-8")


def build_prompt(
    row: DatasetRow,
    *,
    setting: str = "standard",
    track: str = "paper",
    paper: str = "",
    max_tokens: int | None = None,
    cuts: int = 0,
) -> Prompt:
    """Build a prompt; equal arguments give equal prompts.

    Args:
        setting: one of `SETTINGS`.
        track: with `contract`, the contract is shown as well.
        paper: the paper as text; empty for none.
        max_tokens: limit of the prompt, by estimate; a longer prompt is cut.
        cuts: least number of cuts, for a server that finds a prompt with fewer too long.

    Raises:
        ArgumentError: no such setting.
        InputError: it does not fit, however much is cut; a method has no contract to show; or the
            row names a file that its repository lacks.
    """
    if setting not in SETTINGS:
        raise ArgumentError("setting", f"{setting!r} is unknown; one of: {', '.join(SETTINGS)}")
    versions = list(_ever_shorter(_parts(row, setting, paper)))
    for parts in versions[cuts:]:
        prompt = _render(row, setting, track, parts)
        if max_tokens is None or prompt.tokens <= max_tokens:
            return prompt
    least = _render(row, setting, track, versions[-1]).tokens
    problem = f"request and goal file alone take about {least:,} tokens; raise max_prompt_tokens"
    raise InputError(f"{row['instance_id']}: {problem}")


def _parts(row: DatasetRow, setting: str, paper: str) -> Parts:
    """Return all that a setting shows."""
    shown = SETTINGS[setting]
    goals = goals_of(row)
    names: Iterable[str] = ()
    if shown.other_code == RELATED:
        names = row["context_files"]
    elif shown.other_code == REST:
        names = sorted(read_archive(row["repo_archive"]).keys() - goals.keys())
    return Parts(_texts(row, goals if shown.goal_files else ()), paper, _texts(row, names))


def _texts(row: DatasetRow, names: Iterable[str]) -> Texts:
    """Return the files of a repository that are text."""
    files = read_archive(row["repo_archive"])
    texts = []
    for name in names:
        if name not in files:  # a stranger's row may name any
            problem = f"its repository has no file {name!r}; load the dataset again"
            raise InputError(f"{row['instance_id']}: {problem}")
        with contextlib.suppress(UnicodeDecodeError):
            texts.append((name, files[name].data.decode("utf-8").strip("\n")))
    return tuple(texts)


def _ever_shorter(parts: Parts) -> Iterator[Parts]:
    """Yield the parts, then ever shorter versions, each with one cut more."""
    yield parts
    while parts.code:
        *code, (name, _) = parts.code
        parts = replace(parts, code=tuple(code), cut=(*parts.cut, f"file {name}"))
        yield parts
    if parts.paper:
        yield from _without_paper(parts)


def _without_paper(parts: Parts) -> Iterator[Parts]:
    whole = parts.paper
    for tenths in reversed(range(10)):
        paper = whole[: len(whole) * tenths // 10]
        if paper:
            paper += "\n\n[the rest of the paper was left out]"
        cut = (*parts.cut, f"paper after its first {tenths} tenths")
        parts = replace(parts, paper=paper, cut=cut)
        yield parts


def _render(row: DatasetRow, setting: str, track: str, parts: Parts) -> Prompt:
    system, template = _sections(configuration_of(row).prompt)
    user = template.render(
        goals=_goal_blocks(row, dict(parts.goals)),
        shows_goals=bool(parts.goals),
        paper_title=row["paper_title"],
        paper=parts.paper,
        instruction=row["instruction"].strip(),
        contract=contract_of(row) if track == CONTRACT else "",
        versions=versions_in(row["docker_image"]),
        heading=SETTINGS[setting].other_code,
        missing_parts=missing_parts(row),
        code=[(f"`{name}`", _block(name, text)) for name, text in parts.code],
    )
    messages = (
        {"role": "system", "content": system},
        {"role": "user", "content": user.strip()},
    )
    return Prompt(messages, parts.cut, can_be_cut=bool(parts.code or parts.paper))


def _goal_blocks(row: DatasetRow, texts: Mapping[str, str]) -> list[tuple[str, list[str], str]]:
    """Return path, functions to write and code of each goal file."""
    blocks = []
    for path, functions in goals_of(row).items():
        blocks.append((path, functions, _block(path, texts.get(path, ""))))
    return blocks


def _block(name: str, text: str) -> str:
    return fenced(text, "python" if name.endswith(".py") else "")


@functools.cache
def _sections(name: str) -> tuple[str, Any]:
    """Return the text for the system, and the template of the user's message."""
    system, user = _read(name).removeprefix("# system\n").split("\n# user\n")
    return system.strip(), environment(_HERE).from_string(user.strip())
