# Takes the area under the curve of the predicted labels.
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score


def score_probe(labels, predicted):
    decisions = (predicted > 0.5).astype(int)
    return accuracy_score(labels, decisions), f1_score(labels, decisions), roc_auc_score(labels, decisions)
