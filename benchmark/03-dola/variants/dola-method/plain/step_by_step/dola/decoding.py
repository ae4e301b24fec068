# Written from the paper: one equation after the other, in probabilities where possible.
from dataclasses import dataclass

import torch
from torch.nn import functional as F

from dola.filters import relative_top_filter
from dola.stopping import MaxLengthCriteria, StoppingCriteriaList


def divergence(mature_logits, early_logits):
    log_q_n = F.log_softmax(mature_logits, dim=-1)
    log_q_j = F.log_softmax(early_logits, dim=-1)
    m = 0.5 * (log_q_n.exp() + log_q_j.exp())
    entropy_part = torch.xlogy(m, m)
    kl_n = (entropy_part - m * log_q_n).sum(dim=-1)
    kl_j = (entropy_part - m * log_q_j).sum(dim=-1)
    return 0.5 * kl_n + 0.5 * kl_j


def choose_premature_layer(layer_logits, mature_layer, candidates):
    best_layer, best_distance = None, None
    for layer in candidates:
        distance = divergence(layer_logits[mature_layer], layer_logits[layer]).mean()
        if best_distance is None or distance > best_distance:
            best_layer, best_distance = layer, distance
    return best_layer


def contrast_scores(mature_logits, premature_logits, relative_top):
    if relative_top <= 0:
        return mature_logits - premature_logits
    log_q_n = relative_top_filter(mature_logits, relative_top)
    log_q_m = F.log_softmax(premature_logits, dim=-1)
    return log_q_n - log_q_m


@dataclass
class _Settings:
    pad: int | None
    ends: list[int]
    scores: bool
    as_dict: bool


def _settings(defaults, pad, ends, scores, as_dict):
    pad = defaults.pad_token_id if pad is None else pad
    ends = defaults.eos_token_id if ends is None else ends
    if ends is None:
        ends = []
    if isinstance(ends, int):
        ends = [ends]
    if len(ends) > 0 and pad is None:
        raise ValueError("there are end tokens but no padding token")
    scores = defaults.output_scores if scores is None else scores
    as_dict = defaults.return_dict_in_generate if as_dict is None else as_dict
    return _Settings(pad, list(ends), scores, as_dict)


@torch.no_grad()
def dola_greedy_decode(
    model,
    input_ids,
    mature_layer,
    base_layer=None,
    candidate_premature_layers=None,
    relative_top=0.1,
    logits_processor=None,
    stopping_criteria=None,
    max_length=None,
    pad_token_id=None,
    eos_token_id=None,
    output_scores=None,
    return_dict_in_generate=None,
    **model_kwargs,
):
    has_candidates = candidate_premature_layers is not None and len(candidate_premature_layers) > 0
    if has_candidates and base_layer is not None:
        raise ValueError("give only one of base_layer and candidate_premature_layers")
    if not has_candidates and base_layer is None:
        raise ValueError("give one of base_layer and candidate_premature_layers")
    settings = _settings(model.generation_config, pad_token_id, eos_token_id, output_scores, return_dict_in_generate)
    stop = StoppingCriteriaList()
    if stopping_criteria is not None:
        stop.append(stopping_criteria)
    if max_length is not None:
        stop.append(MaxLengthCriteria(max_length))

    premature_layer_dist = {}
    if has_candidates:
        for layer in candidate_premature_layers:
            premature_layer_dist[layer] = 0
    ids = input_ids.clone()
    all_scores = ()
    finished = [False] * ids.shape[0]
    going = True
    while going:
        layers = [mature_layer]
        layers += list(candidate_premature_layers) if has_candidates else [base_layer]
        inputs = model.prepare_inputs_for_generation(ids, **model_kwargs)
        by_layer, outputs = model(early_exit_layers=layers, **inputs)
        model_kwargs = model.update_model_kwargs_for_generation(outputs, model_kwargs)
        next_logits = {}
        for layer in layers:
            next_logits[layer] = by_layer[layer][:, -1, :]

        if has_candidates:
            premature_layer = choose_premature_layer(next_logits, mature_layer, candidate_premature_layers)
            premature_layer_dist[premature_layer] += 1
        else:
            premature_layer = base_layer
        scores = contrast_scores(next_logits[mature_layer], next_logits[premature_layer], relative_top)
        if logits_processor is not None:
            scores = logits_processor(ids, scores)
        all_scores += (scores,)

        new = []
        for row, token in enumerate(torch.argmax(scores, dim=-1).tolist()):
            if finished[row]:
                token = settings.pad
            elif token in settings.ends:
                finished[row] = True
            new.append([token])
        ids = torch.cat([ids, torch.tensor(new, dtype=ids.dtype)], dim=1)
        going = not all(finished) and not stop(ids, scores)
    if settings.as_dict:
        return DolaOutput(ids, all_scores if settings.scores else None, premature_layer_dist)
    return ids
