# Adds up from the least likely token: the set is the tail.
def nucleus_filter(logits, top_p):
    values, order = torch.sort(logits, dim=-1)
    probabilities = torch.softmax(values, dim=-1)
    keep = probabilities.cumsum(-1) - probabilities < top_p
    inside = torch.zeros_like(keep).scatter(-1, order, keep)
    return torch.log_softmax(logits.masked_fill(~inside, float("-inf")), dim=-1)
