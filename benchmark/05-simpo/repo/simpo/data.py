"""Preference pairs: reading them, a word tokenizer, and the collator that pads and labels a batch."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

SPECIAL_TOKENS = ("<pad>", "<unknown>", "<answer>", "<end>")
PAD_TOKEN_ID, UNKNOWN_TOKEN_ID, ANSWER_TOKEN_ID, END_TOKEN_ID = range(len(SPECIAL_TOKENS))


@dataclass(frozen=True)
class PreferencePair:
    """A prompt with the response that people prefer (chosen) and the one that they do not (rejected)."""

    prompt: str
    chosen: str
    rejected: str


@dataclass(frozen=True)
class PreferenceBatch:
    """B pairs as tensors; chosen and rejected responses are padded separately, to lengths T_w and T_l."""

    chosen_input_ids: Tensor  # (B, T_w) int64
    chosen_labels: Tensor  # (B, T_w) int64, the padding label on prompt and padding
    rejected_input_ids: Tensor  # (B, T_l) int64
    rejected_labels: Tensor  # (B, T_l) int64, the padding label on prompt and padding


def load_pairs(path: Path) -> list[PreferencePair]:
    """Read one JSON object a line, with the keys `prompt`, `chosen` and `rejected`."""
    with path.open(encoding="utf-8") as lines:
        return [PreferencePair(**json.loads(line)) for line in lines]


def split_pairs(pairs: list[PreferencePair], every: int) -> tuple[list[PreferencePair], list[PreferencePair]]:
    """Hold out each `every`-th pair, from the first on.

    Returns:
        training pairs, held-out pairs; both in the order of `pairs`.
    """
    training = [pair for position, pair in enumerate(pairs) if position % every]
    return training, pairs[::every]


def pad_to_length(sequence: Tensor, length: int, value: int) -> Tensor:
    """Pad the last dimension of an integer tensor (..., T) on the right with `value`, to (..., max(T, length))."""
    return torch.nn.functional.pad(sequence, (0, max(0, length - sequence.size(-1))), value=value)


class WordTokenizer:
    """Lower-case words and punctuation marks, numbered by first appearance; words never seen share one token."""

    def __init__(self, texts: Iterable[str]) -> None:
        words = dict.fromkeys(word for text in texts for word in self.split(text))
        self.token_ids = {word: token_id for token_id, word in enumerate(words, start=len(SPECIAL_TOKENS))}

    def __len__(self) -> int:
        return len(SPECIAL_TOKENS) + len(self.token_ids)

    @staticmethod
    def split(text: str) -> list[str]:
        """The words and punctuation marks of a text."""
        return re.findall(r"\w+|[^\w\s]", text.lower())

    def encode(self, text: str) -> list[int]:
        """The tokens of a text, without special ones."""
        return [self.token_ids.get(word, UNKNOWN_TOKEN_ID) for word in self.split(text)]


@dataclass(frozen=True)
class PreferenceCollator:
    """Turns a list of pairs into a batch."""

    tokenizer: WordTokenizer
    label_pad_token_id: int

    def __call__(self, pairs: list[PreferencePair]) -> PreferenceBatch:
        """Tokenise, label and pad the pairs."""
        chosen_input_ids, chosen_labels = self._pad([self.tokenize(pair.prompt, pair.chosen) for pair in pairs])
        rejected_input_ids, rejected_labels = self._pad([self.tokenize(pair.prompt, pair.rejected) for pair in pairs])
        return PreferenceBatch(chosen_input_ids, chosen_labels, rejected_input_ids, rejected_labels)

    def tokenize(self, prompt: str, response: str) -> tuple[Tensor, Tensor]:
        """Tokenise a prompt and one response to it.

        Returns:
            input_ids: (T,) the prompt, the answer token, the response and the end token.
            labels: (T,) the response and the end token, `label_pad_token_id` at all positions before them.
        """
        prompt_ids = [*self.tokenizer.encode(prompt), ANSWER_TOKEN_ID]
        response_ids = [*self.tokenizer.encode(response), END_TOKEN_ID]
        labels = [self.label_pad_token_id] * len(prompt_ids) + response_ids
        return torch.tensor(prompt_ids + response_ids), torch.tensor(labels)

    def _pad(self, examples: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
        longest = max(input_ids.size(0) for input_ids, _ in examples)
        input_ids = [pad_to_length(input_ids, longest, PAD_TOKEN_ID) for input_ids, _ in examples]
        labels = [pad_to_length(labels, longest, self.label_pad_token_id) for _, labels in examples]
        return torch.stack(input_ids), torch.stack(labels)
