# Written from the paper: terse tensor code.
import math

import torch

from dola.filters import relative_top_filter


def divergence(mature_logits, early_logits):
    a, b = mature_logits.log_softmax(-1), early_logits.log_softmax(-1)
    m = torch.logaddexp(a, b) - math.log(2)
    return 0.5 * ((m.exp() * (m - a)).sum(-1) + (m.exp() * (m - b)).sum(-1))


def choose_premature_layer(layer_logits, mature_layer, candidates):
    d = [divergence(layer_logits[mature_layer], layer_logits[j]).mean().item() for j in candidates]
    return candidates[d.index(max(d))]


def contrast_scores(mature_logits, premature_logits, relative_top):
    if relative_top <= 0:
        return mature_logits - premature_logits
    return relative_top_filter(mature_logits, relative_top) - premature_logits.log_softmax(-1)


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
    dynamic = bool(candidate_premature_layers)
    if dynamic == (base_layer is not None):
        raise ValueError("exactly one of base_layer and candidate_premature_layers")
    gc = model.generation_config
    pad_token_id = gc.pad_token_id if pad_token_id is None else pad_token_id
    eos_token_id = gc.eos_token_id if eos_token_id is None else eos_token_id
    output_scores = gc.output_scores if output_scores is None else output_scores
    as_dict = gc.return_dict_in_generate if return_dict_in_generate is None else return_dict_in_generate
    eos = [] if eos_token_id is None else [eos_token_id] if isinstance(eos_token_id, int) else list(eos_token_id)
    if eos and pad_token_id is None:
        raise ValueError("pad_token_id is required")

    candidates = list(candidate_premature_layers) if dynamic else []
    dist = {j: 0 for j in candidates}
    done = torch.zeros(input_ids.shape[0], dtype=torch.bool)
    all_scores = []
    while True:
        inputs = model.prepare_inputs_for_generation(input_ids, **model_kwargs)
        logits, out = model(**inputs, early_exit_layers=[mature_layer] + (candidates if dynamic else [base_layer]))
        model_kwargs = model.update_model_kwargs_for_generation(out, model_kwargs)
        last = {j: z[:, -1] for j, z in logits.items()}
        m = base_layer
        if dynamic:
            m = choose_premature_layer(last, mature_layer, candidates)
            dist[m] += 1
        scores = contrast_scores(last[mature_layer], last[m], relative_top)
        if logits_processor is not None:
            scores = logits_processor(input_ids, scores)
        all_scores.append(scores)
        token = scores.argmax(-1)
        if eos:
            token = torch.where(done, pad_token_id, token)
            done = done | sum(token == e for e in eos).bool()
        input_ids = torch.cat([input_ids, token[:, None]], -1)
        if eos and done.all():
            break
        if stopping_criteria is not None and stopping_criteria(input_ids, scores):
            break
        if max_length is not None and input_ids.shape[1] >= max_length:
            break
    return DolaOutput(input_ids, tuple(all_scores) if output_scores else None, dist) if as_dict else input_ids
