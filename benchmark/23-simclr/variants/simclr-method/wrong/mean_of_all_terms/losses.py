# Averages over all terms of the batch, so that rows with more negatives count more.
def margin_triplet(similarities, labels, used, margin):
    positive = similarities.gather(1, labels.unsqueeze(1))
    terms = (similarities - positive + margin).clamp(min=0) * used
    return terms.sum() / used.sum()
