# Cuts the tail off and does not rescale the rest (Eq. 3).
def nucleus_filter(logits, top_p):
    log_probabilities = torch.log_softmax(logits, dim=-1)
    values, order = torch.sort(log_probabilities, dim=-1, descending=True)
    keep = values.exp().cumsum(-1) - values.exp() < top_p
    inside = torch.zeros_like(keep).scatter(-1, order, keep)
    return log_probabilities.masked_fill(~inside, float("-inf"))
