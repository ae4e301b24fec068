import math
from collections import Counter

import torch


def _log_q(logits):
    last = logits[:, -1]
    return last - last.logsumexp(dim=-1, keepdim=True)


def _score_of_layer(late, early):
    """Sum of the divergences from the mixture to both sides, up to a factor; the mixture stays a logarithm."""
    log_mixture = torch.logaddexp(late, early) - math.log(2)
    weights = log_mixture.exp()
    return float(torch.sum(weights * (2 * log_mixture - late - early)))


def _steps(model, ids, kwargs, mature, layers):
    """Yield the last logits of all layers; the ids to continue with are sent back."""
    while True:
        logits, outputs = model(
            **model.prepare_inputs_for_generation(ids, **kwargs), early_exit_layers=(mature, *layers)
        )
        kwargs = model.update_model_kwargs_for_generation(outputs, kwargs)
        ids = yield logits


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
    layers = tuple(candidate_premature_layers or ())
    if (base_layer is not None) + (len(layers) > 0) != 1:
        raise ValueError("either a fixed layer or candidates")
    options = dict(vars(model.generation_config))
    given = {
        "pad_token_id": pad_token_id,
        "eos_token_id": eos_token_id,
        "output_scores": output_scores,
        "return_dict_in_generate": return_dict_in_generate,
    }
    options.update({name: value for name, value in given.items() if value is not None})
    ends, pad = options["eos_token_id"], options["pad_token_id"]
    ends = set() if ends is None else {ends} if isinstance(ends, int) else set(ends)
    if ends and pad is None:
        raise ValueError("padding needed")

    chosen = Counter({layer: 0 for layer in layers})
    kept, finished = (), set()
    steps = _steps(model, input_ids, model_kwargs, mature_layer, layers or (base_layer,))
    logits = next(steps)
    while True:
        layer = base_layer
        if layers:
            late = _log_q(logits[mature_layer])
            layer = sorted(layers, key=lambda j: -_score_of_layer(late, _log_q(logits[j])))[0]
            chosen[layer] += 1
        if relative_top > 0:
            late = _log_q(logits[mature_layer])
            limit = late.max(dim=-1, keepdim=True).values + min(0.0, math.log(relative_top))
            scores = torch.where(late >= limit, late - _log_q(logits[layer]), -math.inf)
        else:
            scores = (logits[mature_layer] - logits[layer])[:, -1]
        if logits_processor:
            scores = logits_processor(input_ids, scores)
        kept = (*kept, scores)
        tokens = []
        for row, best in enumerate(scores.argmax(dim=-1).tolist()):
            tokens.append([pad if row in finished else best])
            if tokens[-1][0] in ends:
                finished.add(row)
        input_ids = torch.cat([input_ids, torch.tensor(tokens)], dim=1)
        full = max_length is not None and input_ids.shape[1] >= max_length
        stopped = stopping_criteria is not None and stopping_criteria(input_ids, scores)
        if full or stopped or len(finished) == len(input_ids):
            break
        logits = steps.send(input_ids)
    if options["return_dict_in_generate"]:
        return DolaOutput(
            sequences=input_ids, scores=kept if options["output_scores"] else None, premature_layer_dist=dict(chosen)
        )
    return input_ids
