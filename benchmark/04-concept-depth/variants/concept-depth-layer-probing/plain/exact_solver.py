def probing(rp_log_data_list, rp_question_data_list, labels_log, labels_question, tot_layer):
    np.random.seed(SPLIT_SEED)
    labels = np.concatenate((labels_log, labels_question))
    train, test = train_test_split(np.arange(len(labels)), test_size=TEST_SHARE, random_state=SPLIT_SEED)
    scores = []
    for first, second in list(zip(rp_log_data_list, rp_question_data_list))[:tot_layer]:
        rows = np.concatenate((first, second))
        model = LogisticRegression(solver="newton-cholesky", tol=1e-8).fit(rows[train], labels[train])
        probabilities = model.predict_proba(rows[test])[:, 1]
        predicted = (probabilities > 0.5).astype(int)
        scores.append(
            (
                accuracy_score(labels[test], predicted),
                f1_score(labels[test], predicted),
                roc_auc_score(labels[test], probabilities),
            )
        )
    accuracies, f1s, aucs = zip(*scores)
    return list(accuracies), list(f1s), list(aucs)
