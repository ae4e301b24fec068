def nucleus_filter(logits, top_p):
    log_probs = logits.log_softmax(-1)
    values, order = log_probs.sort(dim=-1, descending=True)
    remove = values.exp().cumsum(-1) >= top_p
    remove = torch.cat([torch.zeros_like(remove[:, :1]), remove[:, :-1]], dim=-1)
    values = values.masked_fill(remove, -torch.inf)
    restricted = torch.empty_like(values).scatter_(-1, order, values)
    return restricted - restricted.logsumexp(-1, keepdim=True)
