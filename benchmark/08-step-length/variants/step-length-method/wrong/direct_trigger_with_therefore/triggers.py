# Keeps the word "Therefore".
def direct_answer_trigger(dataset):
    return ANSWER_TRIGGERS[dataset]
