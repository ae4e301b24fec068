def nucleus_filter(logits, top_p):
    probs = torch.softmax(logits, dim=-1)
    sorted_probs, indices = torch.sort(probs, descending=True)
    keep_sorted = torch.cumsum(sorted_probs, dim=-1) - sorted_probs < top_p
    keep = torch.zeros_like(keep_sorted).scatter(1, indices, keep_sorted)
    probs = probs * keep
    return torch.log(probs / probs.sum(dim=-1, keepdim=True))
