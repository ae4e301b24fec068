"""ERGO: a graph transformer over pairs of events, and the loss that it is trained with."""

from collections.abc import Sequence

import torch
from encoder import TextEncoder, TransformerLayer, encode_windows
from processor import Batch
from torch import Tensor, nn


def class_weights(alpha: float, num_classes: int) -> Tensor:
    """Weights of the classes.

    Args:
        alpha: alpha of the paper, between 0 and 1.
        num_classes: at least 2; class 0 is "no causal relation", and each other class is a kind of causal relation.

    Returns:
        (num_classes,) float32.
    """
    weights = torch.full((num_classes,), float(alpha))
    weights[0] = 1 - alpha
    return weights


def pair_log_probs(logits: Tensor, gold: Tensor) -> Tensor:
    """log p of the paper for each pair, finite and differentiable also where p is too small for its dtype.

    Args:
        logits: (N, num_classes).
        gold: (N,) int64 gold classes.

    Returns:
        (N,), in the dtype of the logits.
    """
    return logits.log_softmax(1).gather(1, gold.unsqueeze(1)).squeeze(1)


def modulating_factor(log_p: Tensor, gamma: float) -> Tensor:
    """Modulating factor of the loss for each pair.

    Args:
        log_p: (N,), log p of the paper, not positive.
        gamma: gamma of the paper.

    Returns:
        (N,); gradients flow through it as the paper says.
    """
    return (1 - log_p.exp()) ** gamma


class focal_loss(nn.Module):
    """Adaptive focal loss (Section 3.3 of the paper), for two classes or more.

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
            alpha: the weight of each class as a sequence of length `num_classes`; or one number below 1, from which
                `class_weights` makes them.
            gamma: the focusing parameter, 0 or more.
        """
        super().__init__()
        if isinstance(alpha, Sequence):
            assert len(alpha) == num_classes
            self.alpha = torch.tensor(alpha, dtype=torch.float32)
        else:
            assert alpha < 1
            self.alpha = class_weights(alpha, num_classes)
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
        log_p = pair_log_probs(logits, gold)
        weights = self.alpha.to(preds.device)[gold]
        losses = -weights * modulating_factor(log_p, self.gamma) * log_p
        return losses.mean() if self.size_average else losses.sum()


class ErgoModel(nn.Module):
    """Classifies every pair of events of a document at once.

    Args:
        loss_type: "focal", or "ce" for plain cross-entropy.
        class_weight: alpha of the focal loss.
        gamma: the focal loss's focusing parameter.
        y_class: number of classes, class 0 being "no causal relation".
        windows: size and step of the windows in which documents are encoded; None encodes each one as a whole.

    Attributes:
        encoder: encodes documents, or windows of them, to (B, T, width).
        pair_embedding: from (..., 2 * width) to (..., width).
        graph_layers: transformer layers, called as `layer(nodes, mask)` with nodes (B, P, width) and a mask with three
            axes, True where a node may attend to another; they are applied in order.
        classifier: from (..., 3 * width), a final node followed by its two events in their order, to (..., y_class).
        loss: called with logits (P, y_class) and labels (P,).
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
        windows: tuple[int, int] | None = None,
    ) -> None:
        super().__init__()
        if loss_type not in ("focal", "ce"):
            raise ValueError(f"loss_type must be 'focal' or 'ce', not {loss_type!r}")
        self.windows = windows
        self.encoder = TextEncoder(vocabulary_size, width, heads)
        self.pair_embedding = nn.Linear(2 * width, width)
        self.graph_layers = nn.ModuleList(TransformerLayer(width, heads) for _ in range(layers))
        self.classifier = nn.Sequential(nn.LayerNorm(3 * width), nn.Linear(3 * width, y_class))
        self.loss: nn.Module = (
            focal_loss(class_weight, gamma, y_class) if loss_type == "focal" else nn.CrossEntropyLoss()
        )

    def node_features(self, first: Tensor, second: Tensor) -> Tensor:
        """First features of the nodes.

        Args:
            first, second: (P, width), the events of each pair in their order.

        Returns:
            (P, width).
        """
        return self.pair_embedding(torch.cat([first, second], dim=1))

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Classify the pairs of a batch.

        Returns:
            loss: scalar.
            logits: (P, y_class).
        """
        if self.windows is None:
            hidden = self.encoder(batch.input_ids, batch.is_token)
        else:
            hidden = encode_windows(self.encoder, batch.input_ids, batch.is_token, *self.windows)
        events = hidden[batch.event_positions[:, 0], batch.event_positions[:, 1]]  # (E, width)
        first, second = events[batch.pairs[:, 0]], events[batch.pairs[:, 1]]
        nodes = self.node_features(first, second).unsqueeze(0)  # one graph, (1, P, width)
        for layer in self.graph_layers:
            nodes = layer(nodes, batch.pair_mask.unsqueeze(0))
        logits = self.classifier(torch.cat([nodes.squeeze(0), first, second], dim=1))
        return self.loss(logits, batch.labels), logits
