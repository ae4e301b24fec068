"""Gather the material on an answer: the sections of a question, each text in markers. No code runs.

The sections up to the repository are the same for all answers to an instance: servers can cache
them.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from lmrbench_data.base.configurations import configuration_of
from lmrbench_data.base.errors import InputError, LMRBenchError
from lmrbench_data.base.limited_calls import call_limited
from lmrbench_data.base.proportions import CONTRACT
from lmrbench_data.base.text import without_middle
from lmrbench_data.dataset.rows import DatasetRow, goals_of, golden_files_of
from lmrbench_data.loader import File, read_archive

from ..predictions.prediction import Prediction
from ..rebuild.workspace import rebuild
from .changes import Pair, Side, compare_answer
from .neutralise import boundary, enclose, harmless

#: These limits are in characters. The goal functions together are never cut; longer ones are not
#: judged, and count as not completely correct.
MAX_FUNCTION = 100_000
#: What a candidate changes in the goal files besides the goal functions, all together.
MAX_REST = 60_000
#: All other files that a patch changed.
MAX_OTHER_FILES = 15_000
#: The paper's summary.
MAX_PAPER = 40_000
#: The masked repository; the largest of the benchmark has 63,446.
MAX_REPOSITORY = 400_000

NO_CONTRACT = "The candidate was given no contract."
#: Reasons why an answer that can be applied is not judged. The answer itself is the cause, so they
#: count against it.
TOO_LONG = "too long"
NOT_PLAIN = "cannot be shown"


class NotJudgedError(LMRBenchError):
    """An answer that cannot be shown to any judge; the message says why."""

    def __init__(self, outcome: str, message: str) -> None:
        super().__init__(f"{message}; it was not sent to the judge")
        self.outcome = outcome
        """`TOO_LONG` or `NOT_PLAIN`."""


class _Candidate(NamedTuple):
    """The texts of an answer that are shown, some of them shortened."""

    functions: list[str]
    rests: list[str]
    """Other changes in each goal file."""
    files: list[tuple[str, str]]
    """Name and text of other files."""
    report: str

    @property
    def parts(self) -> list[str]:
        """All texts that are not empty."""
        named = itertools.chain(*self.files)
        texts = (*self.functions, *self.rests, *named, self.report)
        return [text for text in texts if text]


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


def gather(row: DatasetRow, prediction: Prediction, version: str, report: str = "") -> Material:
    """Gather the material on an answer: paper, instruction, repository, and both codes.

    Args:
        version: of the prompt that shows it.
        report: other text from the candidate's side, such as its error messages.
    """
    masked = read_archive(row["repo_archive"])
    files = rebuild(row, prediction)
    changed = _changed_files(row, masked, files)
    pairs, others = _compare(row, masked, files, changed)
    candidate = _Candidate(
        functions=_candidate_functions(pairs),
        rests=shorten([pair.candidate.rest for pair in pairs], MAX_REST),
        files=_shortened(others, MAX_OTHER_FILES),
        report=report,
    )
    code = boundary(row["instance_id"], version, *candidate.parts)
    values = _task_sections(row, masked)
    values["contract"] = _contract(row, prediction)
    values |= _code_sections(pairs, candidate, len(changed) - len(others), code)
    is_identical = not changed and all(pair.identical for pair in pairs)
    return Material(values, candidate.parts, code, is_identical)


def _code_sections(
    pairs: Sequence[Pair], candidate: _Candidate, hidden: int, code: str
) -> dict[str, str]:
    """Show the code of both sides; `hidden` other files that the answer changed are not shown."""
    reference_rests = [pair.reference.rest for pair in pairs]
    more = _other_files(candidate.files, hidden, code)
    return {
        "code": code,
        "reference_rest": _rests("reference", pairs, reference_rests),
        "candidate_rest": _rests("candidate", pairs, candidate.rests, code, more),
        "functions": _functions(pairs, code),
    }


def _candidate_functions(pairs: Sequence[Pair]) -> list[str]:
    """Return the candidate's goal functions; NotJudgedError if they are too long."""
    functions = list(itertools.chain(*(pair.candidate.functions.values() for pair in pairs)))
    if sum(map(len, functions)) > MAX_FUNCTION:
        what = "the function is" if len(functions) == 1 else "the functions are together"
        raise NotJudgedError(TOO_LONG, f"{what} longer than {MAX_FUNCTION} characters")
    return functions


def _changed_files(
    row: DatasetRow, masked: Mapping[str, File], files: Mapping[str, File]
) -> list[str]:
    """Return the paths that an answer changed, other than those of the goal files."""
    paths = sorted((masked.keys() | files.keys()) - goals_of(row).keys())
    return [path for path in paths if masked.get(path) != files.get(path)]


def _compare(
    row: DatasetRow, masked: Mapping[str, File], files: Mapping[str, File], changed: Sequence[str]
) -> tuple[list[Pair], list[tuple[str, str]]]:
    """Compare an answer with the reference in a child process.

    Returns:
        The goal files, and texts of changed files that may run.
    """
    texts = (_texts(masked), _texts(files), golden_files_of(row))
    cases = _sources_of_cases(row)
    try:
        facts, others = call_limited(compare_answer, *texts, goals_of(row), changed, cases)
    except InputError as error:
        raise NotJudgedError(NOT_PLAIN, str(error)) from None
    pairs = [_pair_of(*fields) for fields in facts]
    if not configuration_of(row).is_method:  # the only file needs no label
        pairs = [pair._replace(path="") for pair in pairs]
    return pairs, others


def _sources_of_cases(row: DatasetRow) -> list[str]:
    tests = _texts(read_archive(row["tests_archive"]))
    return [text for name, text in tests.items() if name.endswith(".py")]


def _pair_of(
    path: str, reference: Sequence[Any], candidate: Sequence[Any], identical: bool
) -> Pair:
    """Return a pair that the child sent as plain lists."""
    return Pair(path, Side(*reference), Side(*candidate), identical)


def _texts(files: Mapping[str, File]) -> dict[str, str]:
    """Return the texts of files; bytes that are not UTF-8 become lone surrogates."""
    return {path: file.data.decode("utf-8", "surrogateescape") for path, file in files.items()}


def shorten(texts: Sequence[str], limit: int) -> list[str]:
    """Cut the middle of the longest texts; together they get `limit` characters, and notes."""
    left = limit
    most = limit
    for number, length in enumerate(sorted(map(len, texts))):
        share = left // (len(texts) - number)
        if length > share:
            most = share
            break
        left -= length
    return [without_middle(text, most) for text in texts]


def _shortened(files: Sequence[tuple[str, str]], limit: int) -> list[tuple[str, str]]:
    texts = shorten([text for _, text in files], limit)
    return [(name, text) for (name, _), text in zip(files, texts, strict=True)]


# --- sections ------------------------------------------------------------------------------------


def _repository(masked: Mapping[str, File]) -> str:
    """Show all files of the masked repository; those that are not text by their names."""
    texts = []
    for path, file in masked.items():
        try:
            texts.append((path, file.data.decode("utf-8").rstrip()))
        except UnicodeDecodeError:
            texts.append((path, f"[{len(file.data)} bytes that are not text]"))
    return _numbered("FILE OF THE REPOSITORY", _shortened(texts, MAX_REPOSITORY))


def _numbered(kind: str, files: Iterable[tuple[str, str]], code: str = "") -> str:
    """Show files by number; their names, which somebody chose, stand between the markers."""
    blocks = (
        enclose(f"{kind}, NUMBER {number}", f"{name}:\n\n{text}", code)
        for number, (name, text) in enumerate(files, start=1)
    )
    return "\n\n".join(blocks)


def _task_sections(row: DatasetRow, masked: Mapping[str, File]) -> dict[str, str]:
    """Show the task; the same for all answers."""
    goals = goals_of(row)
    paper = without_middle(row["paper_text"].strip(), MAX_PAPER)
    return {
        "goal_function": ", ".join(itertools.chain(*goals.values())),
        "goal_file": ", ".join(goals),
        "goals": "\n".join(_goal_line(path, names) for path, names in goals.items()),
        "paper": enclose("SUMMARY OF THE PAPER", paper),
        "instruction": enclose("INSTRUCTION", row["instruction"].strip()),
        "repository": _repository(masked),
    }


def _goal_line(path: str, names: Sequence[str]) -> str:
    quoted = ", ".join(f"`{name}`" for name in names)
    return f"- `{path}`: {quoted}"


def _contract(row: DatasetRow, prediction: Prediction) -> str:
    if prediction.track != CONTRACT or "contract" not in row:
        return NO_CONTRACT
    return enclose("CONTRACT", row["contract"].strip())


def _rests(
    who: str, pairs: Sequence[Pair], rests: Sequence[str], code: str = "", more: str = ""
) -> str:
    """Show what somebody changes besides the goal functions, and more."""
    kind = f"WHAT ELSE THE {who.upper()} CHANGES IN ITS FILE"
    blocks = [
        enclose(kind + _label(pair), rest, code)
        for pair, rest in zip(pairs, rests, strict=True)
        if rest
    ]
    shown = "\n\n".join(filter(None, [*blocks, more]))
    return shown or f"The {who} changes nothing but the goal functions."


def _other_files(files: Sequence[tuple[str, str]], hidden: int, code: str) -> str:
    """Show other changed files that may run, and mention the hidden ones."""
    shown = _numbered("CANDIDATE'S CHANGE OF ANOTHER FILE", files, code)
    others = f"{hidden} of the repository's other files, which are not shown"
    note = f"The candidate also changed {others}." if hidden else ""
    return "\n\n".join(filter(None, [shown, note]))


def _functions(pairs: Sequence[Pair], code: str) -> str:
    """Show the functions of the reference, each followed by the candidate's."""
    blocks = []
    for pair in pairs:
        for name, source in pair.reference.functions.items():
            label = _label(pair, name)
            candidate = pair.candidate.functions[name]
            blocks.append(enclose(f"REFERENCE FUNCTION{label}", source))
            blocks.append(enclose(f"CANDIDATE FUNCTION{label}", candidate, code))
    return "\n\n".join(blocks)


def _label(pair: Pair, name: str = "") -> str:
    """Return the name of a file or function for a marker; empty if there is only one."""
    if not pair.path:
        return ""
    return f" {harmless(pair.path)}::{name}" if name else f" {harmless(pair.path)}"
