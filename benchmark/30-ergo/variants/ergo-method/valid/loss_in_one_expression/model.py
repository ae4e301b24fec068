# Cross-entropy of the framework, logarithms in place of powers, and a model in another order.
import math

import torch
import torch.nn.functional as F
from torch import Tensor


def class_weights(alpha: float, num_classes: int) -> Tensor:
    return torch.tensor([1 - alpha] + [alpha] * (num_classes - 1), dtype=torch.float32)


def pair_log_probs(logits: Tensor, gold: Tensor) -> Tensor:
    rows = torch.arange(len(gold))
    return logits[rows, gold] - logits.logsumexp(dim=1)


def modulating_factor(log_p: Tensor, gamma: float) -> Tensor:
    return (-torch.expm1(log_p)).pow(gamma)


class focal_loss:
    def forward(self, preds: Tensor, labels: Tensor) -> Tensor:
        log_p = pair_log_probs(preds.flatten(0, -2), labels.flatten())
        per_class = F.one_hot(labels.flatten(), preds.shape[-1]) * self.alpha
        losses = -per_class.sum(dim=1) * modulating_factor(log_p, self.gamma) * log_p
        return losses.sum() / (math.prod(labels.shape) if self.size_average else 1)


class ErgoModel:
    def node_features(self, first: Tensor, second: Tensor) -> Tensor:
        left, right = self.pair_embedding.weight.chunk(2, dim=1)
        return first @ left.T + second @ right.T + self.pair_embedding.bias

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        encode = self.encoder
        if self.windows:
            hidden = encode_windows(encode, batch.input_ids, batch.is_token, self.windows[0], self.windows[1])
        else:
            hidden = encode(batch.input_ids, batch.is_token)
        flat = hidden.flatten(0, 1)
        places = batch.event_positions @ torch.tensor([hidden.shape[1], 1])
        both = flat[places[batch.pairs]]  # (P, 2, width)
        nodes = self.node_features(both[:, 0], both[:, 1])[None]
        for layer in self.graph_layers:
            nodes = layer(nodes, batch.pair_mask[None])
        logits = self.classifier(torch.cat([nodes[0], both.flatten(1)], dim=-1))
        return self.loss(logits, batch.labels), logits
