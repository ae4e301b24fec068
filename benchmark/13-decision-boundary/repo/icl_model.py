"""Learners that are given examples and a query: two classical ones, and a stand-in for a language model."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from config import LABEL_NAMES
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from uncertainty import class_probabilities


class Learner(Protocol):
    """Learns from a context and predicts in one call."""

    def predict_proba(self, context_x: np.ndarray, context_y: np.ndarray, query_x: np.ndarray) -> np.ndarray:
        """Probability of class 1 for each query (q,), from examples (n, d) with labels (n,) and queries (q, d)."""
        ...


class NearestNeighbours:
    """Share of class 1 among the nearest examples."""

    def __init__(self, neighbours: int = 5) -> None:
        self.neighbours = neighbours

    def predict_proba(self, context_x: np.ndarray, context_y: np.ndarray, query_x: np.ndarray) -> np.ndarray:
        return KNeighborsClassifier(self.neighbours).fit(context_x, context_y).predict_proba(query_x)[:, 1]


class Logistic:
    """Logistic regression, which can draw nothing but straight boundaries."""

    def predict_proba(self, context_x: np.ndarray, context_y: np.ndarray, query_x: np.ndarray) -> np.ndarray:
        return LogisticRegression().fit(context_x / 100, context_y).predict_proba(query_x / 100)[:, 1]


class PromptedAttention:
    """Stand-in for a language model: reads prompts, and attends to the examples in them.

    A query attends to each example by its distance over `width`. Attention also gets a random offset for each example
    and each value of a number, as if the model did not quite know what the numbers mean. That makes its boundaries
    rough, as those of language models are.

    Args:
        width: distance at which attention has fallen by a factor of e.
        roughness: standard deviation of the offsets; 0 gives a smooth learner.
        seed: fixes the offsets.

    Attributes:
        vocabulary: words that it may continue a prompt with, the names of the labels among them.
    """

    vocabulary = ("Input:", LABEL_NAMES[1], "Label:", LABEL_NAMES[0], "the")

    def __init__(self, width: float = 5.0, roughness: float = 1.0, seed: int = 0) -> None:
        self.width, self.roughness = width, roughness
        self.offsets = np.random.default_rng(seed).normal(size=(101, 64))

    def label_probabilities(self, context_prompt: str, query_prompts: Sequence[str]) -> np.ndarray:
        """Probability of the second label name after each query prompt (q,), given one context prompt."""
        label_ids = [self.vocabulary.index(name) for name in LABEL_NAMES]
        return class_probabilities(self.next_word_logits(context_prompt, query_prompts), label_ids)[:, 1]

    def next_word_logits(self, context_prompt: str, query_prompts: Sequence[str]) -> np.ndarray:
        """Logits over `vocabulary` of the word after each query prompt, (q, V), given one context prompt."""
        lines = context_prompt.split("\n")
        context_x = np.array([parse_input(line) for line in lines[::2]])
        words = [line.removeprefix("Label: ") for line in lines[1::2]]
        query_x = np.array([parse_input(prompt.split("\n")[0]) for prompt in query_prompts])
        distances = np.linalg.norm(query_x[:, None] - context_x, axis=-1)
        noise = self._code(query_x) @ self._code(context_x).T
        scores = self.roughness * noise - distances / self.width
        # A language model always gives some probability to words that answer nothing.
        logits = np.tile(np.linspace(-1.0, 1.0, len(self.vocabulary)), (len(query_x), 1))
        for name in LABEL_NAMES:
            members = [number for number, word in enumerate(words) if word == name]
            column = self.vocabulary.index(name)
            logits[:, column] = np.logaddexp.reduce(scores[:, members], axis=1) if members else -1e3
        return logits

    def _code(self, numbers: np.ndarray) -> np.ndarray:
        """Random codes (n, 64) of points (n, d), of about unit length."""
        return self.offsets[numbers.clip(0, 100)].sum(axis=1) / np.sqrt(self.offsets.shape[1] / 2)


def parse_input(line: str) -> list[int]:
    """The numbers in a line `Input: ...` of a prompt."""
    return [int(word) for word in line.removeprefix("Input: ").split()]
