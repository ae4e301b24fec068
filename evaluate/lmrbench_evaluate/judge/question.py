"""Build the judge's question: the messages for one answer, from the template `prompt_v3.md`, in bounded size.

The version names the template and hashes its text and the schema, so that no two wordings share a version.
"""

import functools
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lmrbench_data.base.definitions import CodeIndex
from lmrbench_data.base.errors import InputError, LMRBenchError
from lmrbench_data.base.passages import MAX_PASSAGE, path_of, read_passage
from lmrbench_data.base.source import MalformedAnswerError, SourceError, block_end, find_function, split_lines
from lmrbench_data.base.uses import Definition, callers, names_in, reachable_files, used_definitions
from lmrbench_data.chat.client import Message
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import File, read_archive

from ..predictions.prediction import Prediction
from ..rebuild.workspace import rebuild
from .bare import NotPlainError, code_only
from .category import Category
from .neutralise import boundary, enclose, harmless

TEMPLATE = "prompt_v3.md"
#: These limits are in characters. The target function is never cut; a longer one is not judged, and counts as not
#: completely correct.
MAX_FUNCTION = 100_000
#: The code above the function in its file, and the code below.
MAX_CONTEXT = 15_000
#: All other files that a patch changed.
MAX_OTHER_FILES = 15_000
#: The paper's summary.
MAX_PAPER = 40_000
#: All definitions that the function uses from other files of the repository.
MAX_DEFINITIONS = 15_000
#: All functions that call it.
MAX_CALLERS = 8_000
#: All passages that decide.
MAX_EVIDENCE = 20_000

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


class NotJudgedError(LMRBenchError):
    """An answer that cannot be shown to a judge, whichever is asked; the message says why."""

    def __init__(self, outcome: str, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome
        """`TOO_LONG` or `NOT_PLAIN`."""


class Material(NamedTuple):
    """The texts about an answer that fill the blocks of a template."""

    values: dict[str, str]
    """By their names in the template."""
    parts: list[str]
    """The candidate's code, as it is shown."""
    code: str
    """The code in the markers around the candidate's text; also one of the values."""
    identical: bool
    """The answer's code is the reference's."""


class Question(NamedTuple):
    """A question to a model about an answer."""

    messages: list[Message]
    identical: bool
    """Whether the answer's code is the reference's: then there is nothing to ask."""
    is_mostly_candidate: bool
    """The candidate wrote more than half of it: if it is too long, the answer is too long."""


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
    """Build the question that asks for a judgement; equal input gives equal messages. No code is executed.

    Args:
        row: the dataset row of the prediction's instance.

    Raises:
        MalformedAnswerError: the prediction cannot be applied: there is no candidate function.
        NotJudgedError: the candidate's function is too long, or cannot be printed without remarks.
    """
    return ask(_template_file(), gather(row, prediction, prompt_version()))


def ask(template: Path, material: Material, **more: str) -> Question:
    """Fill in the material, and more values if the template has them."""
    sections = template_sections(template)
    user = sections["user"].render(**material.values, **more)
    messages = [{"role": "system", "content": sections["system"].render()}, {"role": "user", "content": user}]
    theirs, everything = sum(map(len, material.parts)), sum(len(message["content"]) for message in messages)
    return Question(messages, material.identical, is_mostly_candidate=2 * theirs > everything)


def gather(row: DatasetRow, prediction: Prediction, version: str, said: str = "") -> Material:
    """Gather the material on an answer: instruction, paper, reference, definitions in use, the candidate's code.

    Args:
        version: of the prompt that shows it.
        said: what else comes from the candidate's side, such as the text of its errors.

    Raises:
        MalformedAnswerError, NotJudgedError: as `build_question`.
    """
    try:
        return _gather(row, rebuild(row, prediction), prediction.track, version, said)
    except MalformedAnswerError:
        raise
    except (NotPlainError, SourceError) as error:
        raise NotJudgedError(NOT_PLAIN, f"{error}; it was not sent to the judge") from None
    except RecursionError:
        raise NotJudgedError(NOT_PLAIN, "the code is nested too deeply; it was not sent to the judge") from None


def _gather(row: DatasetRow, files: Mapping[str, File], track: str, version: str, said: str) -> Material:
    goal, function = row["goal_file"], row["goal_function"]
    masked = read_archive(row["repo_archive"])
    cases = [file.data for name, file in read_archive(row["tests_archive"]).items() if name.endswith(".py")]
    changed = [name for name in sorted(masked.keys() | files.keys()) if masked.get(name) != files.get(name)]
    changed = [name for name in changed if name != goal]
    read_elsewhere = _names_read(masked, files, goal, cases)
    candidate, golden = files[goal].data.decode("utf-8"), _newlines(row["golden_file"])
    bare = code_only(candidate, read_elsewhere), code_only(golden, read_elsewhere)
    after, reference = (_Parts(source, function) for source in bare)
    if len(after.function) > MAX_FUNCTION:
        raise NotJudgedError(
            TOO_LONG, f"the function is longer than {MAX_FUNCTION} characters; it was not sent to the judge"
        )
    same = after.above == reference.above, after.below == reference.below
    around = after.around(same)
    others = list(_other_files(masked, files, goal, cases, changed)) if changed else []
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
    index, evidence = CodeIndex(masked, without=goal), _evidence(row, masked)
    used = used_definitions(index, goal, function, [golden, bare[0]], MAX_DEFINITIONS)
    values = {
        "goal_function": function,
        "goal_file": goal,
        "instruction": enclose("INSTRUCTION", row["instruction"].strip()),
        "contract": enclose("CONTRACT", row["contract"].strip())
        if track == "contract"
        else "The candidate was given no contract.",
        "paper": enclose("SUMMARY OF THE PAPER", _shorten(row["paper_text"].strip(), MAX_PAPER)),
        "given_function": enclose("FUNCTION AS IT WAS GIVEN", _Parts(_text(masked[goal]), function).function),
        "evidence": evidence,
        "callers": _blocks(
            "CALLED FROM",
            [item for item in callers(index, function, MAX_CALLERS) if item.source not in evidence],
            "No other file of the repository calls the function by its name.",
        ),
        "reference_function": enclose("REFERENCE FUNCTION", reference.function),
        "reference_context": enclose("REST OF THE REFERENCE'S FILE", _Parts(golden, function).around()),
        "definitions": _blocks(
            "USED FROM",
            [item for item in used if item.source not in evidence],
            "Neither function uses definitions from other files of the repository.",
        ),
        "code": code,
        "candidate_function": enclose("CANDIDATE FUNCTION", after.function, code),
        "candidate_context": "\n\n".join(context),
    }
    return Material(values, parts, code, not changed and bare[0] == bare[1])


def repair_message(reason: str) -> Message:
    """Return the message for a judge whose answer could not be read."""
    return {"role": "user", "content": template_sections(_template_file())["repair"].render(reason=reason)}


def _names_read(
    masked: Mapping[str, File], rebuilt: Mapping[str, File], goal: str, cases: Sequence[bytes]
) -> frozenset[str]:
    """The names that other code than the goal file might read from it."""
    files = [file.data for one in (masked, rebuilt) for name, file in one.items() if name != goal]
    return names_in(b"\n".join({*cases, *files}))


def _evidence(row: DatasetRow, files: Mapping[str, File]) -> str:
    """The passages of the repository that decide, as far as they are there."""
    found: list[Definition] = []
    left = MAX_EVIDENCE
    named: Sequence[str] = row.get("evidence") or ()  # datasets of older versions have none
    for reference in named:
        try:
            text = _shorten(read_passage(files, reference), MAX_PASSAGE)
        except InputError:  # a dataset of somebody's own; `tasks lint` tells its author
            continue
        if len(text) <= left:
            left -= len(text)
            found.append(Definition(path_of(reference), reference, text))
    return _blocks("FROM", found, "No passage of the repository is singled out.")


def _blocks(label: str, found: Sequence[Definition], nothing: str) -> str:
    """Definitions by file."""
    by_file: dict[str, list[str]] = {}
    for item in found:
        by_file.setdefault(item.path, []).append(item.source)
    blocks = (enclose(f"{label} {harmless(path)}", "\n\n\n".join(texts)) for path, texts in by_file.items())
    return "\n\n".join(blocks) or nothing


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
    masked: Mapping[str, File],
    rebuilt: Mapping[str, File],
    goal: str,
    cases: Sequence[bytes],
    changed: Sequence[str],
) -> Iterator[tuple[str, str]]:
    """(what is shown, name) of each changed file that may run; others are words or data, and are counted only."""
    reachable = reachable_files({**masked, **rebuilt}, goal, cases)
    left = MAX_OTHER_FILES
    for name in changed:
        if name in reachable and left >= 200:
            text = _shorten(_shown_file(rebuilt, name), left)
            left -= len(text) + len(name)
            yield text, name


def _shown_file(rebuilt: Mapping[str, File], name: str) -> str:
    if name not in rebuilt:
        return "[the candidate removed this file]"
    try:
        elsewhere = b"\n".join(file.data for path, file in rebuilt.items() if path != name)
        return code_only(rebuilt[name].data.decode("utf-8"), names_in(elsewhere))
    except (UnicodeDecodeError, NotPlainError):
        return "[not shown: this is not Python that can be taken apart]"


def _shorten(text: str, limit: int) -> str:
    """`text`, without its middle if it is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters are left out here ...]\n{text[-half:]}"


def _text(file: File) -> str:
    return _newlines(file.data.decode("utf-8"))


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
