"""Gather the material on an answer: the sections of a question, each text in markers. No code runs.

The sections up to the repository are the same for all answers to an instance, so that servers can cache them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

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

#: These limits are in characters. The goal functions together are never cut; longer ones are not judged, and count as
#: not completely correct.
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
#: Reasons why an answer that can be applied is not judged. The answer itself is the cause, so they count against it.
TOO_LONG, NOT_PLAIN = "too long", "cannot be shown"


class NotJudgedError(LMRBenchError):
    """An answer that cannot be shown to any judge; the message says why."""

    def __init__(self, outcome: str, message: str) -> None:
        super().__init__(f"{message}; it was not sent to the judge")
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
    """Gather the material on an answer: paper, instruction, repository, and the candidate's code beside the reference.

    Args:
        version: of the prompt that shows it.
        said: other text from the candidate's side, such as its error messages.
    """
    masked, files, goals = (
        read_archive(row["repo_archive"]),
        rebuild(row, prediction),
        goals_of(row),
    )
    paths = sorted((masked.keys() | files.keys()) - goals.keys())
    changed = [path for path in paths if masked.get(path) != files.get(path)]
    cases = {
        name: file
        for name, file in read_archive(row["tests_archive"]).items()
        if name.endswith(".py")
    }
    texts = [
        _texts(masked),
        _texts(files),
        golden_files_of(row),
        goals,
        changed,
        list(_texts(cases).values()),
    ]
    try:
        found, others = call_limited(compare_answer, *texts)
    except InputError as error:
        raise NotJudgedError(NOT_PLAIN, str(error)) from None
    pairs = [
        Pair(path, Side(*ours), Side(*theirs), is_equal) for path, ours, theirs, is_equal in found
    ]
    functions = [text for pair in pairs for text in pair.candidate.functions.values()]
    if sum(map(len, functions)) > MAX_FUNCTION:
        what = "the function is" if len(functions) == 1 else "the functions are together"
        raise NotJudgedError(TOO_LONG, f"{what} longer than {MAX_FUNCTION} characters")
    rests = shorten([pair.candidate.rest for pair in pairs], MAX_REST)
    pairs = [
        pair._replace(candidate=pair.candidate._replace(rest=rest))
        for pair, rest in zip(pairs, rests, strict=True)
    ]
    shown = _shortened(others, MAX_OTHER_FILES)
    parts = [*filter(None, [*functions, *rests, *(text for pair in shown for text in pair), said])]
    code = boundary(row["instance_id"], version, *parts)
    hidden = len(changed) - len(others)
    has_contract = prediction.track == CONTRACT and "contract" in row
    values = {
        "goal_function": ", ".join(name for names in goals.values() for name in names),
        "goal_file": ", ".join(goals),
        "goals": "\n".join(
            f"- `{path}`: {', '.join(f'`{name}`' for name in names)}"
            for path, names in goals.items()
        ),
        "paper": enclose(
            "SUMMARY OF THE PAPER", without_middle(row["paper_text"].strip(), MAX_PAPER)
        ),
        "instruction": enclose("INSTRUCTION", row["instruction"].strip()),
        "repository": _repository(masked),
        "contract": enclose("CONTRACT", row["contract"].strip()) if has_contract else NO_CONTRACT,
        "code": code,
        **_code_sections(pairs, shown, hidden, code, has_paths=configuration_of(row).is_method),
    }
    return Material(values, parts, code, not changed and all(pair.identical for pair in pairs))


def _texts(files: Mapping[str, File]) -> dict[str, str]:
    """Return the texts of files; a byte that is not UTF-8 becomes a lone surrogate, which no source may hold."""
    return {path: file.data.decode("utf-8", "surrogateescape") for path, file in files.items()}


def shorten(texts: Sequence[str], limit: int) -> list[str]:
    """Cut the middle of the longest texts, so that all together have at most `limit` characters and a note each."""
    left, most = limit, limit
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


# --- sections ---------------------------------------------------------------------------------------------------------


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


def _code_sections(
    pairs: Sequence[Pair],
    others: Sequence[tuple[str, str]],
    hidden: int,
    code: str,
    *,
    has_paths: bool,
) -> dict[str, str]:
    """Show the reference's and the candidate's code by name of the section.

    Args:
        others: name and text of each other changed file that may run.
        hidden: number of other changed files.
        has_paths: whether markers name files and functions, of which there are several.
    """

    def changes(who: str, sides: Iterable[tuple[str, Side]], code: str, *more: str) -> str:
        kind = f"WHAT ELSE THE {who.upper()} CHANGES IN ITS FILE"
        blocks = [enclose(kind + label(path), side.rest, code) for path, side in sides if side.rest]
        return (
            "\n\n".join(filter(None, [*blocks, *more]))
            or f"The {who} changes nothing but the goal functions."
        )

    def label(path: str, name: str = "") -> str:
        return f" {harmless(path)}{name and f'::{name}'}" if has_paths else ""

    unseen = (
        f"The candidate also changed {hidden} of the repository's other files, which are not shown."
    )
    return {
        "reference_rest": changes("reference", ((pair.path, pair.reference) for pair in pairs), ""),
        "candidate_rest": changes(
            "candidate",
            ((pair.path, pair.candidate) for pair in pairs),
            code,
            _numbered("CANDIDATE'S CHANGE OF ANOTHER FILE", others, code),
            unseen if hidden else "",
        ),
        "functions": "\n\n".join(
            f"{enclose(f'REFERENCE FUNCTION{label(pair.path, name)}', source)}\n\n"
            f"{enclose(f'CANDIDATE FUNCTION{label(pair.path, name)}', pair.candidate.functions[name], code)}"
            for pair in pairs
            for name, source in pair.reference.functions.items()
        ),
    }
