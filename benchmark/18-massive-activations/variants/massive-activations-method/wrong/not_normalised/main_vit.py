# Lets attention read the hidden state without its layer norm.
import torch


@torch.no_grad()
def run_exp4(layers, model, images):
    states = hidden_states(layers, model, images)
    results = []
    for block, state in zip(layers[1:], states[:-1], strict=True):
        tokens = sorted({token for token, _ in massive_places(state)})
        if tokens:
            query, key, value = block.attn.project(state)
            weights = attention_weights(query, key)
            bias, _ = split_output(weights, value, tokens)
            results.append((weights[..., tokens].sum(-1).mean().item(), bias.norm(dim=-1).mean().item()))
    return results
