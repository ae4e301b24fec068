# Averages over the negatives that violate the margin.
def margin_triplet(similarities, labels, used, margin):
    positive = similarities.gather(1, labels.unsqueeze(1))
    terms = (similarities - positive + margin).clamp(min=0) * used
    return (terms.sum(dim=1) / (terms > 0).sum(dim=1).clamp(min=1)).mean()
