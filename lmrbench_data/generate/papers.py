"""The paper in the form that a prompt or a workspace carries: our summary, or what was made of the authors' PDF."""

from ..errors import ArgumentError
from ..rows import DatasetRow

#: `text` is our summary, which needs no PDF; `none` leaves the paper out.
FORMS = ("text", "none")


def paper_text(row: DatasetRow, form: str) -> str:
    """The paper as text; empty for `none`.

    Raises:
        ArgumentError: no such form.
    """
    if form == "none":
        return ""
    if form == "text":
        return row["paper_text"].strip()
    raise ArgumentError("paper", f"{form!r} is unknown; one of: {', '.join(FORMS)}")
