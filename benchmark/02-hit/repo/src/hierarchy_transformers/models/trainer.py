"""The training loop of a hierarchy encoder."""

import random
from dataclasses import dataclass

import torch
from hierarchy_transformers.datasets.build import Triple, iterate_batches
from hierarchy_transformers.models.hit import HierarchyTransformer
from torch import Tensor, nn

#: What a loss returns, in the order in which it is printed.
LOSS_NAMES = ("loss", "cluster_loss", "centri_loss")


@dataclass(frozen=True)
class TrainingConfig:
    """How long and how fast to train."""

    epochs: int
    batch_size: int
    learning_rate: float
    report_every: int  # epochs between two printed lines


class HierarchyTransformerTrainer:
    """Minimises a loss over triples.

    The loss is a module that returns `LOSS_NAMES` for a batch, as 0-dimensional tensors. They are means over its
    triples, so that the learning rate does not depend on the batch size.
    """

    def __init__(self, model: HierarchyTransformer, loss: nn.Module, config: TrainingConfig) -> None:
        self.model = model
        self.loss = loss
        self.config = config
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate, weight_decay=0.0)

    def compute_losses(self, triples: list[Triple]) -> dict[str, Tensor]:
        """The losses of one batch."""
        columns = zip(*((triple.child, triple.parent, triple.negative) for triple in triples), strict=True)
        return self.loss([self.model.tokenize(names) for names in columns], labels=torch.ones(len(triples)))

    def train(self, triples: list[Triple], rng: random.Random) -> None:
        """Run all epochs; print the mean losses of the first one and of every few."""
        for epoch in range(1, self.config.epochs + 1):
            totals = dict.fromkeys(LOSS_NAMES, 0.0)
            for batch in iterate_batches(triples, self.config.batch_size, rng):
                losses = self.compute_losses(batch)
                self.optimizer.zero_grad()
                losses["loss"].backward()
                self.optimizer.step()
                for name in LOSS_NAMES:  # the last batch may be smaller and counts less
                    totals[name] += losses[name].item() * len(batch) / len(triples)
            if epoch == 1 or epoch % self.config.report_every == 0:
                print(f"  epoch {epoch:3d}   " + "   ".join(f"{name} {totals[name]:6.3f}" for name in LOSS_NAMES))
