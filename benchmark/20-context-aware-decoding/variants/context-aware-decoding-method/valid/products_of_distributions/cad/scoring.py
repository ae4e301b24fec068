# Information from one loop over both sequences.
import torch


@torch.no_grad()
def answer_log_probs(model: CausalLM, input_ids: torch.Tensor, answer_ids: torch.Tensor) -> torch.Tensor:
    start = input_ids.shape[-1]
    whole = torch.cat([input_ids, answer_ids], dim=-1)
    rows = torch.stack([model(whole[:, :end]).logits[0, -1] for end in range(start, whole.shape[-1])])
    return rows.log_softmax(dim=-1).gather(1, answer_ids.T).squeeze(1)


@torch.no_grad()
def pointwise_information(
    model: CausalLM, context_ids: torch.Tensor, query_ids: torch.Tensor, answer_ids: torch.Tensor
) -> torch.Tensor:
    values = []
    for position, token in enumerate(answer_ids[0].tolist()):
        ids = torch.cat([query_ids, answer_ids[:, :position]], dim=-1)
        prior = model(ids).logits[0, -1].log_softmax(dim=-1)
        informed = model(torch.cat([context_ids, ids], dim=-1)).logits[0, -1].log_softmax(dim=-1)
        values.append((informed - prior)[token])
    return torch.stack(values)
