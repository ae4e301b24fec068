# Written from the paper: terse tensor code.
import torch

from dola.decoding import dola_greedy_decode
from dola.filters import ForceTokens


@torch.no_grad()
def answer_log_probs(
    model, prompt, answer, mature_layer, base_layer=None, candidate_premature_layers=None, relative_top=0.1
):
    force = ForceTokens(answer.tolist())
    dola_greedy_decode(
        model,
        prompt[None],
        mature_layer,
        base_layer,
        candidate_premature_layers,
        relative_top,
        force,
        max_length=len(prompt) + len(answer),
        eos_token_id=[],
    )
    scores = torch.cat(force.seen).clamp(min=IMPLAUSIBLE_SCORE)
    return scores.log_softmax(-1)[range(len(answer)), answer]


def answer_score(log_probs):
    return log_probs.sum()


def quality(true_scores, false_scores):
    return torch.cat([true_scores, false_scores]).softmax(0)[: len(true_scores)].sum()
