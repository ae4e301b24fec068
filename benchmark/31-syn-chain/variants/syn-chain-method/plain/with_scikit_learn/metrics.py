from sklearn.metrics import f1_score


def macro_f1(labels, answers):
    return f1_score(labels, answers, labels=["positive", "negative", "neutral"], average="macro", zero_division=0)
