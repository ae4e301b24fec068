"""Recognise the options that an answer implements, by its outputs in the cases of one choice."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from lmrbench_data.base.configurations import configuration_of
from lmrbench_data.dataset.result_rows import ChoiceRow
from lmrbench_data.dataset.rows import DatasetRow, Option, RowChoice
from lmrbench_data.loader import File, read_archive
from lmrbench_data.tasks.experiments import FILES, reported_in

from .decode import Frame, decode
from .expected import readable_frames, unpack_frames
from .tolerance import Comparison
from .verdict import Cause, compare_output

#: An answer that holds this many numbers of its paper's tables can search them for the options.
SEARCHES = 3
#: Kinds of reading, by the option that the answer implements.
STATED, PUBLISHED, OTHER, NONE = READINGS = ("stated", "published", "other", "none")


def implemented_options(
    row: DatasetRow, stdout: bytes, runs: Collection[tuple[str, int]]
) -> list[ChoiceRow]:
    """Return the option of each choice of a row that an answer implements.

    Args:
        stdout: the stream of the answer's run.
        runs: (case, seed) of that run; recorded outputs of others do not count.

    Raises:
        StreamError: a recording of the row is damaged.
    """
    choices = row.get("choices") or []
    if not choices:
        return []
    frames = [frame for frame in readable_frames(stdout) if frame.kind == "output"]
    sent = {(frame.case, frame.seed): frame for frame in frames}
    comparisons = {case["name"]: Comparison(case) for case in row["tests"]["cases"]}
    return [_implemented(choice, sent, comparisons, runs) for choice in choices]


def _implemented(
    choice: RowChoice,
    sent: Mapping[tuple[str, int], Frame],
    comparisons: Mapping[str, Comparison],
    runs: Collection[tuple[str, int]],
) -> ChoiceRow:
    # The stated option first: no other one counts if its outputs are equal.
    options = sorted(choice["options"], key=lambda option: option["name"] != choice["stated"])
    implemented = ""
    for option in options:
        frames = [
            frame for frame in option_frames(choice, option) if (frame.case, frame.seed) in runs
        ]
        if not implemented and _agrees(frames, sent, comparisons):
            implemented = option["name"]
    published = choice["stated"] == choice["published"]
    return {
        "name": choice["name"],
        "option": implemented,
        "reading": _reading(choice, implemented),
        "options": len(options),
        "published": published,
        "altered": not published and not choice["open"],
        "open": choice["open"],
    }


def _reading(choice: RowChoice, option: str) -> str:
    """Return the kind of reading of an answer that implements an option, or none (empty)."""
    if not option:
        return NONE
    if option == choice["stated"]:
        return STATED
    return PUBLISHED if option == choice["published"] else OTHER


def counted_choices(row: Mapping[str, Any]) -> list[ChoiceRow]:
    """Return the choices of a result row that say something: the altered and the open ones.

    An answer that memorised outputs, or that searches the tables of its paper, decides nothing: it
    reads none.
    """
    choices: list[ChoiceRow] = [
        choice for choice in row.get("choices", ()) if choice["altered"] or choice["open"]
    ]
    if row.get("memorised") or row.get("core_memorised") or row.get("searches_table"):
        return [{**choice, "reading": NONE} for choice in choices]
    return choices


def searches_table(row: DatasetRow, repo: Mapping[str, File]) -> bool:
    """Return whether files that an answer changes hold three numbers of its paper's tables."""
    if not configuration_of(row).has_experiments:
        return False
    masked = read_archive(row["repo_archive"])
    paper = row["paper_text"]
    copied = set[str]()
    for name, file in repo.items():
        original = masked.get(name, File(b""))
        if name not in FILES and file != original:
            copied |= _numbers_in(file, paper) - _numbers_in(original, paper)
    return len(copied) >= SEARCHES


def _numbers_in(file: File, paper: str) -> set[str]:
    return reported_in(file.data.decode("utf-8", "replace"), paper)


def option_frames(choice: RowChoice, option: Option) -> list[Frame]:
    """Return the outputs of an option in the cases of its choice; StreamError if damaged."""
    return [frame for frame in unpack_frames(option["expected"]) if frame.case in choice["cases"]]


def _agrees(
    expected: Sequence[Frame],
    sent: Mapping[tuple[str, int], Frame],
    comparisons: Mapping[str, Comparison],
) -> bool:
    """Return whether an answer returned the outputs of an option in every case and seed."""
    for want in expected:
        got = sent.get((want.case, want.seed))
        if got is None or not _is_equal(want, got, comparisons[want.case]):
            return False
    return bool(expected)


def _is_equal(want: Frame, got: Frame, comparison: Comparison) -> bool:
    """Compare two outputs; one that cannot be compared is none of the options."""
    cause, _ = compare_output(decode(want.payload), got.payload, comparison)
    return cause is Cause.EQUAL
