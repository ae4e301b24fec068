# As short as it goes.
import torch.nn.functional as F


def class_weights(alpha, num_classes):
    w = torch.full((num_classes,), alpha, dtype=torch.float32)
    w[0] = 1 - alpha
    return w


def pair_log_probs(logits, gold):
    return -F.cross_entropy(logits, gold, reduction="none")


def modulating_factor(log_p, gamma):
    return (1 - log_p.exp()) ** gamma


class focal_loss:
    def forward(self, preds, labels):
        y = labels.reshape(-1)
        logp = pair_log_probs(preds.reshape(-1, preds.shape[-1]), y)
        loss = -self.alpha[y] * modulating_factor(logp, self.gamma) * logp
        return loss.mean() if self.size_average else loss.sum()


class ErgoModel:
    def node_features(self, first, second):
        return self.pair_embedding(torch.cat([first, second], -1))

    def forward(self, batch):
        if self.windows:
            h = encode_windows(self.encoder, batch.input_ids, batch.is_token, *self.windows)
        else:
            h = self.encoder(batch.input_ids, batch.is_token)
        e = h[batch.event_positions[:, 0], batch.event_positions[:, 1]]
        a, b = e[batch.pairs[:, 0]], e[batch.pairs[:, 1]]
        x = self.node_features(a, b)[None]
        for layer in self.graph_layers:
            x = layer(x, batch.pair_mask[None])
        logits = self.classifier(torch.cat([x[0], a, b], -1))
        return self.loss(logits, batch.labels), logits
