# Without "Therefore," and with a capital.
def direct_answer_trigger(dataset):
    s = ANSWER_TRIGGERS[dataset].replace("Therefore, ", "")
    return s[0].upper() + s[1:]
