# Chooses the premature layer once, at the first step, and keeps it.
import torch

from dola.stopping import MaxLengthCriteria, StoppingCriteriaList


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
    if (base_layer is None) == (not candidate_premature_layers):
        raise ValueError("give base_layer or candidate_premature_layers")
    config = model.generation_config
    pad_token_id = config.pad_token_id if pad_token_id is None else pad_token_id
    eos_token_id = config.eos_token_id if eos_token_id is None else eos_token_id
    output_scores = config.output_scores if output_scores is None else output_scores
    if return_dict_in_generate is None:
        return_dict_in_generate = config.return_dict_in_generate
    ends = [eos_token_id] if isinstance(eos_token_id, int) else list(eos_token_id or ())
    if ends and pad_token_id is None:
        raise ValueError("pad_token_id is missing")
    stop = StoppingCriteriaList([] if stopping_criteria is None else [stopping_criteria])
    if max_length is not None:
        stop.append(MaxLengthCriteria(max_length))
    candidates = candidate_premature_layers if base_layer is None else ()
    counts, premature, history = dict.fromkeys(candidates, 0), base_layer, []
    finished = torch.zeros(len(input_ids), dtype=torch.bool)
    while True:
        inputs = model.prepare_inputs_for_generation(input_ids, **model_kwargs)
        by_layer, outputs = model(**inputs, early_exit_layers=[mature_layer, *(candidates or [base_layer])])
        model_kwargs = model.update_model_kwargs_for_generation(outputs, model_kwargs)
        latest = {layer: logits[:, -1] for layer, logits in by_layer.items()}
        if premature is None:
            premature = choose_premature_layer(latest, mature_layer, candidates)
        if candidates:
            counts[premature] += 1
        scores = contrast_scores(latest[mature_layer], latest[premature], relative_top)
        if logits_processor is not None:
            scores = logits_processor(input_ids, scores)
        history.append(scores)
        tokens = scores.argmax(dim=-1)
        if ends:
            tokens = tokens.masked_fill(finished, pad_token_id)
            finished = finished | torch.isin(tokens, torch.tensor(ends))
        input_ids = torch.cat([input_ids, tokens[:, None]], dim=-1)
        if finished.all() or stop(input_ids, scores):
            break
    if return_dict_in_generate:
        return DolaOutput(input_ids, tuple(history) if output_scores else None, counts)
    return input_ids
