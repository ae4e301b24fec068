# Multiplies and divides distributions as logarithms, and keeps the response in a list of its own.
import torch

from cad.prefix import new_tokens


def prior_input(sequence: torch.Tensor, context_length: int) -> torch.Tensor:
    _, rest = sequence.split([context_length, sequence.shape[-1] - context_length], dim=-1)
    return rest


def contrast(with_context: torch.Tensor, without_context: torch.Tensor, alpha: float) -> torch.Tensor:
    informed, prior = (logits.log_softmax(dim=-1) for logits in (with_context, without_context))
    return informed + alpha * (informed - prior)


class ContextAwareLM:
    @torch.no_grad()
    def __call__(self, input_ids: torch.Tensor) -> LMOutput:
        rows = []
        for ids in (input_ids, prior_input(input_ids, self.context_length)):
            logits = self.model(ids).logits[:, -1]
            rows.append(logits if logits.dtype == torch.float64 else logits.float())
        return LMOutput(contrast(rows[0], rows[1], self.alpha).unsqueeze(1))


def next_token_distribution(
    model: CausalLM, sequence: torch.Tensor, temperature: float = 1.0, top_p: float = 1.0
) -> torch.Tensor:
    logits = model(sequence).logits[0, -1]
    logits = (logits - logits.max()) / temperature
    kept = torch.ones_like(logits) if top_p >= 1 else torch.isfinite(top_p_filter(logits, top_p)).to(logits.dtype)
    powers = logits.exp() * kept
    return powers / powers.sum()


def sample(
    model: CausalLM,
    tokenizer: Tokenizer,
    input_ids: torch.Tensor,
    max_length: int = 128,
    temperature: float = 1.0,
    top_p: float = 1.0,
) -> torch.Tensor:
    response: list[int] = []
    while len(response) < max_length and response[-1:] != [tokenizer.eos_token_id]:
        sequence = torch.cat([input_ids, torch.tensor([response], dtype=torch.long)], dim=-1)
        with torch.no_grad():
            sums = next_token_distribution(model, sequence, temperature, top_p).cumsum(dim=0)
        response.append(min(int(torch.searchsorted(sums, torch.rand(1, dtype=sums.dtype) * sums[-1])), len(sums) - 1))
    return torch.cat([input_ids, torch.tensor([response], dtype=torch.long)], dim=-1)


def context_aware_sampling(
    model: CausalLM,
    tokenizer: Tokenizer,
    input_ids: torch.Tensor,
    context_ids: torch.Tensor,
    alpha: float = 0.9,
    max_length: int = 128,
    temperature: float = 1e-14,
) -> torch.Tensor:
    check_prefix(input_ids, context_ids)
    if not temperature > 0:
        raise ValueError("a temperature is above 0")
    lm = ContextAwareLM(model, len(context_ids[0]), alpha)
    output = sample(lm, tokenizer, input_ids, max_length, temperature)
    return torch.cat([input_ids, new_tokens(output, input_ids).unsqueeze(0)], dim=-1)
