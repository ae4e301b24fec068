import torch

from cad.prefix import check_prefix


def context_aware_sampling(model, tokenizer, input_ids, context_ids, alpha=0.9, max_length=128, temperature=1e-14):
    check_prefix(input_ids, context_ids)
    if temperature <= 0:
        raise ValueError("temperature must be above 0")
    query_ids = input_ids[:, context_ids.shape[-1] :]

    def continue_from(answer: torch.Tensor) -> torch.Tensor:
        ended = answer.numel() > 0 and answer[0, -1].item() == tokenizer.eos_token_id
        if ended or answer.shape[-1] >= max_length:
            return answer
        passes = (torch.cat([prefix, query_ids, answer], dim=-1) for prefix in (context_ids, context_ids[:, :0]))
        with torch.no_grad():
            full, prior = (model(ids).logits[0, -1].float() for ids in passes)
        surprise = full - prior
        scaled = (full + alpha * surprise).div(temperature)
        weights = torch.exp(scaled - scaled.max())
        return torch.cat([answer, torch.multinomial(weights, 1)[None]], dim=-1)

    answer = input_ids.new_empty((1, 0))
    length = -1
    while answer.shape[-1] != length:
        length = answer.shape[-1]
        answer = continue_from(answer)
    return torch.cat([input_ids, answer], dim=-1)
