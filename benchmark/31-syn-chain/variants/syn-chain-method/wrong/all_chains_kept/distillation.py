# Keeps the chains that end with a wrong label.
def make_examples(teacher, reviews):
    examples = []
    for review in reviews:
        for aspect in review["aspects"]:
            recorder = Recorder(teacher)
            run_chain(recorder, review["sentence"], aspect)
            examples += [Example(step, *exchange) for step, exchange in enumerate(recorder.exchanges)]
    return examples
