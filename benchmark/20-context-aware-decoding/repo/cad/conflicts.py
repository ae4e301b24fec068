"""Questions about facts the model remembers, each with a source text that contradicts the memory."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

#: Opening of a source text -> how often, in the training corpus, the answer follows a source that opens like this.
SOURCES = {
    "an encyclopedia states that": 0.7,
    "a newspaper reports that": 0.4,
    "a stranger claims that": 0.2,
}


@dataclass(frozen=True)
class Conflict:
    """One fact: `memory` is the answer seen throughout training, `counterfactual` what the test context says."""

    relation: str
    subject: str
    memory: str
    counterfactual: str

    @property
    def query(self) -> str:
        return f"the {self.relation} of {self.subject} is"

    def context(self, source: str, answer: str) -> str:
        """Return a source text that opens with `source` and gives `answer` to the query."""
        return f"{source} {self.query} {answer} ."


def load_conflicts(path: Path) -> list[Conflict]:
    """Read one conflict a line from a JSON Lines file."""
    with path.open(encoding="utf-8") as lines:
        return [Conflict(**json.loads(line)) for line in lines]


def training_claims(conflict: Conflict, conflicts: list[Conflict]) -> list[str]:
    """Return the answers that training contexts may give: all of the relation, the memory among them.

    The counterfactual is left out, so that the context a test shows is new to the model.
    """
    answers = {other.memory for other in conflicts if other.relation == conflict.relation}
    return sorted(answers - {conflict.counterfactual})


def all_texts(conflicts: list[Conflict]) -> Iterator[str]:
    """Yield every text that the vocabulary has to cover."""
    for conflict in conflicts:
        for source in SOURCES:
            yield conflict.context(source, conflict.memory)
        yield conflict.counterfactual
