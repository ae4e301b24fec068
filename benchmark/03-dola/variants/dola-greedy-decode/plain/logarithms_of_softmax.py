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
    config = model.generation_config
    pad_token_id = pad_token_id or config.pad_token_id
    eos_token_id = eos_token_id or config.eos_token_id
    output_scores = output_scores or config.output_scores
    return_dict_in_generate = return_dict_in_generate or config.return_dict_in_generate
    if isinstance(eos_token_id, int):
        eos_token_id = [eos_token_id]
    layers = [base_layer] if base_layer is not None else list(candidate_premature_layers)
    counts = {} if base_layer is not None else {layer: 0 for layer in layers}
    scores_list = []
    done = torch.zeros(input_ids.shape[0], dtype=torch.bool)

    while True:
        inputs = model.prepare_inputs_for_generation(input_ids, **model_kwargs)
        logits, outputs = model(**inputs, early_exit_layers=layers + [mature_layer])
        model_kwargs = model.update_model_kwargs_for_generation(outputs, model_kwargs)
        final = logits[mature_layer][:, -1, :]

        if base_layer is not None:
            premature = base_layer
        else:
            q_final = F.softmax(final, dim=-1)
            jsd = []
            for layer in layers:
                q_early = F.softmax(logits[layer][:, -1, :], dim=-1)
                m = 0.5 * (q_final + q_early)
                kl_final = (m * (m.log() - q_final.log())).sum(-1)
                kl_early = (m * (m.log() - q_early.log())).sum(-1)
                jsd.append((0.5 * kl_final + 0.5 * kl_early).mean())
            premature = layers[int(torch.stack(jsd).argmax())]
            counts[premature] += 1

        early_logp = F.log_softmax(logits[premature][:, -1, :], dim=-1)
        if relative_top > 0:
            final_logp = relative_top_filter(final, relative_top)
        else:
            final_logp = F.log_softmax(final, dim=-1)
        scores = final_logp - early_logp
        if logits_processor is not None:
            scores = logits_processor(input_ids, scores)
        scores_list.append(scores)

        next_tokens = scores.argmax(dim=-1)
        if eos_token_id is not None:
            next_tokens = torch.where(done, torch.full_like(next_tokens, pad_token_id), next_tokens)
            for eos in eos_token_id:
                done = done | (next_tokens == eos)
        input_ids = torch.cat([input_ids, next_tokens.unsqueeze(-1)], dim=-1)
        if done.all():
            break
        if max_length is not None and input_ids.shape[1] >= max_length:
            break
        if stopping_criteria is not None and stopping_criteria(input_ids, scores):
            break

    if return_dict_in_generate:
        return DolaOutput(input_ids, tuple(scores_list) if output_scores else None, counts)
    return input_ids
