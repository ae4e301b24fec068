# Looks for massive activations in the output of the layer whose attention is read.
import torch


@torch.no_grad()
def run_exp4(layers, model, images):
    states = hidden_states(layers, model, images)
    results = []
    for block, state, after in zip(layers[1:], states[:-1], states[1:], strict=True):
        tokens = sorted({token for token, _ in massive_places(after)})
        if tokens:
            query, key, value = block.attn.project(block.norm1(state))
            weights = attention_weights(query, key)
            bias, _ = split_output(weights, value, tokens)
            results.append((weights[..., tokens].sum(-1).mean().item(), bias.norm(dim=-1).mean().item()))
    return results
