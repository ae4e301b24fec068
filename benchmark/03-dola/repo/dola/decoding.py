"""Greedy decoding that contrasts a late layer with an early one, fixed beforehand or chosen anew at each step."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from dola.filters import LogitsProcessor, relative_top_filter
from dola.model import GenerationConfig
from dola.stopping import MaxLengthCriteria, StoppingCriteriaList, StoppingCriterion


class EarlyExitModel(Protocol):
    """What decoding needs of a model; `dola.model.EarlyExitLM` says more about each member."""

    generation_config: GenerationConfig

    def __call__(self, *, early_exit_layers: Sequence[int], **inputs: Any) -> tuple[dict[int, Tensor], Any]:
        """Return {layer: logits (batch, length, vocab)} of the requested layers, and the ordinary output."""
        ...

    def prepare_inputs_for_generation(self, input_ids: Tensor, **model_kwargs: Any) -> dict[str, Any]:
        """Return the keyword arguments of the next forward pass."""
        ...

    def update_model_kwargs_for_generation(self, outputs: Any, model_kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the `model_kwargs` of the next step, given the ordinary output of this one."""
        ...


@dataclass(frozen=True)
class DolaOutput:
    """Result of decoding with `return_dict_in_generate`.

    Attributes:
        sequences: LongTensor (batch, prompt + new), the prompts included.
        scores: one tensor (batch, vocab) a step, as the next tokens were chosen by; None unless asked for.
        premature_layer_dist: how many steps chose each candidate; empty if the early layer was fixed.
    """

    sequences: Tensor
    scores: tuple[Tensor, ...] | None
    premature_layer_dist: dict[int, int]


def divergence(mature_logits: Tensor, early_logits: Tensor) -> Tensor:
    """How far apart the next-token distributions of two layers are: d of the paper, as decoding uses it.

    Args:
        mature_logits: (..., vocab), not normalised.
        early_logits: (..., vocab), not normalised.

    Returns:
        (...), one number for each pair of distributions; finite for all finite logits.
    """
    log_mature = torch.log_softmax(mature_logits, -1)
    log_early = torch.log_softmax(early_logits, -1)
    mixture = torch.stack([log_mature, log_early]).exp().mean(0)
    to_mature = F.kl_div(log_mature, mixture, reduction="none").sum(-1)
    to_early = F.kl_div(log_early, mixture, reduction="none").sum(-1)
    return torch.stack([to_mature, to_early]).mean(0)


def choose_premature_layer(layer_logits: dict[int, Tensor], mature_layer: int, candidates: Sequence[int]) -> int:
    """The premature layer of one step, the same one for all rows of a batch.

    Args:
        layer_logits: layer -> logits (batch, vocab) of the next token, at least of the mature layer and all candidates.
        mature_layer: N of the paper.
        candidates: J of the paper, not empty, in any order; the one that stands first wins a tie.

    Returns:
        One of `candidates`.
    """
    distances = {layer: divergence(layer_logits[mature_layer], layer_logits[layer]).mean() for layer in candidates}
    return max(distances, key=distances.__getitem__)  # the first one of a tie


def contrast_scores(mature_logits: Tensor, premature_logits: Tensor, relative_top: float) -> Tensor:
    """F of the paper, before any processor.

    Args:
        mature_logits: (batch, vocab), not normalised.
        premature_logits: (batch, vocab), not normalised.
        relative_top: alpha of the paper. With 0 or less nothing is cut, and the unnormalised logits themselves take the
            place of both log-probabilities.

    Returns:
        (batch, vocab), -inf for implausible tokens.
    """
    if relative_top > 0:
        return relative_top_filter(mature_logits, relative_top) - torch.log_softmax(premature_logits, 1)
    return mature_logits - premature_logits


@torch.no_grad()
def dola_greedy_decode(
    model: EarlyExitModel,
    input_ids: Tensor,
    mature_layer: int,
    base_layer: int | None = None,
    candidate_premature_layers: Sequence[int] | None = None,
    relative_top: float = 0.1,
    logits_processor: LogitsProcessor | None = None,
    stopping_criteria: StoppingCriterion | None = None,
    max_length: int | None = None,
    pad_token_id: int | None = None,
    eos_token_id: int | Sequence[int] | None = None,
    output_scores: bool | None = None,
    return_dict_in_generate: bool | None = None,
    **model_kwargs: Any,
) -> Tensor | DolaOutput:
    """Continue prompts greedily by the contrast of a mature with a premature layer.

    Args:
        model: language model whose layers can be read through its head.
        input_ids: LongTensor (batch, length), the prompts, padded on the left if at all. Never changed.
        mature_layer: index of the late layer, normally the last one.
        base_layer: index of the premature layer in static mode.
        candidate_premature_layers: indices that the premature layer is chosen from in dynamic mode.
        relative_top: strength of the plausibility cut; 0 or less switches it off.
        logits_processor: maps ids so far and contrasted scores (batch, vocab) to the scores that decide.
        stopping_criteria: asked after each step with the ids so far and the scores of this step.
        max_length: another limit, on prompt and new tokens together.
        pad_token_id: what a finished sequence is filled up with while others of the batch go on.
        eos_token_id: one or several ids, any of which finishes a sequence and stays in it. Without end tokens, only the
            limits end the generation.
        output_scores: whether to return scores; they need `return_dict_in_generate`.
        return_dict_in_generate: whether to return a `DolaOutput`. This one and the three arguments before it take
            their values from `model.generation_config` where they are None.
        **model_kwargs: what the model wants besides, such as `attention_mask`.

    Returns:
        LongTensor (batch, length + new), prompts included, or a `DolaOutput`.

    Raises:
        ValueError: not exactly one of `base_layer` and `candidate_premature_layers` is given, or there are end tokens
            but no padding token.
    """
    if (base_layer is None) == (not candidate_premature_layers):
        raise ValueError("give either base_layer or at least one of candidate_premature_layers")
    defaults = model.generation_config
    if pad_token_id is None:
        pad_token_id = defaults.pad_token_id
    if eos_token_id is None:
        eos_token_id = defaults.eos_token_id
    if output_scores is None:
        output_scores = defaults.output_scores
    if return_dict_in_generate is None:
        return_dict_in_generate = defaults.return_dict_in_generate
    eos_ids = [eos_token_id] if isinstance(eos_token_id, int) else list(eos_token_id or ())
    if eos_ids and pad_token_id is None:
        raise ValueError("eos_token_id needs a pad_token_id")
    criteria = StoppingCriteriaList([] if stopping_criteria is None else [stopping_criteria])
    if max_length is not None:
        criteria.append(MaxLengthCriteria(max_length))

    candidates = candidate_premature_layers if base_layer is None else ()
    premature_layer_dist = dict.fromkeys(candidates, 0)
    premature_layer = base_layer
    step_scores = () if output_scores else None
    finished = input_ids.new_zeros(len(input_ids), dtype=torch.bool)
    while True:
        inputs = model.prepare_inputs_for_generation(input_ids, **model_kwargs)
        layers = [mature_layer, *(candidates or [base_layer])]
        layer_logits, outputs = model(**inputs, early_exit_layers=layers)
        model_kwargs = model.update_model_kwargs_for_generation(outputs, model_kwargs)
        latest = {layer: logits[:, -1] for layer, logits in layer_logits.items()}
        if candidates:
            premature_layer = choose_premature_layer(latest, mature_layer, candidates)
            premature_layer_dist[premature_layer] += 1
        scores = contrast_scores(latest[mature_layer], latest[premature_layer], relative_top)
        if logits_processor is not None:
            scores = logits_processor(input_ids, scores)
        if step_scores is not None:
            step_scores += (scores,)

        next_tokens = scores.argmax(1)
        if eos_ids:
            next_tokens = next_tokens.masked_fill(finished, pad_token_id)
            finished = finished | torch.isin(next_tokens, input_ids.new_tensor(eos_ids))
        input_ids = torch.cat([input_ids, next_tokens[:, None]], 1)
        if finished.all() or criteria(input_ids, scores):
            break

    if return_dict_in_generate:
        return DolaOutput(input_ids, step_scores, premature_layer_dist)
    return input_ids
