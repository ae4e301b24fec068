# Keeps each token whose own probability is at least 1 - p, whatever the others add up to.
def nucleus_filter(logits, top_p):
    probabilities = torch.softmax(logits, dim=-1)
    keep = probabilities >= torch.minimum(probabilities.amax(-1, keepdim=True), torch.tensor(1 - top_p))
    return torch.log_softmax(logits.masked_fill(~keep, float("-inf")), dim=-1)
