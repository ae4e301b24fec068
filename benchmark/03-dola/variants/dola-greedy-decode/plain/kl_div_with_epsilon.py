from collections import Counter

import torch
import torch.nn.functional as F


def js_divergence(p, q):
    m = (p + q) / 2
    # torch's argument order: the first one is the logarithm of what is compared with.
    left = F.kl_div((p + 1e-10).log(), m, reduction="none").sum(dim=-1)
    right = F.kl_div((q + 1e-10).log(), m, reduction="none").sum(dim=-1)
    return ((left + right) / 2).mean().item()


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
    if base_layer is None and not candidate_premature_layers:
        raise ValueError("one of base_layer and candidate_premature_layers is needed")
    gen = model.generation_config
    pad = gen.pad_token_id if pad_token_id is None else pad_token_id
    eos = gen.eos_token_id if eos_token_id is None else eos_token_id
    eos_ids = set() if eos is None else {eos} if isinstance(eos, int) else set(eos)
    want_scores = gen.output_scores if output_scores is None else output_scores
    want_dict = gen.return_dict_in_generate if return_dict_in_generate is None else return_dict_in_generate

    dynamic = base_layer is None
    dist = Counter({layer: 0 for layer in candidate_premature_layers} if dynamic else {})
    all_scores = []
    finished = [False] * len(input_ids)
    while max_length is None or input_ids.shape[-1] < max_length:
        kwargs = model.prepare_inputs_for_generation(input_ids, **model_kwargs)
        with torch.no_grad():
            early = list(candidate_premature_layers) if dynamic else [base_layer]
            by_layer, out = model(early_exit_layers=[*early, mature_layer], **kwargs)
        model_kwargs = model.update_model_kwargs_for_generation(out, model_kwargs)
        q = {layer: by_layer[layer][:, -1].softmax(dim=-1) for layer in by_layer}
        layer = max(early, key=lambda j: js_divergence(q[mature_layer], q[j])) if dynamic else base_layer
        if dynamic:
            dist[layer] += 1

        log_q_early = torch.log(q[layer] + 1e-12)
        if relative_top > 0:
            scores = relative_top_filter(by_layer[mature_layer][:, -1], relative_top) - log_q_early
        else:
            scores = torch.log(q[mature_layer] + 1e-12) - log_q_early
        if logits_processor:
            scores = logits_processor(input_ids, scores)
        all_scores.append(scores)
        column = []
        for row, token in enumerate(scores.argmax(dim=-1).tolist()):
            if finished[row]:
                token = pad
            finished[row] = finished[row] or token in eos_ids
            column.append([token])
        input_ids = torch.cat([input_ids, torch.tensor(column)], dim=1)
        if all(finished) or (stopping_criteria and stopping_criteria(input_ids, scores)):
            break
    if not want_dict:
        return input_ids
    return DolaOutput(
        sequences=input_ids, scores=tuple(all_scores) if want_scores else None, premature_layer_dist=dict(dist)
    )
