"""Gather the material on an answer: the texts that a question shows, in markers and in bounded size. No code runs."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from lmrbench_data.base.definitions import CodeIndex
from lmrbench_data.base.errors import InputError, LMRBenchError
from lmrbench_data.base.passages import MAX_PASSAGE, path_of, read_passage
from lmrbench_data.base.source import MalformedAnswerError, SourceError, block_end, find_function, split_lines
from lmrbench_data.base.uses import Definition, callers, names_in, reachable_files, used_definitions
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import File, read_archive

from ..predictions.prediction import Prediction
from ..rebuild.workspace import rebuild
from .bare import NotPlainError, code_only
from .neutralise import boundary, enclose, harmless

#: These limits are in characters. The goal function is never cut; a longer one is not judged, and counts as not
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

#: Reasons why an answer that can be applied is not judged. The answer itself is the cause, so they count against it.
TOO_LONG, NOT_PLAIN = "too long", "cannot be shown"


class NotJudgedError(LMRBenchError):
    """An answer that cannot be shown to any judge; the message says why."""

    def __init__(self, outcome: str, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome
        """`TOO_LONG` or `NOT_PLAIN`."""


class Material(NamedTuple):
    """The texts about an answer that fill the blocks of a template."""

    values: dict[str, str]
    """By their names in the template."""
    parts: list[str]
    """The candidate's code as shown."""
    code: str
    """The code in the markers around the candidate's text; also one of the values."""
    identical: bool
    """The answer's code is the reference's."""


def gather(row: DatasetRow, prediction: Prediction, version: str, said: str = "") -> Material:
    """Gather the material on an answer: instruction, paper, reference, definitions in use, the candidate's code.

    Args:
        version: of the prompt that shows it.
        said: other text from the candidate's side, such as its error messages.

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


def _names_read(
    masked: Mapping[str, File], rebuilt: Mapping[str, File], goal: str, cases: Sequence[bytes]
) -> frozenset[str]:
    """Return the names that code outside the goal file might read from it."""
    files = [file.data for one in (masked, rebuilt) for name, file in one.items() if name != goal]
    return names_in(b"\n".join({*cases, *files}))


def _evidence(row: DatasetRow, files: Mapping[str, File]) -> str:
    """Show the passages of the repository that settle ambiguities, as far as they exist."""
    found: list[Definition] = []
    left = MAX_EVIDENCE
    named: Sequence[str] = row.get("evidence") or ()  # datasets of older versions have none
    for reference in named:
        try:
            text = _shorten(read_passage(files, reference), MAX_PASSAGE)
        except InputError:  # a dataset of the user's own; `tasks lint` reports it
            continue
        if len(text) <= left:
            left -= len(text)
            found.append(Definition(path_of(reference), reference, text))
    return _blocks("FROM", found, "No passage of the repository is singled out.")


def _blocks(label: str, found: Sequence[Definition], nothing: str) -> str:
    """Show definitions by file."""
    by_file: dict[str, list[str]] = {}
    for item in found:
        by_file.setdefault(item.path, []).append(item.source)
    blocks = (enclose(f"{label} {harmless(path)}", "\n\n\n".join(texts)) for path, texts in by_file.items())
    return "\n\n".join(blocks) or nothing


class _Parts:
    """A file split at its goal function."""

    def __init__(self, source: str, goal_function: str) -> None:
        lines = split_lines(source)
        target = find_function(source, goal_function)
        self._name = goal_function
        self.above = "".join(lines[: target.first_line - 1])
        self.function = "".join(lines[target.first_line - 1 : block_end(lines, target.node)]).rstrip("\n")
        self.below = "".join(lines[block_end(lines, target.node) :])

    def around(self, same: tuple[bool, bool] = (False, False)) -> str:
        """Show the file without the function, in bounded size.

        Args:
            same: whether the parts above and below equal those of the reference's file, which need not be shown twice.
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
    """Yield (text to show, name) for each changed file that may run; others are prose or data."""
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
    """Cut the middle of a text that is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters are left out here ...]\n{text[-half:]}"


def _text(file: File) -> str:
    return _newlines(file.data.decode("utf-8"))


def _newlines(text: str) -> str:
    return re.sub(r"\r\n?", "\n", text.removeprefix("\ufeff"))
