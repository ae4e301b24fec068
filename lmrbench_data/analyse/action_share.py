"""One number of the analysis of actions, for its tables and its figure."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ActionShare:
    """The share of one kind among the actions of a group of sessions."""

    model: str
    outcome: str
    """`passed`, `not passed` or `all`."""
    kind: str
    sessions: int
    actions: int
    """Actions of this kind."""
    total: int
    interval: tuple[float, float] | None
    """95 %; None for fewer than five sessions."""

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return self.actions / self.total
