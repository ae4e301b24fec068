def nucleus_filter(logits, top_p):
    result = torch.full_like(logits, float("-inf"))
    for row, scores in enumerate(logits):
        probabilities = torch.softmax(scores, dim=-1)
        kept, mass = [], 0.0
        for token in torch.argsort(probabilities, descending=True).tolist():
            if kept and (mass >= top_p or probabilities[token] == 0):
                break
            kept.append(token)
            mass += float(probabilities[token])
        result[row, kept] = torch.log(probabilities[kept] / probabilities[kept].sum())
    return result
