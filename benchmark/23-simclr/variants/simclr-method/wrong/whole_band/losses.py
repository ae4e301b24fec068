# Keeps all negatives within the margin, not the closest one.
def semi_hard(similarities, labels, margin):
    positive = similarities.gather(1, labels.unsqueeze(1))
    return (similarities < positive) & (similarities > positive - margin)
