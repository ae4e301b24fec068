"""The result of a check: the finding, whether it is a problem, and the fix."""

from dataclasses import asdict, dataclass
from enum import StrEnum


class Status(StrEnum):
    """The consequence of a finding."""

    OK = "ok"
    NOTE = "note"
    """Evaluation works; something else does not, or works less well."""
    PROBLEM = "problem"
    """Evaluation, or something that the user asked for with an option, cannot work."""


@dataclass(frozen=True)
class Finding:
    """One line of the doctor."""

    check: str
    status: Status
    found: str
    fix: str = ""
    """A command, or a short sentence; empty if there is nothing to fix."""

    def as_dict(self) -> dict[str, str]:
        """The JSON form."""
        return {name: str(value) for name, value in asdict(self).items()}


def ok(check: str, found: str, fix: str = "") -> Finding:
    """Return a finding that needs no attention."""
    return Finding(check, Status.OK, found, fix)


def note(check: str, found: str, fix: str = "") -> Finding:
    """Return a finding that does not stop an evaluation."""
    return Finding(check, Status.NOTE, found, fix)


def problem(check: str, found: str, fix: str = "") -> Finding:
    """Return a finding that must be fixed first."""
    return Finding(check, Status.PROBLEM, found, fix)


def gigabytes(size: float) -> str:
    """Format a number of bytes."""
    return f"{size / 1e9:.1f} GB"
