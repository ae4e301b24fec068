# Reads all tokens of an answer off one forward pass.
import torch

from dola.decoding import choose_premature_layer, contrast_scores


@torch.no_grad()
def answer_log_probs(
    model, prompt, answer, mature_layer, base_layer=None, candidate_premature_layers=None, relative_top=0.1
):
    candidates = list(candidate_premature_layers or [])
    ids = torch.cat([prompt, answer])[None, :-1]
    by_layer, _ = model(ids, early_exit_layers=[mature_layer, *(candidates or [base_layer])])
    result = []
    for place, token in enumerate(answer.tolist(), start=len(prompt) - 1):
        at = {layer: logits[:, place] for layer, logits in by_layer.items()}
        layer = choose_premature_layer(at, mature_layer, candidates) if candidates else base_layer
        scores = contrast_scores(at[mature_layer], at[layer], relative_top)[0]
        scores = torch.where(scores == -torch.inf, IMPLAUSIBLE_SCORE, scores)
        result.append(scores[token] - scores.logsumexp(dim=-1))
    return torch.stack(result)


def quality(true_scores, false_scores):
    share = torch.softmax(torch.cat([true_scores, false_scores]), dim=-1)
    return share[: len(true_scores)].sum()
