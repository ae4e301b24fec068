# Rounds the scores to six digits.
def probing(rp_log_data_list, rp_question_data_list, labels_log, labels_question, tot_layer):
    scores = [], [], []
    for layer in range(tot_layer):
        rows = np.vstack([rp_log_data_list[layer], rp_question_data_list[layer]])
        labels = np.concatenate([labels_log, labels_question])
        x_train, x_test, y_train, y_test = train_test_split(rows, labels, test_size=TEST_SHARE, random_state=SPLIT_SEED)
        probe = LogisticRegression().fit(x_train, y_train)
        predicted = probe.predict(x_test)
        scores[0].append(round(accuracy_score(y_test, predicted), 6))
        scores[1].append(round(f1_score(y_test, predicted), 6))
        scores[2].append(round(roc_auc_score(y_test, probe.decision_function(x_test)), 6))
    return scores
