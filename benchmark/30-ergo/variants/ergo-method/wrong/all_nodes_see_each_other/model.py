# Leaves the mask out.
import torch


class ErgoModel:
    def forward(self, batch):
        if self.windows is None:
            hidden = self.encoder(batch.input_ids, batch.is_token)
        else:
            hidden = encode_windows(self.encoder, batch.input_ids, batch.is_token, *self.windows)
        events = hidden[batch.event_positions[:, 0], batch.event_positions[:, 1]]
        first, second = events[batch.pairs[:, 0]], events[batch.pairs[:, 1]]
        nodes = self.node_features(first, second).unsqueeze(0)
        for layer in self.graph_layers:
            nodes = layer(nodes, torch.ones_like(batch.pair_mask).unsqueeze(0))
        logits = self.classifier(torch.cat([nodes.squeeze(0), first, second], dim=1))
        return self.loss(logits, batch.labels), logits
