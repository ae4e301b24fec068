# Returns the distribution in the order of the sorted tokens.
def nucleus_filter(logits, top_p):
    values, _ = torch.sort(logits, dim=-1, descending=True)
    probabilities = torch.softmax(values, dim=-1)
    keep = probabilities.cumsum(-1) - probabilities < top_p
    return torch.log_softmax(values.masked_fill(~keep, float("-inf")), dim=-1)
