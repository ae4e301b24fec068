"""The common part of all logs of questions about a run's answers: the judge, the answer and the outcome."""

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from lmrbench_data.base.jsonl import Ledger, parse_row
from lmrbench_data.base.times import now
from lmrbench_data.chat.budget import Spent

AnswerId = tuple[str, str, str]
"""Instance id, hash of the prediction, track: equal answers to the same question are judged once."""
#: The keys of rows in all these logs, and their types.
_KEYS: dict[str, Any] = {
    "instance_id": str,
    "prediction_sha256": str,
    "judge_model": str,
    "prompt_version": str,
    "status": str,
    "error": str,
    "input_tokens": int,
    "output_tokens": int,
    "cost_usd": (int, float, type(None)),
}
#: The source of an opinion: the model, or a comparison that found the reference's own code.
BY_MODEL, BY_COMPARISON = "model", "identical"
_Read = TypeVar("_Read")


class Judge(NamedTuple):
    """A model at a server, with one version of the prompt."""

    model: str
    prompt_version: str
    server: str = ""
    """Its address; empty for rows of a version that did not record it."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "Judge":
        """Return the judge that a row names."""
        return cls(row["judge_model"], row["prompt_version"], row["base_url"])


@dataclass(frozen=True)
class QuestionOutcome(Generic[_Read]):
    """The outcome of one question: an opinion, an error, or a reason why no model can be asked."""

    opinion: _Read | None = None
    error: str = ""
    reason: str = ""
    tokens: tuple[int, int] = (0, 0)
    """Tokens of question and answer."""
    counted: bool = True
    """False if the server did not report its tokens, so that the cost is unknown."""
    cost_usd: float | None = 0.0
    temperature: float | None = None
    """None if the server's own was used, or no model was asked."""
    duration_s: float = 0.0
    asked_at: str = field(default_factory=now)
    cached: bool = False
    """Another run paid for it."""
    by: str = BY_MODEL
    """`BY_MODEL` or `BY_COMPARISON`."""

    def facts(self) -> dict[str, Any]:
        """Return the part of a row that describes the outcome."""
        return {
            "error": self.error,
            "reason": self.reason,
            "temperature": self.temperature,
            "input_tokens": self.tokens[0],
            "output_tokens": self.tokens[1],
            "counted": self.counted,
            "cost_usd": self.cost_usd if self.counted else None,
            "duration_s": round(self.duration_s, 3),
            "cached": self.cached,
        }


class QuestionLog(Ledger):
    """An open log of questions about the answers of a run."""

    #: The status of a row with an opinion, of an answer that no model can be asked about, and of an error. Of several
    #: rows with one key, the one with the first of these counts.
    STATUSES: ClassVar[tuple[str, str, str]]
    #: The keys of a row besides those of all such logs, and their types.
    ROW: ClassVar[Mapping[str, Any]]

    def __init__(self) -> None:
        super().__init__()
        self.spent: defaultdict[str, Spent] = defaultdict(Spent)
        """By model."""
        self._statuses: dict[Hashable, str] = {}

    @classmethod
    @abstractmethod
    def key(cls, row: Mapping[str, Any]) -> Hashable:
        """Return the question that a row is about."""

    @classmethod
    def rank(cls, row: Mapping[str, Any]) -> int:
        """Rank rows with one key; the lowest counts."""
        return cls.STATUSES.index(row["status"])

    @classmethod
    def parse_keys(cls, line: bytes) -> dict[str, Any] | None:
        """Read a line; None if it lacks a key or has one of a wrong type."""
        return parse_row(line, {**_KEYS, **cls.ROW})

    def add(self, answer: AnswerId, judge: Judge, outcome: QuestionOutcome[Any], **opinion: Any) -> None:
        """Write the row of an outcome; `opinion` holds the keys of this kind of log."""
        self.write(
            {
                "instance_id": answer[0],
                "prediction_sha256": answer[1],
                "track": answer[2],
                "judge_model": judge.model,
                "base_url": judge.server,
                "prompt_version": judge.prompt_version,
                "status": self.STATUSES[0 if outcome.opinion else 1 if outcome.reason else 2],
                **opinion,
                **outcome.facts(),
            }
        )

    def is_done(self, key: Hashable) -> bool:
        """Return whether a question has a final row; one that only failed is asked again."""
        return self._statuses.get(key) in self.STATUSES[:2]

    def count(self, row: dict[str, Any]) -> None:
        """Note the status and the cost of a row."""
        key = self.key(row)
        self._statuses[key] = min(self._statuses.get(key, row["status"]), row["status"], key=self.STATUSES.index)
        self.spent[row["judge_model"]].count(row)


def answer_id(row: Mapping[str, Any]) -> AnswerId:
    """Return the answer that a row of judgements, diagnoses or results is about."""
    return row["instance_id"], row["prediction_sha256"], row["track"]
