# Scores all candidates in one tensor, and runs the whole sequence again at each step.
import torch

from dola.filters import relative_top_filter


def divergence(mature_logits, early_logits):
    log_q = torch.stack([mature_logits, early_logits]).log_softmax(dim=-1)
    log_m = log_q.logsumexp(dim=0) - torch.log(torch.tensor(2.0, dtype=log_q.dtype))
    return (log_m.exp() * (log_m - log_q.mean(dim=0))).sum(dim=-1)


def choose_premature_layer(layer_logits, mature_layer, candidates):
    early = torch.stack([layer_logits[layer] for layer in candidates])
    distances = divergence(layer_logits[mature_layer].expand_as(early), early)
    return candidates[int(distances.mean(dim=-1).argmax())]


def contrast_scores(mature_logits, premature_logits, relative_top):
    if relative_top <= 0:
        return mature_logits - premature_logits
    kept = relative_top_filter(mature_logits, relative_top)
    return torch.where(kept.isfinite(), kept + premature_logits.logsumexp(-1, keepdim=True) - premature_logits, kept)


def _first_given(*values):
    return next((value for value in values if value is not None), None)


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
    if base_layer is not None and candidate_premature_layers:
        raise ValueError("both base_layer and candidate_premature_layers")
    if base_layer is None and not candidate_premature_layers:
        raise ValueError("neither base_layer nor candidate_premature_layers")
    config = model.generation_config
    pad = _first_given(pad_token_id, config.pad_token_id)
    ends = _first_given(eos_token_id, config.eos_token_id, ())
    ends = {ends} if isinstance(ends, int) else set(ends)
    if ends and pad is None:
        raise ValueError("end tokens need padding")
    layers = [base_layer] if base_layer is not None else list(candidate_premature_layers)
    counts = {} if base_layer is not None else {layer: 0 for layer in layers}
    mask = model_kwargs.pop("attention_mask", None)
    open_rows = torch.ones(len(input_ids), dtype=torch.bool)
    history = []
    ids = input_ids
    while True:
        inputs = model.prepare_inputs_for_generation(ids, attention_mask=mask, use_cache=False, **model_kwargs)
        by_layer, _ = model(**inputs, early_exit_layers=sorted({mature_layer, *layers}))
        if mask is not None:
            mask = torch.cat([mask, mask.new_ones(len(mask), 1)], dim=1)
        latest = {layer: logits[:, -1] for layer, logits in by_layer.items()}
        layer = layers[0]
        if counts:
            layer = choose_premature_layer(latest, mature_layer, layers)
            counts[layer] += 1
        scores = contrast_scores(latest[mature_layer], latest[layer], relative_top)
        if logits_processor is not None:
            scores = logits_processor(ids, scores)
        history.append(scores)
        tokens = scores.argmax(dim=-1)
        if ends:
            tokens = torch.where(open_rows, tokens, torch.full_like(tokens, pad))
            open_rows = open_rows & torch.tensor([token not in ends for token in tokens.tolist()])
        ids = torch.cat([ids, tokens[:, None]], dim=-1)
        if not open_rows.any():
            break
        if max_length is not None and ids.shape[-1] >= max_length:
            break
        if stopping_criteria is not None and stopping_criteria(ids, scores):
            break
    if not _first_given(return_dict_in_generate, config.return_dict_in_generate):
        return ids
    return DolaOutput(ids, tuple(history) if _first_given(output_scores, config.output_scores) else None, counts)
