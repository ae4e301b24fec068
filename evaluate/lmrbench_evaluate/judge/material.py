"""Gather the material on an answer: the texts that a question shows, in markers and in bounded size. No code runs."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from lmrbench_data.base.definitions import CodeIndex
from lmrbench_data.base.errors import LMRBenchError
from lmrbench_data.base.passages import MAX_PASSAGE, path_of, read_passage
from lmrbench_data.base.source import MalformedAnswerError, SourceError
from lmrbench_data.base.uses import Definition, callers, names_in, reachable_files, used_definitions
from lmrbench_data.dataset.rows import DatasetRow, goals_of, golden_files_of, is_method
from lmrbench_data.loader import File, read_archive

from ..predictions.prediction import Prediction
from ..rebuild.workspace import rebuild
from .bare import NotPlainError, code_only
from .goal_files import GoalFile, common_limit, shorten
from .neutralise import boundary, enclose, harmless

#: These limits are in characters. The goal functions together are never cut; longer ones are not judged, and count as
#: not completely correct.
MAX_FUNCTION = 100_000
#: The code above a function in its file, and the code below.
MAX_CONTEXT = 15_000
#: All such code of all goal files.
MAX_CONTEXTS = 60_000
#: All other files that a patch changed.
MAX_OTHER_FILES = 15_000
#: The paper's summary.
MAX_PAPER = 40_000
#: All definitions that the functions use from other files of the repository.
MAX_DEFINITIONS = 15_000
#: All functions that call them.
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
    except (NotPlainError, SourceError, RecursionError) as error:
        raise NotJudgedError(NOT_PLAIN, f"{error}; it was not sent to the judge") from None


def _gather(row: DatasetRow, files: Mapping[str, File], track: str, version: str, said: str) -> Material:
    masked, goals = read_archive(row["repo_archive"]), goals_of(row)
    cases = [file.data for name, file in read_archive(row["tests_archive"]).items() if name.endswith(".py")]
    changed = [name for name in sorted(masked.keys() | files.keys()) if masked.get(name) != files.get(name)]
    changed = [name for name in changed if name not in goals]
    pairs = _pairs(row, masked, files, cases)
    written = [text for pair in pairs for text in pair.after.functions.values()]
    if sum(map(len, written)) > MAX_FUNCTION:
        what = "the function is" if len(written) == 1 else "the functions are together"
        raise NotJudgedError(TOO_LONG, f"{what} longer than {MAX_FUNCTION} characters; it was not sent to the judge")
    differing = (text for pair in pairs for text, same in zip(pair.after.rest, pair.same, strict=True) if not same)
    limit = common_limit(differing, MAX_CONTEXT, MAX_CONTEXTS)
    around = [pair.after.around(limit, pair.same) for pair in pairs]
    others = list(_other_files(masked, files, goals, cases, changed)) if changed else []
    parts = [*written, *around, *(part for pair in others for part in pair), *filter(None, [said])]
    code = boundary(row["instance_id"], version, *parts)
    context = []
    for pair, text in zip(pairs, around, strict=True):
        if all(pair.same):
            where = f"the candidate's file{pair.label}"
            context.append(f"The rest of {where} is the same as the rest of the reference's.")
        else:
            context.append(enclose(f"REST OF THE CANDIDATE'S FILE{pair.label}", text, code))
    for number, (text, name) in enumerate(others, start=1):  # the candidate chose the name, too
        context.append(enclose(f"CANDIDATE'S CHANGE OF ANOTHER FILE, NUMBER {number}", f"{name}:\n\n{text}", code))
    if hidden := len(changed) - len(others):
        context.append(f"The candidate also changed {hidden} of the repository's other files, which are not shown.")
    index, evidence = CodeIndex(masked, without=goals), _evidence(row, masked)
    names = [(pair, name) for pair in pairs for name in pair.names]
    both = [(pair.path, name, text) for pair, name in names for text in (pair.golden, pair.candidate)]
    given = [enclose(f"FUNCTION AS IT WAS GIVEN{pair.of(name)}", pair.given.functions[name]) for pair, name in names]
    right = [enclose(f"REFERENCE FUNCTION{pair.of(name)}", pair.reference.functions[name]) for pair, name in names]
    theirs = [enclose(f"CANDIDATE FUNCTION{pair.of(name)}", pair.after.functions[name], code) for pair, name in names]
    whole = [GoalFile(pair.golden, pair.names) for pair in pairs]
    limit = common_limit((text for file in whole for text in file.rest), MAX_CONTEXT, MAX_CONTEXTS)
    values = {
        "goal_function": ", ".join(name for _, name in names),
        "goal_file": ", ".join(goals),
        "goals": "\n".join(f"- `{path}`: {', '.join(f'`{name}`' for name in of)}" for path, of in goals.items()),
        "instruction": enclose("INSTRUCTION", row["instruction"].strip()),
        "contract": enclose("CONTRACT", row["contract"].strip())
        if track == "contract" and "contract" in row
        else "The candidate was given no contract.",
        "paper": enclose("SUMMARY OF THE PAPER", shorten(row["paper_text"].strip(), MAX_PAPER)),
        "given_function": "\n\n".join(given),
        "evidence": evidence,
        "callers": _blocks(
            "CALLED FROM",
            [item for item in callers(index, [name for _, name in names], MAX_CALLERS) if item.source not in evidence],
            "No other file of the repository calls the function by its name.",
        ),
        "reference_function": "\n\n".join(right),
        "reference_context": "\n\n".join(
            enclose(f"REST OF THE REFERENCE'S FILE{pair.label}", file.around(limit))
            for pair, file in zip(pairs, whole, strict=True)
        ),
        "definitions": _blocks(
            "USED FROM",
            [item for item in used_definitions(index, both, MAX_DEFINITIONS) if item.source not in evidence],
            "Neither function uses definitions from other files of the repository.",
        ),
        "code": code,
        "candidate_function": "\n\n".join(theirs),
        "candidate_context": "\n\n".join(context),
        "functions": "\n\n".join(block for blocks in zip(given, right, theirs, strict=True) for block in blocks),
    }
    return Material(values, parts, code, not changed and all(pair.identical for pair in pairs))


class _Pair(NamedTuple):
    """A goal file of the candidate beside the reference's."""

    path: str
    names: Sequence[str]
    """The goal functions."""
    label: str
    """The path as it stands in a marker; empty if there is one goal function only."""
    given: GoalFile
    candidate: str
    after: GoalFile
    """The candidate's file as shown; `candidate` is its text."""
    golden: str
    reference: GoalFile
    """The reference's file, printed like the candidate's; `golden` is its text as written."""
    same: Sequence[bool]
    """The parts around the functions that are the same in both."""
    identical: bool

    def of(self, name: str) -> str:
        """Return the name of a function as it stands in a marker."""
        return f"{self.label}::{name}" if self.label else ""


def _pairs(
    row: DatasetRow, masked: Mapping[str, File], files: Mapping[str, File], cases: Sequence[bytes]
) -> list[_Pair]:
    """Compare the goal files of an answer with the reference's."""
    golden = {path: _newlines(text) for path, text in golden_files_of(row).items()}
    found = []
    for path, names in goals_of(row).items():
        elsewhere = [file.data for every in (masked, files) for name, file in every.items() if name != path]
        elsewhere += [text.encode("utf-8") for name, text in golden.items() if name != path]
        read = names_in(b"\n".join({*cases, *elsewhere}))
        candidate, reference = code_only(files[path].data.decode("utf-8"), read), code_only(golden[path], read)
        before, after = GoalFile(reference, names), GoalFile(candidate, names)
        given, label = (
            GoalFile(_newlines(masked[path].data.decode("utf-8")), names),
            f" {harmless(path)}" if is_method(row) else "",
        )
        same, identical = after.same_rest(before), candidate == reference
        found.append(_Pair(path, names, label, given, candidate, after, golden[path], before, same, identical))
    return found


def _evidence(row: DatasetRow, files: Mapping[str, File]) -> str:
    """Show the passages of the repository that settle ambiguities, as far as they exist."""
    found: list[Definition] = []
    left = MAX_EVIDENCE
    for reference in row["evidence"]:
        text = shorten(read_passage(files, reference), MAX_PASSAGE)
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


def _other_files(
    masked: Mapping[str, File],
    rebuilt: Mapping[str, File],
    goals: Collection[str],
    cases: Sequence[bytes],
    changed: Sequence[str],
) -> Iterator[tuple[str, str]]:
    """Yield (text to show, name) for each changed file that may run; others are prose or data."""
    reachable = reachable_files({**masked, **rebuilt}, goals, cases)
    left = MAX_OTHER_FILES
    for name in changed:
        if name in reachable and left >= 200:
            text = shorten(_shown_file(rebuilt, name), left)
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


def _newlines(text: str) -> str:
    return re.sub(r"\r\n?", "\n", text.removeprefix("\ufeff"))
