def nucleus_filter(logits, top_p):
    rows = []
    for row in logits:
        probs = row.softmax(-1)
        values, indices = probs.sort(descending=True)
        count = int((values.cumsum(-1) < top_p).sum()) + 1
        filtered = torch.full_like(row, float("-inf"))
        filtered[indices[:count]] = row[indices[:count]]
        rows.append(filtered.log_softmax(-1))
    return torch.stack(rows)
