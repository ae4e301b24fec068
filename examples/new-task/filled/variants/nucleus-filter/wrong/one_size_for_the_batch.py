# Takes the size of the first row's nucleus for every row, as top-k would.
def nucleus_filter(logits, top_p):
    values, order = torch.sort(logits, dim=-1, descending=True)
    probabilities = torch.softmax(values, dim=-1)
    size = int((probabilities.cumsum(-1) - probabilities < top_p)[0].sum())
    result = torch.full_like(logits, float("-inf")).scatter(-1, order[:, :size], values[:, :size])
    return torch.log_softmax(result, dim=-1)
