# As short as it goes.
@torch.no_grad()
def answer_log_probs(model, input_ids, answer_ids):
    out = []
    for k in range(answer_ids.shape[1]):
        ids = torch.cat([input_ids, answer_ids[:, :k]], 1)
        out.append(model(ids).logits[0, -1].log_softmax(-1)[answer_ids[0, k]])
    return torch.stack(out)


def pointwise_information(model, context_ids, query_ids, answer_ids):
    full = torch.cat([context_ids, query_ids], 1)
    return answer_log_probs(model, full, answer_ids) - answer_log_probs(model, query_ids, answer_ids)
