"""ERGO: a graph transformer over pairs of events, trained with a focal loss that knows the imbalance of the classes."""

from collections.abc import Sequence

import torch
from encoder import TextEncoder, TransformerLayer
from processor import Batch
from torch import Tensor, nn


class focal_loss(nn.Module):
    """Focal loss with a weight for each class (Section 3.3 of the paper), for two classes or more.

    The loss looks at the probability that a softmax over the logits gives to the gold class of a pair, whichever it is.

    Attributes:
        alpha: (num_classes,) float32, the weight of each class; a plain tensor, neither buffer nor parameter.
        gamma: the focusing parameter.
        size_average: if true the mean over the pairs, each of which counts as one whatever its weight; if false the
            sum, as in Eq. 9.
    """

    def __init__(
        self, alpha: float | Sequence[float] = 0.25, gamma: float = 2, num_classes: int = 3, size_average: bool = True
    ) -> None:
        """Set the weights.

        Args:
            alpha: the weight of each class as a sequence of length `num_classes`; or one number below 1, the weight of
                every class but 0, while class 0, the negative class, gets the rest up to 1.
            gamma: the focusing parameter, 0 or more.
        """
        super().__init__()
        if isinstance(alpha, Sequence):
            assert len(alpha) == num_classes
            self.alpha = torch.tensor(alpha, dtype=torch.float32)
        else:
            assert alpha < 1
            self.alpha = torch.full((num_classes,), float(alpha))
            self.alpha[0] = 1 - alpha
        self.gamma = gamma
        self.size_average = size_average

    def forward(self, preds: Tensor, labels: Tensor) -> Tensor:
        """Compute the loss of a batch.

        Args:
            preds: (N, num_classes) raw logits of N pairs; more leading axes are possible.
            labels: (N,) int64 gold classes, 0 being "no causal relation"; one for each row of logits.

        Returns:
            Scalar loss.
        """
        logits = preds.reshape(-1, preds.size(-1))
        gold = labels.reshape(-1)
        log_p = logits.log_softmax(1).gather(1, gold.unsqueeze(1)).squeeze(1)
        weights = self.alpha.to(preds.device)[gold]
        losses = -weights * (1 - log_p.exp()) ** self.gamma * log_p
        return losses.mean() if self.size_average else losses.sum()


class ErgoModel(nn.Module):
    """Classifies every pair of events of a document at once.

    Args:
        loss_type: "focal", or "ce" for plain cross-entropy.
        class_weight: the focal loss's weight of the causal class.
        gamma: the focal loss's focusing parameter.
        y_class: number of classes, class 0 being "no causal relation".
    """

    def __init__(
        self,
        vocabulary_size: int,
        width: int = 48,
        heads: int = 4,
        layers: int = 2,
        y_class: int = 2,
        loss_type: str = "focal",
        class_weight: float = 0.75,
        gamma: float = 2.0,
    ) -> None:
        super().__init__()
        if loss_type not in ("focal", "ce"):
            raise ValueError(f"loss_type must be 'focal' or 'ce', not {loss_type!r}")
        self.encoder = TextEncoder(vocabulary_size, width, heads)
        self.pair_embedding = nn.Linear(2 * width, width)
        self.graph_layers = nn.ModuleList(TransformerLayer(width, heads) for _ in range(layers))
        self.classifier = nn.Sequential(nn.LayerNorm(3 * width), nn.Linear(3 * width, y_class))
        self.loss: nn.Module = (
            focal_loss(class_weight, gamma, y_class) if loss_type == "focal" else nn.CrossEntropyLoss()
        )

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Classify the pairs of a batch.

        Returns:
            loss: scalar.
            logits: (P, y_class).
        """
        hidden = self.encoder(batch.input_ids, batch.is_token)
        events = hidden[batch.event_positions[:, 0], batch.event_positions[:, 1]]  # (E, width)
        first, second = events[batch.pairs[:, 0]], events[batch.pairs[:, 1]]
        nodes = self.pair_embedding(torch.cat([first, second], dim=1)).unsqueeze(0)  # one graph, (1, P, width)
        for layer in self.graph_layers:
            nodes = layer(nodes, batch.pair_mask.unsqueeze(0))
        logits = self.classifier(torch.cat([nodes.squeeze(0), first, second], dim=1))
        return self.loss(logits, batch.labels), logits
