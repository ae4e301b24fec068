# Written from the paper: one equation after the other, in probabilities where possible.
import torch

from dola.decoding import choose_premature_layer, contrast_scores


@torch.no_grad()
def answer_log_probs(
    model, prompt, answer, mature_layer, base_layer=None, candidate_premature_layers=None, relative_top=0.1
):
    log_probs = []
    for t in range(len(answer)):
        context = torch.cat([prompt, answer[:t]]).unsqueeze(0)
        layers = [base_layer] if base_layer is not None else list(candidate_premature_layers)
        by_layer, _ = model(context, early_exit_layers=[mature_layer] + layers)
        logits = {layer: by_layer[layer][:, -1] for layer in by_layer}
        layer = base_layer
        if layer is None:
            layer = choose_premature_layer(logits, mature_layer, layers)
        scores = contrast_scores(logits[mature_layer], logits[layer], relative_top).squeeze(0)
        scores[scores == float("-inf")] = IMPLAUSIBLE_SCORE
        log_probs.append(torch.log_softmax(scores, dim=0)[answer[t]])
    return torch.stack(log_probs)


def answer_score(log_probs):
    return torch.sum(log_probs, dim=0)


def quality(true_scores, false_scores):
    largest = max(true_scores.max(), false_scores.max())
    true_mass = torch.exp(true_scores - largest).sum()
    false_mass = torch.exp(false_scores - largest).sum()
    return true_mass / (true_mass + false_mass)
