"""The SimCLR trainer: scores between the views of a batch, and updates of the encoder."""

from collections.abc import Iterable, Sequence
from typing import Protocol

import torch
import torch.nn.functional as F
from losses import ContrastiveLoss
from torch import Tensor, nn
from utils import Config, accuracy


class Optimizer(Protocol):
    """As much of an optimiser as the trainer needs."""

    def zero_grad(self) -> None: ...
    def step(self) -> None: ...


class Scheduler(Protocol):
    """As much of a learning rate's schedule as the trainer needs."""

    def step(self) -> None: ...


def similarity_matrix(features: Tensor) -> Tensor:
    """Similarity sim(z_i, z_j) of the paper for each pair of projections.

    Args:
        features: (R, d) projections z, not normalised.

    Returns:
        (R, R), in the dtype of `features`, differentiable.
    """
    directions = F.normalize(features)
    return directions @ directions.T


class SimCLR:
    """Contrastive pretraining of an encoder.

    Args:
        args: settings; the objective reads `batch_size`, `n_views`, `temperature` and `device`.
        model: encoder and projection head, moved to `args.device`.
        optimizer: of the model's parameters.
        scheduler: of the learning rate, stepped once for each batch, after the optimiser.

    Attributes:
        criterion: the loss, called with the two outputs of `info_nce_loss`; returns a scalar.
    """

    def __init__(self, *, args: Config, model: nn.Module, optimizer: Optimizer, scheduler: Scheduler) -> None:
        self.args = args
        self.model = model.to(args.device)
        self.optimizer = optimizer
        self.scheduler = scheduler
        self.criterion = ContrastiveLoss(args.loss, args.temperature, args.margin)

    def info_nce_loss(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Turn the projections of one batch into a classification problem.

        In spite of its name the method returns no loss: the caller applies `self.criterion` to what it returns. Sizes
        and temperature are those of `self.args`.

        Args:
            features: (v * N, d) projections, not normalised, as blocks of views: the N rows of the first view, then
                those of the second in the same order of images, and so on. Row a * N + n is view a of image n.

        Returns:
            logits: (v * N, v * N - 1) for each row its scores against all other rows. The v - 1 other views of the
                row's own image come first, in the order of the views, then the views of other images.
            labels: (v * N,) int64 targets, all of them 0. With more than two views, the other views of the image are
                wrong answers like those of other images, except for the first.

        Raises:
            ValueError: `features` does not have v * N rows.
        """
        rows = self.args.n_views * self.args.batch_size
        if features.size(0) != rows:
            raise ValueError(f"{features.size(0)} rows of features, not n_views * batch_size = {rows}")

        similarities = similarity_matrix(features.to(self.args.device))

        # Sort the columns of each row by group, and keep their order within a group.
        image = torch.arange(rows, device=similarities.device) % self.args.batch_size
        group = (image.unsqueeze(1) != image).long()  # 0: own image, 1: another image
        group.fill_diagonal_(2)  # the row itself goes last, and is cut off
        columns = group.argsort(stable=True)[:, :-1]

        logits = similarities.gather(1, columns) / self.args.temperature
        labels = logits.new_zeros(rows, dtype=torch.int64)
        return logits, labels

    def train(self, loader: Iterable[Sequence[Tensor]], report_every: int = 5) -> list[dict[str, float]]:
        """Run all epochs.

        Args:
            loader: batches, each a list of v tensors (N, C, H, W), one view of the same N images each.
            report_every: epochs between two printed lines; 0 prints nothing.

        Returns:
            One dictionary an epoch, with the means over its batches of the loss and of the shares of rows whose first
            positive has the highest logit (top 1) or is among the five highest (top 5).
        """
        history = []
        for epoch in range(1, self.args.epochs + 1):
            self.model.train()
            batches = torch.tensor([self._step(torch.cat(list(views))) for views in loader])
            history.append(dict(zip(("loss", "top 1", "top 5"), batches.mean(dim=0).tolist(), strict=True)))
            if report_every and (epoch == 1 or epoch % report_every == 0):
                print(f"  epoch {epoch:3d}   " + "   ".join(f"{name} {x:6.3f}" for name, x in history[-1].items()))
        return history

    def _step(self, images: Tensor) -> list[float]:
        """Update the model once on v * N images, given in blocks of views, by `self.optimizer`; step `self.scheduler`.

        Returns:
            Loss, top 1 and top 5 (see `accuracy`) of the model as it was before the update.
        """
        logits, labels = self.info_nce_loss(self.model(images.to(self.args.device)))
        loss = self.criterion(logits, labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        return [loss.item(), *accuracy(logits, labels, top_k=(1, 5))]
