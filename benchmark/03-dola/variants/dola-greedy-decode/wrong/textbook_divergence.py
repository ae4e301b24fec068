# Takes the divergences from each layer to the mixture, as textbooks define the Jensen-Shannon divergence.
import torch
import torch.nn.functional as F


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
    if (base_layer is None) == (not candidate_premature_layers):
        raise ValueError("give base_layer or candidate_premature_layers")
    config = model.generation_config
    pad_token_id = config.pad_token_id if pad_token_id is None else pad_token_id
    eos_token_id = config.eos_token_id if eos_token_id is None else eos_token_id
    output_scores = config.output_scores if output_scores is None else output_scores
    if return_dict_in_generate is None:
        return_dict_in_generate = config.return_dict_in_generate
    if eos_token_id is None:
        eos_token_id = []
    elif isinstance(eos_token_id, int):
        eos_token_id = [eos_token_id]
    if len(eos_token_id) > 0 and pad_token_id is None:
        raise ValueError("pad_token_id is missing")

    dynamic = base_layer is None
    early_layers = list(candidate_premature_layers) if dynamic else [base_layer]
    counts = {layer: 0 for layer in early_layers} if dynamic else {}
    all_scores = []
    unfinished = torch.ones(input_ids.shape[0], dtype=torch.long)
    while True:
        inputs = model.prepare_inputs_for_generation(input_ids, **model_kwargs)
        layer_logits, outputs = model(**inputs, early_exit_layers=[*early_layers, mature_layer])
        model_kwargs = model.update_model_kwargs_for_generation(outputs, model_kwargs)
        z_mature = layer_logits[mature_layer][:, -1, :]

        if dynamic:
            q_mature = torch.softmax(z_mature, dim=-1)
            log_q_mature = torch.log_softmax(z_mature, dim=-1)
            divergences = []
            for layer in early_layers:
                z_early = layer_logits[layer][:, -1, :]
                q_early = torch.softmax(z_early, dim=-1)
                log_q_early = torch.log_softmax(z_early, dim=-1)
                mixture = 0.5 * (q_mature + q_early)
                kl_mature = F.kl_div(mixture.log(), q_mature, reduction="none").mean(dim=-1)
                kl_early = F.kl_div(mixture.log(), q_early, reduction="none").mean(dim=-1)
                divergences.append((0.5 * (kl_mature + kl_early)).mean())
            chosen = early_layers[int(torch.stack(divergences).argmax())]
            counts[chosen] += 1
        else:
            chosen = base_layer

        z_early = layer_logits[chosen][:, -1, :]
        if relative_top > 0:
            scores = relative_top_filter(z_mature, relative_top) - torch.log_softmax(z_early, dim=-1)
        else:
            scores = z_mature - z_early
        if logits_processor is not None:
            scores = logits_processor(input_ids, scores)
        all_scores.append(scores)

        next_tokens = torch.argmax(scores, dim=-1)
        if len(eos_token_id) > 0:
            next_tokens = next_tokens * unfinished + pad_token_id * (1 - unfinished)
        input_ids = torch.cat([input_ids, next_tokens[:, None]], dim=-1)
        for eos in eos_token_id:
            unfinished = unfinished * (next_tokens != eos).long()
        if unfinished.max() == 0:
            break
        if stopping_criteria is not None and stopping_criteria(input_ids, scores):
            break
        if max_length is not None and input_ids.shape[-1] >= max_length:
            break

    if not return_dict_in_generate:
        return input_ids
    return DolaOutput(input_ids, tuple(all_scores) if output_scores else None, counts)
