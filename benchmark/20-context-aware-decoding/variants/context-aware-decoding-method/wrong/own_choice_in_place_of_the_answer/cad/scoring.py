# Conditions on the tokens that the model would choose.
import torch


@torch.no_grad()
def answer_log_probs(model, input_ids, answer_ids):
    results, sequence = [], input_ids
    for token in answer_ids[0]:
        log_probs = model(sequence).logits[0, -1].log_softmax(dim=-1)
        results.append(log_probs[token])
        sequence = torch.cat([sequence, log_probs.argmax().view(1, 1)], dim=-1)
    return torch.stack(results)
