"""The training loop of a hierarchy encoder."""

import copy
import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from hierarchy_transformers.datasets.build import LabelledPair, Triple, iterate_batches
from hierarchy_transformers.evaluation.metrics import calibrate
from hierarchy_transformers.models.hit import HierarchyTransformer
from torch import Tensor, nn

#: What a loss returns, in the order in which it is printed.
LOSS_NAMES = ("loss", "cluster_loss", "centri_loss")


@dataclass(frozen=True)
class TrainingConfig:
    """How long and how fast to train."""

    epochs: int
    batch_size: int
    learning_rate: float  # gamma of the paper
    warmup_steps: int  # W of the paper


@dataclass(frozen=True)
class Epoch:
    """What is known about one epoch."""

    losses: dict[str, float]  # by `LOSS_NAMES`: means over all triples, each loss from before the update by its batch
    f1: float  # of `calibrate` on the validation pairs, after the epoch


def rate_at(step: int, learning_rate: float, warmup_steps: int) -> float:
    """The learning rate gamma_k of the paper at step k.

    Args:
        step: k of the paper, from 1.
        learning_rate: gamma of the paper.
        warmup_steps: W of the paper, at least 0.
    """
    return learning_rate * min(1.0, step / max(1, warmup_steps))


class HierarchyTransformerTrainer:
    """Minimises a loss over triples by AdamW, without weight decay.

    The loss is a module that returns `LOSS_NAMES` for a batch, as 0-dimensional tensors.
    """

    def __init__(self, model: HierarchyTransformer, loss: nn.Module, config: TrainingConfig) -> None:
        self.model = model
        self.loss = loss
        self.config = config
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate, weight_decay=0.0)

    def set_rate(self, rate: float) -> None:
        """Set the learning rate of the optimiser's next steps."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    def compute_losses(self, triples: list[Triple]) -> dict[str, Tensor]:
        """The losses of one batch."""
        columns = zip(*((triple.child, triple.parent, triple.negative) for triple in triples), strict=True)
        return self.loss([self.model.tokenize(names) for names in columns], labels=torch.ones(len(triples)))

    def train(self, triples: list[Triple], validation: Sequence[LabelledPair], rng: random.Random) -> list[Epoch]:
        """Run all epochs, and leave the model as the paper selects it.

        Args:
            triples: what to train on; each epoch is one pass of `iterate_batches`.
            validation: labelled pairs that the paper selects the model by.
            rng: of the batches.

        Returns:
            What is known about each epoch, in order.
        """
        epochs: list[Epoch] = []
        selected, step = None, 0
        for _ in range(self.config.epochs):
            totals = dict.fromkeys(LOSS_NAMES, 0.0)
            for batch in iterate_batches(triples, self.config.batch_size, rng):
                step += 1
                losses = self.compute_losses(batch)
                self.set_rate(rate_at(step, self.config.learning_rate, self.config.warmup_steps))
                self.optimizer.zero_grad()
                losses["loss"].backward()
                self.optimizer.step()
                for name in LOSS_NAMES:  # the last batch may be smaller and counts less
                    totals[name] += losses[name].item() * len(batch) / len(triples)
            _, f1 = calibrate(self.model, validation)
            if all(f1 > epoch.f1 for epoch in epochs):
                selected = copy.deepcopy(self.model.state_dict())
            epochs.append(Epoch(totals, f1))
        if selected:
            self.model.load_state_dict(selected)
        return epochs
