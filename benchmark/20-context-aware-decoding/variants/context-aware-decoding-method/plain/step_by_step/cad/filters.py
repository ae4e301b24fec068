# A loop over the sorted tokens.
import torch


def top_p_filter(logits, top_p):
    probabilities = torch.softmax(logits, dim=-1)
    result = torch.full_like(logits, float("-inf"))
    total = 0.0
    for token in torch.argsort(probabilities, descending=True).tolist():
        result[token] = logits[token]
        total += probabilities[token].item()
        if total >= top_p:
            break
    return result
