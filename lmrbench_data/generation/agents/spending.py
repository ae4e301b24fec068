"""Log the costs of each request of an agent run, and the tries that left no row, in spending.jsonl.

A line is written before a request is sent and another one when it is over. A request without the second line was cut
off by a kill: it counts at the most that it can have cost.
"""

from collections import Counter
from typing import Any, ClassVar

from ...base.jsonl import Ledger, wrong_key
from ...base.times import now
from ...chat.budget import Budget, Place, Spent, Tokens, read_tokens
from ...chat.prices import Price

FILE = "spending.jsonl"
#: Tries of a row, each with answers of the model, that may end without a row.
MAX_TRIES = 3
ASKED, ANSWERED, FREE, LOST, NO_ROW = "asked", "answered", "free", "lost", "no_row"
_KEYS: dict[str, dict[str, Any]] = {
    ASKED: {"request": int, "instance_id": str, "sample": int, "most_tokens": list},
    ANSWERED: {
        "request": int,
        "input_tokens": (int, type(None)),
        "output_tokens": (int, type(None)),
        "cost_usd": (int, float, type(None)),
    },
    FREE: {"request": int},
    LOST: {"request": int},
    NO_ROW: {"instance_id": str, "sample": int, "reason": str},
}

JobKey = tuple[str, int]
"""Instance id and sample."""


class Spending(Ledger):
    """An open spending.jsonl, or one that is only in memory; safe to use from several threads."""

    KEYS: ClassVar = {"event": str}
    FIX = "remove that line, or move the file away: its tries and costs then no longer count"

    def __init__(self) -> None:
        super().__init__()
        self.spent = Spent()
        """Tokens and costs of the answered requests."""
        self.failed: Counter[JobKey] = Counter()
        """Tries that left no row, although the model answered."""
        self.jobs: set[JobKey] = set()
        """Jobs that sent a request to the model."""
        self.reasons: dict[JobKey, str] = {}
        """The reason why the last try left no row."""
        self.open_requests: dict[int, Tokens] = {}
        """Requests without an answer, and the most tokens that they can have taken."""
        self._last = 0

    def budget(self, limit: float | None, price: Price | None, rows: Spent) -> Budget:
        """Return the budget that is left for the run.

        Args:
            limit: US dollars, of the folder.
            rows: costs of rows that this file does not know, written by earlier versions.
        """
        spent = self.spent.cost(price) or self.spent.known_cost
        earlier = rows.cost(price) or rows.known_cost
        lost = sum(price.cost(*tokens) for tokens in self.open_requests.values()) if price else 0.0
        return Budget(limit, price, spent + earlier, self.spent.uncounted + rows.uncounted, lost)

    def begin(self, job: JobKey, place: Place) -> int:
        """Note a request before it is sent; return its number."""
        with self.lock:
            number = self._last + 1
            names = {"instance_id": job[0], "sample": job[1]}
            self._note({"event": ASKED, "request": number, **names, "most_tokens": list(place.tokens)})
            return number

    def end(self, number: int, event: str, tokens: Tokens | None = None, cost_usd: float | None = None) -> None:
        """Note how a request ended.

        Args:
            event: `ANSWERED`; `FREE` if it cost nothing; `LOST` if that is unknown.
            tokens: of an answer; None if the server does not report them.
        """
        facts: dict[str, Any] = {"event": event, "request": number}
        if event == ANSWERED:
            facts |= {"input_tokens": tokens[0] if tokens else None, "output_tokens": tokens[1] if tokens else None}
            facts["cost_usd"] = cost_usd
        with self.lock:
            self._note(facts)

    def fail(self, job: JobKey, reason: str) -> None:
        """Note a try that left no row although the model answered."""
        with self.lock:
            self._note({"event": NO_ROW, "instance_id": job[0], "sample": job[1], "reason": reason})

    def _note(self, row: dict[str, Any]) -> None:
        row = {**row, "at": now()}
        # A thread that comes late finds the file closed: its request counts as lost when the file is opened again.
        (self.write if self.is_open else self.count)(row)

    def count(self, row: dict[str, Any]) -> None:
        """Count the event of a row."""
        event = row["event"]
        if event == NO_ROW:
            job = row["instance_id"], row["sample"]
            self.failed[job] += 1
            self.reasons[job] = row["reason"]
        elif event == ASKED:
            self._last = max(self._last, row["request"])
            self.jobs.add((row["instance_id"], row["sample"]))
            self.open_requests[row["request"]] = read_tokens(*row["most_tokens"]) or (0, 0)
        elif event != LOST:
            self.open_requests.pop(row["request"], None)
            if event == ANSWERED:
                tokens = read_tokens(row["input_tokens"], row["output_tokens"])
                self.spent.count(tokens or (0, 0), row["cost_usd"], counted=tokens is not None)

    @classmethod
    def parse(cls, line: bytes) -> dict[str, Any] | None:
        """Read a line; None if it is not a row of this file."""
        row = super().parse(line)
        keys = _KEYS.get(row["event"]) if row else None
        if row is None or keys is None or wrong_key(row, keys) or not keys.keys() <= row.keys():
            return None
        return row if len(row.get("most_tokens", (0, 0))) == 2 else None
