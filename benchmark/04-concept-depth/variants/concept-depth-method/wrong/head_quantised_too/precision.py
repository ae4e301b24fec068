# Also rounds the output head and the embedding.
import copy

import torch


@torch.no_grad()
def quantise_model(llm, bits):
    stored = copy.deepcopy(llm)
    if bits < 32:
        for parameter in stored.model.parameters():
            if parameter.dim() == 2:
                parameter.copy_(quantise(parameter, bits))
    return stored
