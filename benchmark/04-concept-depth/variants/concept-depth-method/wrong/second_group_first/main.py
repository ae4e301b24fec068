# Puts the second group before the first.
import numpy as np


def probing(rp_log_data_list, rp_question_data_list, labels_log, labels_question, tot_layer):
    labels = np.concatenate([labels_question, labels_log])
    train, test = split_rows(len(labels))
    accuracies, f1_scores, aucs = [], [], []
    for layer in range(tot_layer):
        states = np.concatenate([rp_question_data_list[layer], rp_log_data_list[layer]])
        theta = fit_probe(states[train], labels[train])
        accuracy, f1, auc = score_probe(labels[test], probabilities(theta, states[test]))
        accuracies.append(accuracy)
        f1_scores.append(f1)
        aucs.append(auc)
    return accuracies, f1_scores, aucs
