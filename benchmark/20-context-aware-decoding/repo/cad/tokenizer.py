"""Word-level tokenizer with begin, end and padding tokens."""

from collections.abc import Iterable

import torch

SPECIAL_TOKENS = ("<pad>", "<bos>", "<eos>")


class WordTokenizer:
    """Maps lower-case words to ids; the vocabulary is fixed by the texts given at construction."""

    pad_token_id = 0
    bos_token_id = 1
    eos_token_id = 2

    def __init__(self, texts: Iterable[str]) -> None:
        words = sorted({word for text in texts for word in text.split()})
        self.tokens = [*SPECIAL_TOKENS, *words]
        self.ids = {token: index for index, token in enumerate(self.tokens)}

    def __len__(self) -> int:
        return len(self.tokens)

    def encode(self, text: str, add_bos: bool = True) -> torch.Tensor:
        """Return the ids of `text` as a LongTensor of shape (1, length); an unknown word is a KeyError.

        With `add_bos` the begin token comes first. An end token is never added.
        """
        ids = [self.ids[word] for word in text.split()]
        return torch.tensor([[self.bos_token_id, *ids] if add_bos else ids], dtype=torch.long)

    def decode(self, ids: torch.Tensor) -> str:
        """Join the words of a (length,) tensor of ids, leaving special tokens out."""
        return " ".join(self.tokens[index] for index in ids.tolist() if index >= len(SPECIAL_TOKENS))
