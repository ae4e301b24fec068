# Chooses the premature layer at the first token of an answer, and keeps it for the others.
import torch

from dola.decoding import choose_premature_layer, contrast_scores


@torch.no_grad()
def answer_log_probs(
    model, prompt, answer, mature_layer, base_layer=None, candidate_premature_layers=None, relative_top=0.1
):
    layers = [base_layer] if base_layer is not None else list(candidate_premature_layers)
    start = len(prompt) - 1
    by_layer, _ = model(torch.cat([prompt, answer])[None, :-1], early_exit_layers=[mature_layer, *layers])
    first = {layer: logits[:, start] for layer, logits in by_layer.items()}
    layer = base_layer if base_layer is not None else choose_premature_layer(first, mature_layer, layers)
    scores = contrast_scores(by_layer[mature_layer][0, start:], by_layer[layer][0, start:], relative_top)
    scores = scores.masked_fill(scores.isneginf(), IMPLAUSIBLE_SCORE)
    return scores.log_softmax(dim=-1)[torch.arange(len(answer)), answer]
