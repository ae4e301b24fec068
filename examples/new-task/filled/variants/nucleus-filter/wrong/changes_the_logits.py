# Writes into the logits, which the caller still needs for the perplexity.
def nucleus_filter(logits, top_p):
    values, order = torch.sort(logits, dim=-1, descending=True)
    probabilities = torch.softmax(values, dim=-1)
    remove = probabilities.cumsum(-1) - probabilities >= top_p
    logits.masked_fill_(torch.zeros_like(remove).scatter(-1, order, remove), float("-inf"))
    return torch.log_softmax(logits, dim=-1)
