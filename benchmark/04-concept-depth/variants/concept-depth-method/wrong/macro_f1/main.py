# Averages the F1 scores of both labels.
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score


def score_probe(labels, predicted):
    decisions = (predicted > 0.5).astype(int)
    f1 = f1_score(labels, decisions, average="macro")
    return accuracy_score(labels, decisions), f1, roc_auc_score(labels, predicted)
