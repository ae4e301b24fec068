# Adds positional encodings to the tokens.
import torch
from torch import nn


class TransformerNeuralProcess(nn.Module):
    def forward(self, context_x, context_y, query_x):
        tokens = self.embed(point_tokens(context_x, context_y, query_x, self.classes))
        position = torch.arange(tokens.size(1), dtype=tokens.dtype)[:, None]
        rates = 10000 ** (-torch.arange(tokens.size(2), dtype=tokens.dtype) / tokens.size(2))
        tokens = tokens + torch.sin(position * rates)
        mask = attention_mask(context_x.size(1), query_x.size(1))
        for block in self.blocks:
            tokens = block(tokens, mask)
        return self.head(tokens[:, context_x.size(1) :])
