"""The steps, tokens and costs of one agent, and the requests that its server did not answer."""

from dataclasses import dataclass, field
from typing import Any

from lmrbench_data.chat.budget import Budget, Tokens

_NO_TOKENS = Tokens(0, 0)


@dataclass
class Usage:
    """The requests and tokens of one agent."""

    budget: Budget
    """The budget that all agents of a run share."""
    steps: int = 0
    """Requests that the server answered, or may have billed."""
    tokens: Tokens | None = _NO_TOKENS
    """The tokens of all steps; None if the server did not report those of one."""
    cost_usd: float | None = 0.0
    """US dollars of all steps; None if the cost of one is unknown."""
    refused: int = 0
    """Requests without an answer."""
    effort: dict[str, Any] = field(default_factory=dict)
    """The last request's parameters of thinking, such as `reasoning_effort`."""

    def bill(self, tokens: Tokens | None) -> None:
        """Count a step, whose tokens are None if they are unknown."""
        self.steps += 1
        cost = self.budget.add(tokens)
        self.cost_usd = None if self.cost_usd is None or cost is None else self.cost_usd + cost
        if self.tokens and tokens:
            question = self.tokens.question + tokens.question
            self.tokens = Tokens(question, self.tokens.answer + tokens.answer)
        else:
            self.tokens = None

    def as_metadata(self) -> dict[str, Any]:
        """Return the keys of a row's metadata."""
        facts = {
            "steps": self.steps,
            "input_tokens": self.tokens and self.tokens.question,
            "output_tokens": self.tokens and self.tokens.answer,
            "cost_usd": self.cost_usd,
            "effort": self.effort,
        }
        if self.refused:
            facts["refused"] = self.refused
        return facts
