"""Words to tokens, and pairs to padded batches in which chosen and rejected responses stand together."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from tdpo.data import PreferencePair

PAD_TOKEN, END_TOKEN = 0, 1
SPECIAL_TOKENS = ("<pad>", "<end>")

#: Label of a position that belongs to no response (prompt or padding).
IGNORE_LABEL = -100


class Tokenizer:
    """One token a word; the special tokens come first."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words = [*SPECIAL_TOKENS, *words]
        self._token_of = {word: token for token, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, words: Sequence[str]) -> list[int]:
        """Tokens of the words; an unknown word raises KeyError."""
        return [self._token_of[word] for word in words]

    def decode(self, tokens: Iterable[int]) -> list[str]:
        """Words up to the first special token."""
        words = []
        for token in tokens:
            if token < len(SPECIAL_TOKENS):
                break
            words.append(self.words[token])
        return words


@dataclass(frozen=True)
class PreferenceBatch:
    """B pairs as tensors of 2B rows: the B prompts with chosen responses, then the same prompts with rejected ones."""

    input_ids: Tensor  # (2B, T) int64, padded on the right with PAD_TOKEN
    labels: Tensor  # (2B, T) int64, IGNORE_LABEL on prompt and padding


def collate(pairs: Sequence[PreferencePair], tokenizer: Tokenizer) -> PreferenceBatch:
    """Tokenise, join and pad a list of pairs."""
    sides = [(pair.prompt, pair.chosen) for pair in pairs] + [(pair.prompt, pair.rejected) for pair in pairs]
    input_ids, labels = [], []
    for prompt, response in sides:
        prompt_tokens = tokenizer.encode(prompt)
        response_tokens = [*tokenizer.encode(response), END_TOKEN]
        input_ids.append(torch.tensor(prompt_tokens + response_tokens))
        labels.append(torch.tensor([IGNORE_LABEL] * len(prompt_tokens) + response_tokens))
    return PreferenceBatch(
        input_ids=pad_sequence(input_ids, batch_first=True, padding_value=PAD_TOKEN),
        labels=pad_sequence(labels, batch_first=True, padding_value=IGNORE_LABEL),
    )


def iterate_batches(
    pairs: Sequence[PreferencePair], tokenizer: Tokenizer, batch_size: int, rng: Random
) -> Iterator[PreferenceBatch]:
    """One epoch of shuffled batches; the last one may be smaller."""
    shuffled = rng.sample(pairs, k=len(pairs))
    for start in range(0, len(shuffled), batch_size):
        yield collate(shuffled[start : start + batch_size], tokenizer)
