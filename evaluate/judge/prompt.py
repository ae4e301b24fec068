"""What the judge is asked: the messages for one answer, from the template `prompt_v2.md`, in bounded size.

The version names the template and hashes its text and the schema, so that no two wordings share a version.
"""

import functools
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...chat.client import Message
from ...errors import LMRBenchError
from ...loader import File, read_archive
from ...rows import DatasetRow
from ...source import SourceError, block_end, find_function, split_lines
from ..predictions import Prediction
from ..workspace import rebuild
from .category import Category
from .definitions import used_definitions
from .prose import same_code
from .reach import reached_files
from .untrusted import NotPlain, boundary, code_only, enclose, harmless, remarks

TEMPLATE = "prompt_v2.md"
#: In characters. The target function is never cut; a longer one is not judged, and counts as not completely correct.
MAX_FUNCTION = 100_000
#: Of what stands above and below the function in its file, each.
MAX_CONTEXT = 15_000
#: Of other files that a patch changed, together.
MAX_OTHER_FILES = 15_000
#: Of the paper's summary.
MAX_PAPER = 40_000
#: Of what the function uses from other files of the repository, together.
MAX_DEFINITIONS = 15_000

#: The answer's form. Strict mode of OpenAI wants every key required and knows no lengths of lists.
SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["analysis", "algorithm", "implementation", "rationale", "category"],
    "properties": {
        "analysis": {"type": "string", "description": "the work that leads to the rest"},
        "algorithm": {"type": "string", "description": "on the algorithmic logic"},
        "implementation": {"type": "string", "description": "on the implementation"},
        "rationale": {"type": "array", "items": {"type": "string"}, "description": "two to four points"},
        "category": {"type": "string", "enum": [str(category) for category in Category]},
    },
}


#: Why an answer that can be applied is not shown to a judge: the answer's own doing, so it counts against it.
TOO_LONG, NOT_PLAIN = "too long", "cannot be shown"


class NotJudged(LMRBenchError):
    """An answer that cannot be shown to a judge, whichever is asked; the message says why."""

    def __init__(self, outcome: str, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome
        """`TOO_LONG` or `NOT_PLAIN`."""


class Material(NamedTuple):
    """What can be shown of an answer, and of what it answers, in the blocks of a template."""

    values: dict[str, str]
    """By the names that a template has for them."""
    parts: list[str]
    """What the candidate wrote, as it is shown."""
    code: str
    """That of the markers around what the candidate wrote; it is one of the values, too."""
    identical: bool
    """The answer's code is the reference's."""


class Question(NamedTuple):
    """What a judge is asked about an answer, as far as it has to be asked."""

    messages: list[Message]
    identical: bool
    """The answer's code is the reference's: there is nothing to ask."""
    is_mostly_candidate: bool
    """More than half of it was written by the candidate: who finds it too long finds the answer too long."""


@functools.cache
def prompt_version() -> str:
    """`v2-` and a hash of everything that a judge is told beside the material."""
    return version_of(_template_file(), SCHEMA)


def version_of(template: Path, schema: Mapping[str, Any]) -> str:
    """A template's version, which its name ends in, and a hash of its text and of the schema."""
    text = template.read_text(encoding="utf-8") + json.dumps(schema)
    return f"{template.stem.rpartition('_')[2]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def build_messages(row: DatasetRow, prediction: Prediction) -> list[Message]:
    """The messages that ask for a judgement (see `build_question`)."""
    return build_question(row, prediction).messages


def build_question(row: DatasetRow, prediction: Prediction) -> Question:
    """What asks for a judgement; equal input gives equal messages. No code is executed.

    Args:
        row: the dataset row of the prediction's instance.

    Raises:
        MalformedAnswer: the prediction cannot be applied: there is no candidate function.
        NotJudged: the candidate's function is too long, or cannot be freed of remarks.
    """
    material = gather(row, prediction, prompt_version())
    sections = template_sections(_template_file())
    user = sections["user"].render(**material.values)
    messages = [{"role": "system", "content": sections["system"].render()}, {"role": "user", "content": user}]
    theirs, everything = sum(map(len, material.parts)), sum(len(message["content"]) for message in messages)
    return Question(messages, material.identical, is_mostly_candidate=2 * theirs > everything)


def gather(row: DatasetRow, prediction: Prediction, version: str, said: str = "") -> Material:
    """What can be shown of an answer: instruction, paper, reference, definitions that are used, the candidate's code.

    Args:
        version: of the prompt that shows it.
        said: what else comes from the candidate's side, such as the text of its errors.

    Raises:
        MalformedAnswer, NotJudged: as `build_question`.
    """
    goal = row["goal_file"]
    masked, files = read_archive(row["repo_archive"]), rebuild(row, prediction)
    golden = _newlines(row["golden_file"])
    candidate = _newlines(files[goal].data.decode("utf-8"))
    reference = _Parts(golden, row["goal_function"])
    before = _Parts(candidate, row["goal_function"])
    try:
        after = _Parts(code_only(candidate, remarks(golden)), row["goal_function"])
    except (NotPlain, SourceError) as error:
        raise NotJudged(NOT_PLAIN, f"{error}; it was not sent to the judge") from None
    if len(after.function) > MAX_FUNCTION:
        raise NotJudged(
            TOO_LONG, f"the function is longer than {MAX_FUNCTION} characters; it was not sent to the judge"
        )
    changed = sorted(name for name in masked.keys() | files.keys() if masked.get(name) != files.get(name))
    changed = [name for name in changed if name != goal]
    same = before.above.strip() == reference.above.strip(), before.below.strip() == reference.below.strip()
    around = after.around(same)
    others = list(_other_files(row, masked, files, changed)) if changed else []
    parts = [after.function, around, *(part for pair in others for part in pair), *filter(None, [said])]
    code = boundary(row["instance_id"], version, *parts)
    if all(same):
        context = ["The rest of the candidate's file is the same as the rest of the reference's."]
    else:
        context = [enclose("REST OF THE CANDIDATE'S FILE", around, code)]
    for text, name in others:
        context.append(enclose(f"CANDIDATE'S CHANGE OF THE FILE {harmless(name)}", text, code))
    if hidden := len(changed) - len(others):
        context.append(f"The candidate also changed {hidden} of the repository's other files, which are not shown.")
    values = {
        "goal_function": row["goal_function"],
        "goal_file": goal,
        "instruction": enclose("INSTRUCTION", row["instruction"].strip()),
        "contract": _contract(row, prediction),
        "paper": enclose("SUMMARY OF THE PAPER", _shorten(row["paper_text"].strip(), MAX_PAPER)),
        "reference_function": enclose("REFERENCE FUNCTION", reference.function),
        "reference_context": enclose("REST OF THE REFERENCE'S FILE", reference.around()),
        "definitions": _definitions(row, masked, [golden, candidate]),
        "code": code,
        "candidate_function": enclose("CANDIDATE FUNCTION", after.function, code),
        "candidate_context": "\n\n".join(context),
    }
    return Material(values, parts, code, not changed and same_code(candidate, golden))


def repair_message(reason: str) -> Message:
    """What is said to a judge whose answer could not be read."""
    return {"role": "user", "content": template_sections(_template_file())["repair"].render(reason=reason)}


def _contract(row: DatasetRow, prediction: Prediction) -> str:
    """The contract, if the candidate was given it."""
    if prediction.track == "contract":
        return enclose("CONTRACT", row["contract"].strip())
    return "The candidate was given no contract."


def _definitions(row: DatasetRow, files: Mapping[str, File], sources: Sequence[str]) -> str:
    """What reference or candidate use from other files, as these are in the repository that the candidate was given."""
    found = used_definitions(files, row["goal_file"], row["goal_function"], sources, MAX_DEFINITIONS)
    if not found:
        return "Neither function uses definitions from other files of the repository."
    by_file: dict[str, list[str]] = {}
    for item in found:
        by_file.setdefault(item.path, []).append(item.source)
    return "\n\n".join(enclose(f"USED FROM {harmless(path)}", "\n\n\n".join(texts)) for path, texts in by_file.items())


class _Parts:
    """A file taken apart at its goal function."""

    def __init__(self, source: str, goal_function: str) -> None:
        lines = split_lines(source)
        target = find_function(source, goal_function)
        self._name = goal_function
        self.above = "".join(lines[: target.first_line - 1])
        self.function = "".join(lines[target.first_line - 1 : block_end(lines, target.node)]).rstrip("\n")
        self.below = "".join(lines[block_end(lines, target.node) :])

    def around(self, same: tuple[bool, bool] = (False, False)) -> str:
        """The file without the function, as much of it as is shown.

        Args:
            same: whether what stands above and below is that of the reference's file, which need not be shown twice.
        """
        shown = [
            "[the same as in the reference's file]" if equal else _shorten(text.strip("\n"), MAX_CONTEXT)
            for equal, text in zip(same, (self.above, self.below), strict=True)
        ]
        return f"{shown[0]}\n\n[here stands `{self._name}`]\n\n{shown[1]}".strip("\n")


def _other_files(
    row: DatasetRow, masked: Mapping[str, File], rebuilt: Mapping[str, File], changed: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """(what is shown, name) of each changed file that may run; others are words or data, and are counted only."""
    cases = [file.data for name, file in read_archive(row["tests_archive"]).items() if name.endswith(".py")]
    reached = reached_files({**masked, **rebuilt}, row["goal_file"], cases)
    left = MAX_OTHER_FILES
    for name in changed:
        if name in reached and left >= 200:
            text = _shorten(_shown_file(rebuilt.get(name), masked.get(name)), left)
            left -= len(text) + len(name)
            yield text, name


def _shown_file(file: File | None, before: File | None) -> str:
    if file is None:
        return "[the candidate removed this file]"
    try:
        known = remarks(_newlines(before.data.decode("utf-8"))) if before else ()
        return code_only(_newlines(file.data.decode("utf-8")), known)
    except (UnicodeDecodeError, NotPlain):
        return "[not shown: this is not Python that can be taken apart]"


def _shorten(text: str, limit: int) -> str:
    """`text`, without its middle if it is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters are left out here ...]\n{text[-half:]}"


def _newlines(text: str) -> str:
    return re.sub(r"\r\n?", "\n", text.removeprefix("\ufeff"))


def _template_file() -> Path:
    return Path(__file__).resolve().parent / TEMPLATE


@functools.cache
def template_sections(template: Path) -> dict[str, Any]:
    """A template's parts by name: system, user, repair.

    Args:
        template: a Markdown file with a heading of the first level for each part.
    """
    import jinja2

    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)
    pieces = re.split(r"^# (\w+)\n", template.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {name: environment.from_string(text.strip()) for name, text in zip(pieces[::2], pieces[1::2], strict=True)}
