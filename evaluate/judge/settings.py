"""What a user may choose for judging a run, and what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...chat.client import Endpoint
from ...chat.prices import Price, chosen_price
from .cache import Cache
from .store import AnswerId, Judge, Spent


@dataclass(frozen=True)
class JudgeSettings:
    """What a user may choose for judging a run."""

    run: Path
    endpoint: Endpoint
    votes: int = 1
    workers: int = 4
    prices: Path | None = None
    max_cost: float | None = None
    dataset: str | None = None
    instances: Sequence[str] = ()
    cache: Cache = field(default_factory=Cache.of_user)

    def price(self) -> Price | None:
        """What the model costs, if that is known.

        Raises:
            InputError: a limit of costs without prices, or prices without this model.
        """
        return chosen_price(self.prices, self.endpoint.model, self.max_cost)


@dataclass
class JudgeSummary:
    """What judging a run came to."""

    judge: Judge
    asked: int = 0
    """Votes asked for now, and had or not."""
    cached: int = 0
    """Votes that another run had paid for."""
    identical: int = 0
    """Votes for which nobody was asked, because the code is the reference's."""
    kept: int = 0
    """Votes that were there already."""
    errors: int = 0
    """Votes that could not be had and are still missing."""
    first_error: str = ""
    malformed: set[AnswerId] = field(default_factory=set)
    """Answers without a candidate function; they are not sent."""
    not_judged: dict[AnswerId, str] = field(default_factory=dict)
    """Answers that cannot be shown to any judge, and why: they count as in none of the categories."""
    stopped: str = ""
    """Why it ended early, if it did."""
    hint: str = "the same command asks for those that are missing, and only for them"
    """How to have what is missing."""
    spent: Spent = field(default_factory=Spent)
    """What all judgements of the run by this model took, those of earlier calls included."""
    cost_usd: float | None = None
    """Of the same; None if the price is not known."""

    @property
    def complete(self) -> bool:
        """Whether every vote is there."""
        return not self.stopped and not self.errors
