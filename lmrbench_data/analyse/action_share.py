"""One number of the analysis of actions, which its tables print and its figure draws."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ActionShare:
    """How much of what the sessions of a group did is of one kind."""

    model: str
    outcome: str
    """`passed`, `not passed` or `all`."""
    kind: str
    sessions: int
    actions: int
    """Of this kind."""
    total: int
    interval: tuple[float, float] | None
    """95 %; None of fewer than five sessions."""

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return self.actions / self.total
