# Leaves out the token with which the sum reaches p: the set holds less than p.
def nucleus_filter(logits, top_p):
    values, order = torch.sort(logits, dim=-1, descending=True)
    keep = torch.softmax(values, dim=-1).cumsum(-1) <= top_p
    keep[:, 0] = True
    inside = torch.zeros_like(keep).scatter(-1, order, keep)
    return torch.log_softmax(logits.masked_fill(~inside, float("-inf")), dim=-1)
