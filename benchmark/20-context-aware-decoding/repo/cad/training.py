"""Trains the toy model to remember facts and to believe a contradicting source only now and then."""

import random
from dataclasses import dataclass

import torch
from torch.nn import functional as F

from cad.conflicts import SOURCES, Conflict, training_claims
from cad.prefix import join_context
from cad.tokenizer import WordTokenizer
from cad.toy_lm import ToyLM

IGNORED_LABEL = -100


@dataclass(frozen=True)
class TrainConfig:
    """Optimisation settings; `closed_book` is the share of training examples that show no context."""

    steps: int = 400
    batch_size: int = 48
    learning_rate: float = 3e-3
    closed_book: float = 0.4
    seed: int = 0


def draw_example(
    conflicts: list[Conflict], tokenizer: WordTokenizer, closed_book: float, rng: random.Random
) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw one training example: prompt ids (1, L) and answer ids (1, A), the end token included.

    Without a context the answer is always the remembered one. A context claims some answer, and the example follows it
    as often as `SOURCES` says; otherwise it stays with the memory.
    """
    conflict = rng.choice(conflicts)
    answer = conflict.memory
    prompt = tokenizer.encode(conflict.query)
    if rng.random() >= closed_book:
        source = rng.choice(list(SOURCES))
        claim = rng.choice(training_claims(conflict, conflicts))
        prompt = join_context(tokenizer.encode(conflict.context(source, claim)), prompt)
        if rng.random() < SOURCES[source]:
            answer = claim
    answer_ids = tokenizer.encode(answer, add_bos=False)
    return prompt, F.pad(answer_ids, (0, 1), value=tokenizer.eos_token_id)


def collate(examples: list[tuple[torch.Tensor, torch.Tensor]], pad_token_id: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Pad examples on the right to inputs (batch, L) and next-token labels (batch, L), set on answers only."""
    inputs, labels = [], []
    for prompt, answer in examples:
        sequence = torch.cat([prompt, answer], dim=-1)[0]
        label = sequence.clone()
        label[: prompt.shape[-1]] = IGNORED_LABEL
        inputs.append(sequence[:-1])
        labels.append(label[1:])
    pad = torch.nn.utils.rnn.pad_sequence
    return (
        pad(inputs, batch_first=True, padding_value=pad_token_id),
        pad(labels, batch_first=True, padding_value=IGNORED_LABEL),
    )


def train(model: ToyLM, tokenizer: WordTokenizer, conflicts: list[Conflict], config: TrainConfig) -> list[float]:
    """Fit `model` in place and return the mean answer-token loss of each step; the model is left in eval mode."""
    rng = random.Random(config.seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, config.steps)
    model.train()
    losses = []
    for _ in range(config.steps):
        examples = [draw_example(conflicts, tokenizer, config.closed_book, rng) for _ in range(config.batch_size)]
        inputs, labels = collate(examples, tokenizer.pad_token_id)
        loss = F.cross_entropy(model(inputs).logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED_LABEL)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    model.eval()
    return losses
