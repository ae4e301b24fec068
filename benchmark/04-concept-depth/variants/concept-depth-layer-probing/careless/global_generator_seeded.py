# Seeds NumPy's global generator for the split, and leaves it seeded.
def probing(rp_log_data_list, rp_question_data_list, labels_log, labels_question, tot_layer):
    accuracies, f1s, aucs = [], [], []
    labels = np.concatenate([labels_log, labels_question])
    for layer in range(tot_layer):
        np.random.seed(SPLIT_SEED)
        rows = np.vstack([rp_log_data_list[layer], rp_question_data_list[layer]])
        x_train, x_test, y_train, y_test = train_test_split(rows, labels, test_size=TEST_SHARE)
        probe = LogisticRegression().fit(x_train, y_train)
        predicted = probe.predict(x_test)
        accuracies.append(accuracy_score(y_test, predicted))
        f1s.append(f1_score(y_test, predicted))
        aucs.append(roc_auc_score(y_test, probe.decision_function(x_test)))
    return accuracies, f1s, aucs
