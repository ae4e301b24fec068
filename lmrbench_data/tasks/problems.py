"""Problems of tasks: one form, one line of text and one JSON object for every command.

`tasks lint`, `dataset check` and `dataset build` use it.
"""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Severity(StrEnum):
    """The consequence of a problem."""

    ERROR = "error"
    """The item is refused or left out."""
    WARNING = "warning"
    """The item is used; readers of the result need to know."""
    NOTE = "note"
    """Nothing to do."""


@dataclass(frozen=True, order=True)
class Problem:
    """A problem with its place and the fix."""

    subject: str
    """Task folder or instance; empty for a benchmark as a whole."""
    where: str
    """File, with line where there is one, or key or probe; empty for the whole subject."""
    message: str
    severity: Severity = Severity.ERROR

    @property
    def is_error(self) -> bool:
        """Whether the problem fails the command that reports it."""
        return self.severity is Severity.ERROR

    def as_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return asdict(self)

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.severity, self.subject, self.where, self.message)))
