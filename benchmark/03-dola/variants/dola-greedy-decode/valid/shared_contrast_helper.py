from dataclasses import dataclass

import torch
import torch.nn.functional as F


@dataclass
class _Settings:
    pad: int | None
    eos: tuple[int, ...]
    scores: bool
    as_dict: bool


def _settle(model, pad, eos, scores, as_dict) -> _Settings:
    config = model.generation_config
    pick = lambda given, default: default if given is None else given
    eos = pick(eos, config.eos_token_id)
    eos = () if eos is None else (eos,) if isinstance(eos, int) else tuple(eos)
    pad = pick(pad, config.pad_token_id)
    if eos and pad is None:
        raise ValueError("no pad_token_id")
    return _Settings(pad, eos, pick(scores, config.output_scores), pick(as_dict, config.return_dict_in_generate))


def _contrast(mature: torch.Tensor, early: torch.Tensor, relative_top: float) -> torch.Tensor:
    if relative_top <= 0:
        return mature - early
    return relative_top_filter(mature, relative_top) - early.log_softmax(dim=-1)


def _select(mature: torch.Tensor, early: list[torch.Tensor]) -> int:
    stacked = torch.stack(early)  # (candidates, batch, vocab)
    q_early, q_mature = stacked.softmax(-1), mature.softmax(-1)[None]
    mixture = 0.5 * (q_early + q_mature)
    first = F.kl_div(mature.log_softmax(-1)[None].expand_as(mixture), mixture, reduction="none").mean(-1)
    second = F.kl_div(stacked.log_softmax(-1), mixture, reduction="none").mean(-1)
    return int((0.5 * (first + second)).mean(-1).argmax())


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
    candidates = list(candidate_premature_layers or [])
    if bool(candidates) == (base_layer is not None):
        raise ValueError("one of base_layer and candidate_premature_layers")
    settings = _settle(model, pad_token_id, eos_token_id, output_scores, return_dict_in_generate)
    counts = {layer: 0 for layer in candidates}
    history = []
    alive = [True] * input_ids.shape[0]
    sequence = input_ids
    done = False
    while not done:
        inputs = model.prepare_inputs_for_generation(sequence, **model_kwargs)
        wanted = sorted({mature_layer, *candidates} if candidates else {mature_layer, base_layer})
        by_layer, outputs = model(**inputs, early_exit_layers=wanted)
        model_kwargs = model.update_model_kwargs_for_generation(outputs, model_kwargs)
        at_end = {layer: logits[:, -1, :] for layer, logits in by_layer.items()}
        if candidates:
            layer = candidates[_select(at_end[mature_layer], [at_end[c] for c in candidates])]
            counts[layer] += 1
        else:
            layer = base_layer
        scores = _contrast(at_end[mature_layer], at_end[layer], relative_top)
        if logits_processor is not None:
            scores = logits_processor(sequence, scores)
        history.append(scores)
        tokens = [token if on else settings.pad for token, on in zip(scores.argmax(-1).tolist(), alive)]
        alive = [on and token not in settings.eos for token, on in zip(tokens, alive)]
        sequence = torch.hstack([sequence, torch.tensor(tokens)[:, None]])
        done = not any(alive)
        done = done or (stopping_criteria is not None and bool(stopping_criteria(sequence, scores)))
        done = done or (max_length is not None and sequence.shape[1] >= max_length)
    if not settings.as_dict:
        return sequence
    return DolaOutput(sequence, tuple(history) if settings.scores else None, counts)
