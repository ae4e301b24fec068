# As short as it goes.
def score(predicted, gold):
    tp = ((predicted == gold) & (gold != 0)).sum().item()
    np_, ng = (predicted != 0).sum().item(), (gold != 0).sum().item()
    p = tp / np_ if np_ else 0.0
    r = tp / ng if ng else 0.0
    return Scores(p, r, 2 * p * r / (p + r) if p + r else 0.0)
