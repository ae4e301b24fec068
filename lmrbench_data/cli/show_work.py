"""Print the outcome of work with a model: counts, tokens, costs, and how to resume."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..base.text import counted
from .output import print_table, say

if TYPE_CHECKING:
    from ..chat.jobs import JobSummary
    from ..generation.answer_log import AnswerSummary


def answers_dict(out: object, summary: "AnswerSummary") -> dict[str, Any]:
    """Return the JSON of a command that sampled answers."""
    return {"out": str(out), **vars(summary), "complete": summary.complete}


def print_answers(summary: "AnswerSummary", what: str, counts: Sequence[tuple[str, int]]) -> None:
    """Print the number of answers and their cost.

    Args:
        what: heading of the first column.
        counts: the counts of this kind of work: name and number.
    """
    (done, number), *others = counts
    rows = [
        [done, str(number)],
        ["from earlier calls", str(summary.kept)],
        *([name, str(count)] for name, count in others),
        ["tokens in, out", f"{summary.input_tokens:,}, {summary.output_tokens:,}"],
        ["cost", summary.cost],
    ]
    print_table((what, "number"), rows)


def exit_status(summary: "JobSummary", what: str, kept: str, plural: str = "") -> int:
    """Print what is missing and how to resume; return the exit status.

    Args:
        what: noun for a failed item, such as "request".
        kept: a clause that says where finished results are.
        plural: irregular plural of `what`.
    """
    if summary.stopped:
        say(f"incomplete: {summary.stopped}; {kept}")
    if summary.errors:
        say(f"incomplete: {counted(summary.errors, what, plural)} failed ({summary.first_error})")
    if not summary.complete:
        say(summary.hint)
    return 0 if summary.complete else 3
