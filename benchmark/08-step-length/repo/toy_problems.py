"""Read a question of the three toy data sets as a start and a chain of elementary operations."""

import re
from collections.abc import Callable
from dataclasses import dataclass

ADDING = "finds|buys|gets|picks"
REMOVING = "loses|sells|gives away|eats"


@dataclass(frozen=True)
class Operation:
    """One elementary change of the state, with the words that report it."""

    words: str
    apply: Callable[[str], str]


@dataclass(frozen=True)
class Problem:
    """A question as a state (always text) and the operations that lead to the answer."""

    start: str
    operations: tuple[Operation, ...]


def read_problem(question: str) -> Problem:
    """Recognise the data set of a question and decompose it.

    Raises:
        ValueError: the question belongs to none of the three data sets.
    """
    if question.startswith("A coin is"):
        return _coin_flip(question)
    if "last letters" in question:
        return _last_letters(question)
    if "How many" in question:
        return _arithmetic(question)
    raise ValueError(f"cannot read the question {question!r}")


def answer_text(state: str) -> str:
    """The answer that a final state means: a coin is "still heads up" or not, other states are the answer."""
    return {"heads": "yes", "tails": "no"}.get(state, state)


def _arithmetic(question: str) -> Problem:
    start = re.search(r"has (\d+)", question)
    events = re.findall(rf"({ADDING}) (\d+)|({REMOVING}) (\d+)|(doubles)", question)
    operations = []
    for added, plus, _, minus, _ in events:
        if added:
            operations.append(Operation(f"add {plus}", lambda state, plus=plus: str(int(state) + int(plus))))
        elif minus:
            operations.append(Operation(f"take {minus} away", lambda state, minus=minus: str(int(state) - int(minus))))
        else:
            operations.append(Operation("double it", lambda state: str(2 * int(state))))
    return Problem(start.group(1), tuple(operations))


def _coin_flip(question: str) -> Problem:
    operations = []
    for name, action in re.findall(r"(\w+) (flips|does not flip) the coin", question):
        if action == "flips":
            operations.append(
                Operation(f"{name} turns it over", lambda state: "tails" if state == "heads" else "heads")
            )
        else:
            operations.append(Operation(f"{name} leaves it as it is", lambda state: state))
    return Problem("heads", tuple(operations))


def _last_letters(question: str) -> Problem:
    words = re.search(r'"([^"]+)"', question).group(1).split()
    return Problem(
        "", tuple(Operation(f"{word} gives {word[-1]}", lambda state, word=word: state + word[-1]) for word in words)
    )
