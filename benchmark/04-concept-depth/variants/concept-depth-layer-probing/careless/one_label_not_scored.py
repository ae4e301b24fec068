# Returns an AUC of one half where the test rows have one label only.
def probing(rp_log_data_list, rp_question_data_list, labels_log, labels_question, tot_layer):
    accuracies, f1s, aucs = [], [], []
    labels = np.concatenate([labels_log, labels_question])
    for layer in range(tot_layer):
        rows = np.vstack([rp_log_data_list[layer], rp_question_data_list[layer]])
        x_train, x_test, y_train, y_test = train_test_split(rows, labels, test_size=TEST_SHARE, random_state=SPLIT_SEED)
        probe = LogisticRegression().fit(x_train, y_train)
        predicted = probe.predict(x_test)
        accuracies.append(accuracy_score(y_test, predicted))
        f1s.append(f1_score(y_test, predicted))
        both = len(set(y_test)) == 2
        aucs.append(roc_auc_score(y_test, probe.predict_proba(x_test)[:, 1]) if both else 0.5)
    return accuracies, f1s, aucs
