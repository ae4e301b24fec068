# As short as it goes.
def top_p_filter(logits, top_p):
    p, i = logits.softmax(-1).sort(descending=True)
    drop = p.cumsum(-1) - p >= top_p
    out = logits.clone()
    out[i[drop]] = float("-inf")
    return out
