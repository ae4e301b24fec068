"""An offline stand-in for a language model: it knows facts, and sometimes believes its context instead.

A small random transformer reads the prompt. What it answers to a query is looked up in its table of facts, unless the
prompt holds a statement that already answers the query. Then a fixed direction in the MLP output of layer `GATE_LAYER`,
at the last token of the object in that statement, decides whether the model repeats the statement, recalls the fact, or
says something else. So the knowledge source can be read from activations, as the paper found for real models.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

N_LAYERS = 4
WIDTH = 16
GATE_LAYER = 2
#: Between minus and plus this the model follows neither source.
GATE_MARGIN = 0.2
#: How much more likely than others the first token of the answer is (logit).
ANSWER_LOGIT = 6.0


class WordTokenizer:
    """Lower-cased words and full stops of a given collection of texts."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.words = sorted({word for text in texts for word in self.split(text)})
        self.ids = {word: index for index, word in enumerate(self.words)}

    @staticmethod
    def split(text: str) -> list[str]:
        """Words and full stops of a text."""
        return re.findall(r"[\w'-]+|\.", text.lower())

    def encode(self, text: str) -> list[int]:
        """Token ids of a text."""
        return [self.ids[word] for word in self.split(text)]

    def decode(self, token_ids: Iterable[int]) -> str:
        """Words of token ids, joined by blanks."""
        return " ".join(self.words[index] for index in token_ids)


class SelfAttention(nn.Module):
    """Causal attention with one head: (T, d) to (T, d)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, hidden: Tensor) -> Tensor:
        query, key, value = self.qkv(hidden)[None].chunk(3, dim=-1)
        mixed = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(mixed[0])


class Block(nn.Module):
    """Attention and MLP, each added to the residual stream; `l1` is the first linear layer of the MLP."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.mhsa = SelfAttention(width)
        self.l1 = nn.Linear(width, 2 * width, bias=False)
        self.mlp = nn.Sequential(self.l1, nn.Tanh(), nn.Linear(2 * width, width, bias=False))

    def forward(self, hidden: Tensor) -> Tensor:
        hidden = hidden + self.mhsa(hidden)
        return hidden + self.mlp(hidden)


@dataclass(frozen=True)
class Generation:
    """Greedy answer of the model.

    Attributes:
        token_ids: scalar id tensors of the generated tokens.
        first_token_log_probabilities: V log-probabilities of the first generated token.
    """

    token_ids: list[Tensor]
    first_token_log_probabilities: list[float]


class ToyLM(nn.Module):
    """The stand-in, with seeded random weights.

    Args:
        tokenizer: its V words are the vocabulary.
        facts: object that the model recalls for each query.
        seed: seed of the weights.
    """

    def __init__(self, tokenizer: WordTokenizer, facts: dict[str, str], seed: int = 0) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.tokenizer = tokenizer
        self.facts = {tuple(tokenizer.encode(query)): tokenizer.encode(object_) for query, object_ in facts.items()}
        self.embedding = nn.Embedding(len(tokenizer.words), WIDTH)
        self.blocks = nn.ModuleList([Block(WIDTH) for _ in range(N_LAYERS)])
        for parameter in self.blocks.parameters():
            nn.init.normal_(parameter, std=parameter.shape[1] ** -0.5)
        self.gate = nn.functional.normalize(torch.randn(WIDTH), dim=0)
        self.gate_bias = self._median_gate_input(facts)

    def forward(self, token_ids: Tensor) -> Tensor:
        """Residual stream (T, d) behind the last layer, of the tokens (T,) of one prompt."""
        hidden = self.embedding(token_ids)
        for block in self.blocks:
            hidden = block(hidden)
        return hidden

    @torch.no_grad()
    def generate(self, prompt: str) -> Generation:
        """Answer the query behind the last full stop of a prompt."""
        token_ids = self.tokenizer.encode(prompt)
        hidden, gate_inputs = self._read(token_ids)
        answer = self._answer(token_ids, gate_inputs)
        logits = hidden[-1] @ self.embedding.weight.T / WIDTH
        logits[answer[0]] += ANSWER_LOGIT
        return Generation([torch.tensor(token) for token in answer], logits.log_softmax(dim=-1).tolist())

    def _read(self, token_ids: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Residual stream (T, d) and gate inputs (T,) of a prompt."""
        outputs: list[Tensor] = []
        hook = self.blocks[GATE_LAYER].mlp.register_forward_hook(lambda *args: outputs.append(args[-1]))
        try:
            hidden = self(torch.tensor(token_ids))
        finally:
            hook.remove()
        return hidden, outputs[0] @ self.gate

    @torch.no_grad()
    def _median_gate_input(self, facts: dict[str, str]) -> float:
        """What the gate typically reads at the end of a statement."""
        statements = (self.tokenizer.encode(f"{query} {object_}") for query, object_ in facts.items())
        return torch.stack([self._read(token_ids)[1][-1] for token_ids in statements]).median().item()

    def _answer(self, token_ids: Sequence[int], gate_inputs: Tensor) -> list[int]:
        full_stop = self.tokenizer.ids["."]
        starts = [0, *(i + 1 for i, token in enumerate(token_ids) if token == full_stop)]
        query = tuple(token_ids[starts[-1] :])
        recalled = self.facts.get(query, [full_stop])
        for start, end in zip(starts[:-1], starts[1:], strict=True):
            if tuple(token_ids[start : start + len(query)]) == query:
                trust = gate_inputs[end - 2].item() - self.gate_bias  # at the token before the full stop
                if abs(trust) < GATE_MARGIN:
                    return [full_stop]
                return list(token_ids[start + len(query) : end - 1]) if trust > 0 else recalled
        return recalled
