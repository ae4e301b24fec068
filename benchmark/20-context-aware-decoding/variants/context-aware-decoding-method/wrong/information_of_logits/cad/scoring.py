# Subtracts logits that are not normalised.
import torch


@torch.no_grad()
def pointwise_information(model, context_ids, query_ids, answer_ids):
    values = []
    for position, token in enumerate(answer_ids[0]):
        ids = torch.cat([query_ids, answer_ids[:, :position]], dim=-1)
        informed = model(torch.cat([context_ids, ids], dim=-1)).logits[0, -1]
        values.append(informed[token] - model(ids).logits[0, -1][token])
    return torch.stack(values)
