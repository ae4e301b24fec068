# scikit-learn for everything.
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score
from sklearn.model_selection import train_test_split


def split_rows(count):
    train, test = train_test_split(np.arange(count), test_size=0.4, random_state=42)
    return train, test


def fit_probe(states, labels):
    clf = LogisticRegression()
    clf.fit(states, labels)
    return np.append(clf.coef_.ravel(), clf.intercept_[0])


def probabilities(theta, states):
    z = states @ theta[:-1] + theta[-1]
    return 1.0 / (1.0 + np.exp(-z))


def score_probe(labels, predicted):
    pred = (predicted > 0.5).astype(int)
    return accuracy_score(labels, pred), f1_score(labels, pred), roc_auc_score(labels, predicted)


def probing(rp_log_data_list, rp_question_data_list, labels_log, labels_question, tot_layer):
    accs, f1s, aucs = [], [], []
    y = np.concatenate([labels_log, labels_question])
    train, test = split_rows(len(y))
    for i in range(tot_layer):
        X = np.concatenate([rp_log_data_list[i], rp_question_data_list[i]], axis=0)
        theta = fit_probe(X[train], y[train])
        acc, f1, auc = score_probe(y[test], probabilities(theta, X[test]))
        accs.append(acc)
        f1s.append(f1)
        aucs.append(auc)
    return accs, f1s, aucs
