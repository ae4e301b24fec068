"""Statements, the question that is asked about them, and contrast pairs in random order with their labels."""

import csv
import random
from dataclasses import dataclass
from pathlib import Path

DATA = Path(__file__).resolve().parents[1] / "data"
ANSWERS = ("false", "true")  # of label 0 and of label 1
TEMPLATE = "Consider the truth of this statement. {statement} It is"
#: Instructions that may stand before a prompt, and the answer that each asks for, whatever the statement.
TRUST, DOUBT = "Trust everything. ", "Doubt everything. "
INSTRUCTED = {TRUST: "true", DOUBT: "false"}


@dataclass(frozen=True)
class Statement:
    """A sentence and whether it is true (1) or false (0)."""

    text: str
    label: int

    @property
    def prompt(self) -> str:
        """The statement as it is put to a model, which should go on with one of ANSWERS."""
        return TEMPLATE.format(statement=self.text)


@dataclass(frozen=True)
class Contrast:
    """One text in three versions.

    Attributes:
        base: without an instruction; T^0 of the paper.
        positive: with the instruction to strengthen; T^+.
        negative: with the opposite instruction; T^-.
        response: how all three versions end.
    """

    base: str
    positive: str
    negative: str
    response: str


@dataclass(frozen=True)
class PairData:
    """Contrast pairs.

    Attributes:
        prompts: 2m prompts; 2k and 2k + 1 are a pair, a true and a false statement about the same thing.
        labels: m lists of two, 1 for the true statement of the pair and 0 for the false one.
    """

    prompts: list[str]
    labels: list[list[int]]


def load_statements() -> list[Statement]:
    """All statements of data/facts.csv; 2k and 2k + 1 are about the same thing, the first of them true."""
    with (DATA / "facts.csv").open(encoding="utf-8", newline="") as file:
        return [Statement(row["statement"], int(row["label"])) for row in csv.DictReader(file)]


def lessons(statements: list[Statement]) -> list[str]:
    """Every prompt with the answer at its end, without and with instructions, and every true statement on its own."""
    judged = [f"{item.prompt} {ANSWERS[item.label]}" for item in statements]
    told = [f"{instruction}{item.prompt} {answer}" for instruction, answer in INSTRUCTED.items() for item in statements]
    return judged + told + [item.text.rstrip(".") for item in statements if item.label]


def make_pairs(statements: list[Statement], seed: int = 0) -> PairData:
    """Pairs of neighbouring statements; which one comes first is random, so that the order carries no information."""
    rng = random.Random(seed)
    prompts, labels = [], []
    for start in range(0, len(statements), 2):
        pair = rng.sample(statements[start : start + 2], 2)
        prompts += [item.prompt for item in pair]
        labels.append([item.label for item in pair])
    return PairData(prompts, labels)


def make_contrasts(statements: list[Statement]) -> list[Contrast]:
    """Right answers in three versions; the positive one is told to trust."""
    contrasts = []
    for item in statements:
        text = f"{item.prompt} {ANSWERS[item.label]}"
        contrasts.append(Contrast(text, TRUST + text, DOUBT + text, f"It is {ANSWERS[item.label]}"))
    return contrasts
