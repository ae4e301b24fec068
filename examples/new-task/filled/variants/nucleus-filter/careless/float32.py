# Returns float32 whatever came in.
def nucleus_filter(logits, top_p):
    values, order = torch.sort(logits.float(), dim=-1, descending=True)
    probabilities = torch.softmax(values, dim=-1)
    keep = probabilities.cumsum(-1) - probabilities < top_p
    inside = torch.zeros_like(keep).scatter(-1, order, keep)
    return torch.log_softmax(logits.float().masked_fill(~inside, float("-inf")), dim=-1)
