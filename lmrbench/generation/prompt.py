"""Build the prompt for one instance: messages from a template, in one of the paper's settings.

Order and content follow the LMR-Bench paper (Section 4.1, Appendix D): the goal file, the paper, the instruction, and
related code with its paths. The ablations of Section 5.2 leave parts out. The words are ours.

A prompt that does not fit into a model's context is cut by one rule: related code goes first, its last file first; then
the paper loses its end, a tenth at a time. The request, the contract and the goal file are never cut.
"""

import contextlib
import functools
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lmrbench_data.base.configurations import CONFIGURATIONS, configuration_of
from lmrbench_data.base.errors import ArgumentError, InputError
from lmrbench_data.base.proportions import CONTRACT
from lmrbench_data.chat.client import CHARACTERS_PER_TOKEN, Message
from lmrbench_data.dataset.rows import DatasetRow, contract_of, goals_of
from lmrbench_data.loader import FUNCTION, File, read_archive
from lmrbench_data.tasks.environments import versions_in

from .workspace import missing_parts

#: Setting → (is the goal file shown, which other code is shown).
SETTINGS: dict[str, tuple[bool, str]] = {
    "standard": (True, "related"),
    "paper-only": (False, ""),
    "paper+goal-file": (True, ""),
    "full-repo": (True, "all"),
}
HEADINGS = {
    "related": "Related code of the repository",
    "all": "The rest of the repository",
    "": "",
}
_PAPER_STEPS = 10


@dataclass(frozen=True)
class Parts:
    """The parts of a prompt; empty ones are left out."""

    goals: tuple[tuple[str, str], ...]
    """Path and text of each goal file."""
    paper: str
    code: tuple[tuple[str, str], ...]
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
        """An estimate of their number."""
        return round(
            sum(len(message["content"]) for message in self.messages) / CHARACTERS_PER_TOKEN
        )


@functools.cache
def prompt_version(config: str = FUNCTION) -> str:
    """Return the version of a configuration's prompt: `v1-` and a hash of its template."""
    template = CONFIGURATIONS[config].prompt
    version = template.rpartition("_")[2].removesuffix(".md")
    return f"{version}-{hashlib.sha256(_read(template).encode()).hexdigest()[:8]}"


def _read(template: str) -> str:
    return (Path(__file__).resolve().parent / template).read_text(encoding="utf-8")


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
        max_tokens: limit of the prompt, by estimate; a longer one is cut by the rule of this module.
        cuts: least number of cuts, for a server that finds a prompt with fewer too long.

    Raises:
        ArgumentError: no such setting.
        InputError: it does not fit, however much is cut; or a method is to be shown with a contract.
    """
    if setting not in SETTINGS:
        raise ArgumentError("setting", f"{setting!r} is unknown; one of: {', '.join(SETTINGS)}")
    for parts in _ever_shorter(_parts(row, setting, paper)):
        if len(parts.cut) < cuts:
            continue
        prompt = _render(row, setting, track, parts)
        if max_tokens is None or prompt.tokens <= max_tokens:
            return prompt
    raise InputError(
        f"{row['instance_id']}: request and goal file alone take {prompt.tokens} of {max_tokens} tokens"
    )


def _parts(row: DatasetRow, setting: str, paper: str) -> Parts:
    shows_goal, which = SETTINGS[setting]
    files = read_archive(row["repo_archive"])
    goals = goals_of(row)
    names = {"related": row["context_files"], "all": sorted(files.keys() - goals.keys()), "": ()}[
        which
    ]
    return Parts(
        tuple(_readable(files, goals)) if shows_goal else (), paper, tuple(_readable(files, names))
    )


def _readable(files: Mapping[str, File], names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield (path, content) of the files that are text."""
    for name in names:
        with contextlib.suppress(UnicodeDecodeError):
            yield name, files[name].data.decode("utf-8").strip("\n")


def _ever_shorter(parts: Parts) -> Iterator[Parts]:
    """Yield the parts, then shorter and shorter versions of them."""
    yield parts
    while parts.code:
        name = parts.code[-1][0]
        parts = replace(parts, code=parts.code[:-1], cut=(*parts.cut, f"file {name}"))
        yield parts
    whole = parts.paper
    for tenths in range(_PAPER_STEPS - 1, -1, -1):
        if whole:
            kept = whole[: len(whole) * tenths // _PAPER_STEPS]
            cut = (*parts.cut, f"paper after its first {tenths} tenths")
            yield replace(
                parts,
                paper=f"{kept}\n\n[the rest of the paper was left out]" if kept else "",
                cut=cut,
            )
            parts = replace(parts, cut=cut)


def _render(row: DatasetRow, setting: str, track: str, parts: Parts) -> Prompt:
    sections = _sections(configuration_of(row).prompt)
    goals = goals_of(row)
    user = sections["user"].render(
        goals=[
            (name, names, _fenced(dict(parts.goals).get(name, ""), name))
            for name, names in goals.items()
        ],
        shows_goals=bool(parts.goals),
        paper_title=row["paper_title"],
        paper=parts.paper,
        instruction=row["instruction"].strip(),
        contract=contract_of(row) if track == CONTRACT else "",
        versions=versions_in(row["docker_image"]),
        heading=HEADINGS[SETTINGS[setting][1]],
        missing_parts=missing_parts(row),
        code=[(f"`{name}`", _fenced(text, name)) for name, text in parts.code],
    )
    system = sections["system"].render()
    messages = {"role": "system", "content": system}, {"role": "user", "content": user.strip()}
    return Prompt(messages, parts.cut, can_be_cut=bool(parts.code or parts.paper))


def _fenced(text: str, name: str) -> str:
    """Return a file in a fence that its content cannot close."""
    longest = max((len(run) for run in re.findall(r"^\s*(`{3,})", text, re.MULTILINE)), default=2)
    fence = "`" * max(3, longest + 1)
    language = "python" if name.endswith(".py") else ""
    return f"{fence}{language}\n{text}\n{fence}"


@functools.cache
def _sections(template: str) -> dict[str, Any]:
    """The parts of a template by name: system, user."""
    import jinja2

    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True)
    text = _read(template)
    pieces = re.split(r"^# (\w+)\n", text, flags=re.MULTILINE)[1:]
    return {
        name: environment.from_string(part.strip())
        for name, part in zip(pieces[::2], pieces[1::2], strict=True)
    }
