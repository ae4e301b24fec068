def probing(rp_log_data_list, rp_question_data_list, labels_log, labels_question, tot_layer):
    acc_list, f1_list, auc_list = [], [], []
    for i in range(tot_layer):
        X = np.vstack((rp_log_data_list[i], rp_question_data_list[i]))
        y = np.hstack((labels_log, labels_question))
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=TEST_SHARE, random_state=SPLIT_SEED)
        model = LogisticRegression(max_iter=1000)
        model.fit(X_train, y_train)
        y_pred = model.predict(X_test)
        acc_list.append(accuracy_score(y_test, y_pred))
        f1_list.append(f1_score(y_test, y_pred, zero_division=1))
        auc_list.append(roc_auc_score(y_test, model.predict_proba(X_test)[:, 1]))
    return acc_list, f1_list, auc_list
