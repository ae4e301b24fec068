"""A language model with its tokeniser, and the hidden states of its layers."""

import random
import re
import string

import numpy as np
import torch
import torch.nn.functional as F
from model import ModelConfig, TransformerLM
from torch import Tensor

PAD = 0


def set_seed(seed: int) -> None:
    """Seed Python's, NumPy's and PyTorch's generators."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class Tokenizer:
    """Words and punctuation marks as tokens, in lower case; a word that is not known is spelled letter by letter."""

    def __init__(self, texts: list[str]) -> None:
        words = {word for text in texts for word in self.split(text)}
        self.vocabulary = ["<pad>", *string.ascii_lowercase, *sorted(words - set(string.ascii_lowercase))]
        self.ids = {word: index for index, word in enumerate(self.vocabulary)}

    @staticmethod
    def split(text: str) -> list[str]:
        """Runs of letters and single punctuation marks."""
        return re.findall(r"[a-z]+|[^\sa-z]", text.lower())

    def encode(self, text: str) -> list[int]:
        """Token ids; characters outside of the vocabulary are dropped."""
        pieces: list[str] = []
        for word in self.split(text):
            pieces += [word] if word in self.ids else list(word)
        return [self.ids[piece] for piece in pieces if piece in self.ids]


class LLM:
    """A language model that is taught in place of being downloaded, and whose layers can be read.

    Args:
        texts: what the vocabulary is taken from.
        seed: of the initial weights and of the order of lessons.
    """

    def __init__(self, texts: list[str], seed: int = 0) -> None:
        set_seed(seed)
        self.tokenizer = Tokenizer(texts)
        self.model = TransformerLM(ModelConfig(vocabulary_size=len(self.tokenizer.vocabulary)))

    @property
    def total_layers(self) -> int:
        """Number of layers that can be probed."""
        return len(self.model.layers)

    def teach(self, lessons: list[str], steps: int = 400, batch_size: int = 24, learning_rate: float = 3e-3) -> float:
        """Train the model to predict the last token of each text; return the mean loss of the last 20 steps."""
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=learning_rate, weight_decay=0.01)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, learning_rate, total_steps=steps)
        encoded = [self.tokenizer.encode(text) for text in lessons]
        losses = []
        for _ in range(steps):
            batch = random.choices(encoded, k=batch_size)
            logits = self.model(pad([tokens[:-1] for tokens in batch]))
            last = torch.tensor([len(tokens) - 2 for tokens in batch])
            answers = torch.tensor([tokens[-1] for tokens in batch])
            loss = F.cross_entropy(logits[torch.arange(batch_size), last], answers)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        self.model.eval()
        return float(np.mean(losses[-20:]))

    @torch.no_grad()
    def get_hidden_states(self, prompt: str) -> np.ndarray:
        """Representation of one prompt in every layer: (layers, width), float64. No hook stays behind."""
        states: list[Tensor] = []
        hooks = [
            layer.post_attention_layernorm.register_forward_hook(lambda _module, _args, out: states.append(out[0, -1]))
            for layer in self.model.layers
        ]
        try:
            self.model(torch.tensor([self.tokenizer.encode(prompt)]))
        finally:
            for hook in hooks:
                hook.remove()
        return torch.stack(states).double().numpy()

    def collect(self, prompts: list[str]) -> list[np.ndarray]:
        """Hidden states of many prompts, as one (len(prompts), width) array a layer."""
        states = np.stack([self.get_hidden_states(prompt) for prompt in prompts])
        return list(states.swapaxes(0, 1))


def pad(sequences: list[list[int]]) -> Tensor:
    """Token sequences as one (B, longest) tensor, filled up with PAD on the right, where a causal model ignores it."""
    length = max(map(len, sequences))
    return torch.tensor([sequence + [PAD] * (length - len(sequence)) for sequence in sequences])
