"""The bundled data sets: two groups of texts each, a prompt template, the words of the two labels, and noise."""

import csv
import random
import string
from dataclasses import dataclass
from pathlib import Path

DATA = Path(__file__).resolve().parent / "data"


@dataclass(frozen=True)
class Concept:
    """A data set: how its texts are put to a model, and what the model should answer."""

    template: str
    answers: tuple[str, str]  # of label 0 and of label 1
    factual: bool  # texts with label 1 are facts, which a model may read on their own as well


CONCEPTS = {
    "cities": Concept("{text} True or false?", ("false", "true"), factual=True),
    "reviews": Concept("{text} Positive or negative?", ("negative", "positive"), factual=False),
}


class DataProcessing:
    """Prompts of one data set, in the two groups that are told apart.

    Args:
        name: key of CONCEPTS; the texts are in `data/NAME.csv`, columns `text` and `label`.
        noise: number of random letters before each prompt; 0 leaves the prompts as they are.
        seed: of the noise.
    """

    def __init__(self, name: str, noise: int = 0, seed: int = 0) -> None:
        if name not in CONCEPTS:
            raise ValueError(f"no data set {name!r}; there are {', '.join(CONCEPTS)}")
        self.name = name
        self.concept = CONCEPTS[name]
        self.noise = noise
        self.rng = random.Random(seed)

    def load_rows(self) -> list[tuple[str, int]]:
        """(text, label) of every line of the file."""
        with (DATA / f"{self.name}.csv").open(encoding="utf-8", newline="") as file:
            return [(row["text"], int(row["label"])) for row in csv.DictReader(file)]

    def get_prompt(self, text: str) -> str:
        """The text in its template, behind a string of random letters if there is noise."""
        prompt = self.concept.template.format(text=text)
        if not self.noise:
            return prompt
        letters = "".join(self.rng.choices(string.ascii_lowercase, k=self.noise))
        return f"{letters} {prompt}"

    def dispose_data(self) -> tuple[list[str], list[str]]:
        """Prompts of the texts with label 1, and prompts of those with label 0, each in file order."""
        rows = self.load_rows()
        positive = [self.get_prompt(text) for text, label in rows if label == 1]
        negative = [self.get_prompt(text) for text, label in rows if label == 0]
        return positive, negative

    def lessons(self) -> list[str]:
        """What a toy model is taught: prompts without noise and their right answers, and facts without a question.

        The last word of each lesson is the one to predict.
        """
        rows = self.load_rows()
        lessons = [f"{self.concept.template.format(text=text)} {self.concept.answers[label]}" for text, label in rows]
        if self.concept.factual:
            lessons += [text.rstrip(".") for text, label in rows if label == 1]
        return lessons
